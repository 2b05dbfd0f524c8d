// SPDX-License-Identifier: Apache-2.0
// TLBs as banks of levels: which bank gets a page, and how replays and invalidations pass through levels.
// Clock 1 GHz; a look-up takes 4 cycles; links of 1 ns.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "farfault/translation/l2_tlb.hpp"
#include "farfault/translation/translation_client.hpp"
#include "gmmu_bench.hpp"
#include "mock.hpp"

namespace tlb_levels_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

// Two banks in turns of one page.
TlbBanks const kTwo{2, 1};

Invalidate invalidation(std::uint64_t page, bool all = false) {
  return {.page = page, .frame = page << 12, .move = 2, .all = static_cast<std::uint8_t>(all ? 1 : 0)};
}

// Bank `bank` of two, with two groups of two banks below it and two banks above it.
struct BankBench : Bench {
  BankBench(std::uint32_t bank, std::vector<Record<TranslateRequest>> script,
            std::vector<Record<Invalidate>> invalidations = {},
            std::vector<Record<TranslateResponse>> fills = {}, std::vector<Record<Invalidated>> answers = {})
      : BankBench(spec(bank), std::move(script), std::move(invalidations), std::move(fills),
                  std::move(answers)) {}
  BankBench(L2TlbSpec const& of, std::vector<Record<TranslateRequest>> script,
            std::vector<Record<Invalidate>> invalidations, std::vector<Record<TranslateResponse>> fills,
            std::vector<Record<Invalidated>> answers)
      : tlb(system.add<L2Tlb>("bank", of)) {
    feed(tlb.request, std::move(script));
    feed(tlb.invalidate, std::move(invalidations));
    feed(tlb.filled, std::move(fills));
    feed(tlb.invalidated, std::move(answers));
    below = sinks(tlb.response, 4);
    invalidated = sinks(tlb.forwarded, 4);
    above = sinks(tlb.miss, 2);
    acknowledged = sinks(tlb.acknowledge, 2);
    run();
  }
  static L2TlbSpec spec(std::uint32_t bank) {
    L2TlbSpec s;
    s.params.entries = 8;
    s.params.ways = 4;
    s.params.mshrs = 4;
    s.kind = "mid_tlb";
    s.requesters = {2, kTwo};
    s.requests_each = 8;
    s.level = 1;
    s.banks = kTwo;
    s.bank = bank;
    s.next = {TlbBanks{2, 2}, 0, 5};
    s.moves = 4;
    return s;
  }
  Times times(std::vector<Sink<Invalidate>*> const& of) const {
    Times all;
    for (auto const* sink : of) all.push_back(sink->count() == 0 ? 0 : sink->nanoseconds()[0]);
    return all;
  }
  L2Tlb& tlb;
  std::vector<Sink<TranslateResponse>*> below;  // by group and bank
  std::vector<Sink<Invalidate>*> invalidated;   // likewise
  std::vector<Sink<TranslateRequest>*> above;
  std::vector<Sink<Invalidated>*> acknowledged;
};

}  // namespace

TEST_CASE("banks of a level: blocks of pages take turns, or follow a hash, and each page has one bank") {
  CHECK(TlbBanks{}.bank_of(77) == 0);
  TlbBanks const turns{3, 4};
  for (std::uint64_t page = 0; page < 60; ++page) CHECK(turns.bank_of(page) == page / 4 % 3);
  PolicyChoice<AddressHash> choice{"xor"};
  BankHash const hash{choice.facts().mask, 4, 8};
  TlbBanks const hashed{4, 8, &hash};
  for (std::uint64_t page = 0; page < 512; ++page)
    CHECK(hashed.bank_of(page) == ((page / 8 ^ page / 32 ^ page / 128) & 3));
}

TEST_CASE("groups of a level: a page has its bank in each group") {
  auto const numbers = [](TlbGroups const& groups, std::uint64_t page) {
    std::vector<std::uint32_t> all;
    groups.each_of(page, [&](std::uint32_t n) { all.push_back(n); });
    return all;
  };
  TlbGroups const groups{3, kTwo};
  CHECK(groups.count() == 6);
  CHECK(numbers(groups, 4) == std::vector<std::uint32_t>{0, 2, 4});
  CHECK(numbers(groups, 5) == std::vector<std::uint32_t>{1, 3, 5});
  CHECK(numbers(TlbGroups{3, {}}, 5) == std::vector<std::uint32_t>{0, 1, 2});
  std::vector<std::uint32_t> all;
  groups.each([&](std::uint32_t n) { all.push_back(n); });
  CHECK(all == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE(
    "a TLB of a level sends a miss to its page's bank of the next level, and the answer to the requester") {
  BankBench b(1, {{Time{100ns}, {.page = 3, .from = 2, .warp = 7, .client = 40}}}, {},
              {{Time{150ns}, {.page = 3, .frame = 9 << 12}}});
  CHECK(b.above[0]->count() == 0);
  REQUIRE(b.above[1]->count() == 1);  // pages 2 and 3 of each 4
  auto const& miss = b.above[1]->records()[0];
  CHECK(b.above[1]->nanoseconds() == Times{105});
  CHECK(miss.message.from == 5);
  CHECK(miss.message.client == 40);
  CHECK(miss.message.warp == 7);
  CHECK(b.below[2]->nanoseconds() == Times{151});
  CHECK(b.below[2]->records()[0].message.frame == 9 << 12);
  for (auto const other : {0U, 1U, 3U}) CHECK(b.below[other]->count() == 0);
}

TEST_CASE("a bank in another partition is further away for every message, and keeps their order") {
  auto far = BankBench::spec(1);
  far.to_requester = {Duration::zero(), Duration::zero(), 40ns, 40ns};
  far.next.hop = {0, 1, 70ns};  // bank 1 of the next level is in another partition
  BankBench b(far,
              {{Time{100ns}, {.page = 3, .from = 2}},
               {Time{300ns}, {.page = 3, .from = 0}},
               {Time{400ns}, {.page = 3, .from = 3}}},
              {{Time{401ns}, invalidation(3)}}, {{Time{250ns}, {.page = 3, .frame = 9 << 12}}},
              {{Time{500ns}, {2}}, {Time{510ns}, {2}}});
  CHECK(b.above[1]->nanoseconds() == Times{105 + 70});
  CHECK(b.below[2]->nanoseconds() == Times{251 + 40});
  CHECK(b.below[0]->nanoseconds() == Times{305});
  CHECK(b.below[3]->nanoseconds() == Times{405 + 40});
  CHECK(b.times(b.invalidated) == Times{0, 406, 0, 406 + 40});  // behind the response
  CHECK(b.acknowledged[1]->nanoseconds() == Times{511 + 70});
}

TEST_CASE("an invalidation reaches the page's bank of each group, and is acknowledged after all of them") {
  BankBench b(1, {}, {{Time{100ns}, invalidation(3)}}, {}, {{Time{110ns}, {2}}, {Time{130ns}, {2}}});
  CHECK(b.times(b.invalidated) == Times{0, 102, 0, 102});  // a look-up and a link
  CHECK(b.acknowledged[0]->count() == 0);
  CHECK(b.acknowledged[1]->nanoseconds() == Times{131});
  CHECK(b.invalidated[1]->records()[0].message.all == 0);
}

TEST_CASE(
    "an invalidation of all: the page's bank forwards it to all banks, another one acknowledges at once") {
  std::vector<Record<Invalidated>> const answers{
      {Time{110ns}, {2}}, {Time{111ns}, {2}}, {Time{112ns}, {2}}, {Time{140ns}, {2}}};
  BankBench own(1, {}, {{Time{100ns}, invalidation(3, true)}}, {}, answers);
  CHECK(own.times(own.invalidated) == Times{102, 102, 102, 102});
  CHECK(own.acknowledged[1]->nanoseconds() == Times{141});
  CHECK(own.invalidated[0]->records()[0].message.all == 1);
  BankBench other(0, {{Time{10ns}, {.page = 4, .from = 0}}}, {{Time{100ns}, invalidation(3, true)}},
                  {{Time{50ns}, {.page = 4, .frame = 9 << 12}}});
  CHECK(other.times(other.invalidated) == Times{0, 0, 0, 0});
  CHECK(other.acknowledged[1]->nanoseconds() == Times{102});
  CHECK(other.tlb.state().invalidated_entries == 1);
}

TEST_CASE(
    "a replay reaches the page's bank of each group, and a replay of all pages waits for every bank above") {
  auto const replay = [](std::int64_t at, std::uint64_t page) {
    return Record<TranslateResponse>{Time{at * 1ns},
                                     {.page = page, .frame = kNoFrame, .found_by = FoundBy::replay}};
  };
  BankBench one(1, {}, {}, {replay(100, 3)});
  CHECK(one.below[1]->nanoseconds() == Times{101});
  CHECK(one.below[3]->nanoseconds() == Times{101});
  CHECK(one.below[0]->count() + one.below[2]->count() == 0);
  BankBench all(
      1, {}, {},
      {replay(100, kEveryPage), replay(120, kEveryPage), replay(200, kEveryPage), replay(230, kEveryPage)});
  for (auto const* sink : all.below) CHECK(sink->nanoseconds() == Times{121, 231});
}

TEST_CASE(
    "two replays of all pages, one bank ahead of the other: the last message passes on the last replay") {
  // The messages of the two banks above, a1 a2 b1 b2: the second and the fourth are passed on.
  auto const all = [](std::int64_t at) {
    return Record<TranslateResponse>{Time{at * 1ns},
                                     {.page = kEveryPage, .frame = kNoFrame, .found_by = FoundBy::replay}};
  };
  BankBench b(1, {}, {}, {all(100), all(110), all(200), all(210)});
  for (auto const* sink : b.below) CHECK(sink->nanoseconds() == Times{111, 211});
}

TEST_CASE("a fault is reported for the client, whatever its number among the requesters") {
  Bench b;
  auto spec = BankBench::spec(0);
  spec.reports_faults = true;
  spec.requesters = {4, {}};
  auto& tlb = b.system.add<L2Tlb>("first", spec);
  b.feed(tlb.request, {{Time{10ns}, {.page = 8, .from = 2, .access = Access::write, .client = 40}}});
  b.feed(tlb.filled, {{Time{50ns}, {.page = 8, .frame = kNoFrame, .found_by = FoundBy::nothing}}});
  b.idle(tlb.invalidate, tlb.invalidated);
  b.sinks(tlb.miss, 2);
  b.sinks(tlb.forwarded, 4);
  b.sinks(tlb.acknowledge, 2);
  auto const responses = b.sinks(tlb.response, 4);
  auto const& faults = b.sink(tlb.faulted);
  b.run();
  CHECK(responses[2]->nanoseconds() == Times{51});
  REQUIRE(faults.count() == 1);
  CHECK(faults.records()[0].message.client == 40);
  CHECK(faults.records()[0].message.access == Access::write);
}

TEST_CASE("tokens of a level are given to SMs, not to the TLBs that ask for them") {
  // Without tokens in the second epoch, warps of the application's SMs fill the bypass cache only.
  auto spec = BankBench::spec(0);
  spec.params.fill = test::chosen<TlbFill>("tokens", {{"initial", "0"}, {"step", "0"}, {"epoch", "100"}});
  spec.applications = {"a"};
  spec.sms = {{40, 41}};
  Bench b;
  auto& tlb = b.system.add<L2Tlb>("second", spec);
  b.feed(tlb.request, {{Time{10ns}, {.page = 0, .from = 2, .client = 41}},
                       {Time{110ns}, {.page = 4, .from = 2, .client = 41}},
                       {Time{120ns}, {.page = 8, .from = 3, .client = 40}}});
  b.feed(tlb.filled, {{Time{50ns}, {.page = 0, .frame = 1 << 12}},
                      {Time{150ns}, {.page = 4, .frame = 2 << 12}},
                      {Time{160ns}, {.page = 8, .frame = 3 << 12}}});
  b.idle(tlb.invalidate, tlb.invalidated);
  b.sinks(tlb.miss, 2);
  b.sinks(tlb.forwarded, 4);
  b.sinks(tlb.acknowledge, 2);
  b.sinks(tlb.response, 4);
  b.run();
  CHECK(test::stat_of(tlb, "gpu.l2_tlb.fill", "bypass_fills") == 2);
  std::vector<std::uint64_t> pages;
  tlb.state().tlb->each_entry([&](std::uint64_t page, PageTranslation const&) { pages.push_back(page); });
  CHECK(pages == std::vector<std::uint64_t>{0});
}

TEST_CASE("a client takes up a replay of all pages when each of its banks has sent it") {
  struct Op {};
  struct Owner {
    int replayed = 0;
    void translated(Op const&) {}
    void faulted(Op const&) {}
    void settled(Op const&) {}
    void again(Op&) { ++replayed; }
    static std::uint32_t requester(Op const&) { return 0; }
  };
  TranslationClient<Op> client{TlbPolicies{}.make(8, 8, 12, 1, nullptr),
                               {.faulted_pages = 4, .faulted_accesses = 4, .late_accesses = 4, .banks = 3},
                               {}};
  Owner owner;
  TranslateResponse const all{.page = kEveryPage, .frame = kNoFrame, .found_by = FoundBy::replay};
  for (int const before : {0, 1}) {
    client.park(7, Op{});
    CHECK_FALSE(client.respond(all, owner));
    CHECK_FALSE(client.respond(all, owner));
    CHECK(owner.replayed == before);
    CHECK(client.respond(all, owner));
    CHECK(owner.replayed == before + 1);
  }
}

TEST_CASE("GMMU: each TLB gets the answers to its requests, and all groups get replays and invalidations") {
  using namespace gmmu_bench;
  for (bool const all : {false, true}) {
    CAPTURE(all);
    auto const table = one_page();
    auto spec = spec_of("distributed", table);
    spec.tlbs = {2, kTwo};
    spec.invalidates_all = all;
    Bench b;
    auto& gmmu = b.system.add<Gmmu>("gmmu", spec);
    b.feed(gmmu.request, {{Time{100ns}, {.page = kPage, .from = 2}}});
    auto const responses = b.sinks(gmmu.response, 4);
    auto& cache = b.responder<MemRequest, MemResponse>(memory(always(10ns)), gmmu.entry_read);
    b.join_family(gmmu.read_entry, {cache.request});
    b.sink(gmmu.to_iommu);
    b.feed(gmmu.from_iommu, {{Time{300ns}, Packet::of(Replay{.page = kPage + 1, .frame = 0})},
                             {Time{350ns}, Packet::of(Replay{.page = kEveryPage})}});
    b.feed(gmmu.invalidate, {{Time{400ns}, invalidation(kPage)}});
    std::vector<Record<Invalidated>> answers{{Time{450ns}, {2}}, {Time{470ns}, {2}}};
    if (all) answers.insert(answers.end(), {{Time{480ns}, {2}}, {Time{490ns}, {2}}});
    b.feed(gmmu.invalidated, std::move(answers));
    auto const tlbs = b.sinks(gmmu.to_tlb, 4);
    auto const& done = b.sink(gmmu.acknowledge);
    b.run();
    CHECK(responses[2]->nanoseconds() == Times{150, 351});
    CHECK(responses[0]->nanoseconds() == Times{351});
    // kPage is even, and the next page is in the other bank.
    CHECK(responses[1]->nanoseconds() == Times{301, 351});
    CHECK(responses[3]->nanoseconds() == Times{301, 351});
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      CHECK(tlbs[i]->nanoseconds() == (all || i % 2 == 0 ? Times{402} : Times{}));
      for (auto const& r : tlbs[i]->records()) CHECK(r.message.all == (all ? 1 : 0));
    }
    CHECK(done.nanoseconds() == Times{all ? 491 : 471});
  }
}

}  // namespace tlb_levels_test
