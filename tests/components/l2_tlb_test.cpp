// SPDX-License-Identifier: Apache-2.0
// An L2 TLB between SMs and a mock GMMU; clock 1 GHz, look-up 4 cycles, links of 1 ns.
#include "farfault/translation/l2_tlb.hpp"

#include <doctest/doctest.h>

#include "mock.hpp"
#include "policies.hpp"

namespace l2_tlb_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

constexpr std::uint64_t kNotMapped = 1 << 20;
constexpr std::uint64_t kFirstTouch = 60;
constexpr std::uint64_t kByIommu = 61;
constexpr std::uint64_t kTimed = 62;  // its answer contains latency stages
PhysAddr frame_of(std::uint64_t page) {
  return physical(1, page << 12);
}
ResponderSpec<TranslateRequest, TranslateResponse> walker(std::function<Duration(std::uint64_t)> delay) {
  ResponderSpec<TranslateRequest, TranslateResponse> spec;
  spec.reply = [](TranslateRequest const& m) {
    if (m.page == kNotMapped) return TranslateResponse{m.page, kNoFrame, FoundBy::nothing};
    auto const found_by = m.page == kFirstTouch ? FoundBy::fault
                          : m.page == kByIommu  ? FoundBy::iommu
                                                : FoundBy::gmmu;
    TranslateResponse r{m.page, frame_of(m.page), found_by};
    if (m.page == kTimed) r.stages = {2'000, 15'000, 0, 0};
    return r;
  };
  spec.delay = std::move(delay);
  return spec;
}

L2TlbSpec small_tlb(std::uint32_t mshrs) {
  L2TlbSpec spec;
  spec.params.entries = 8;
  spec.params.ways = 4;
  spec.params.mshrs = mshrs;
  spec.requesters.groups = 2;
  spec.requests_each = 16;
  return spec;
}

struct TlbBench : Bench {
  TlbBench(L2TlbSpec spec, std::vector<Record<TranslateRequest>> script,
           std::vector<Record<Invalidate>> invalidations = {},
           std::vector<Record<TranslateResponse>> replays = {})
      : tlb(system.add<L2Tlb>("l2_tlb", std::move(spec))) {
    for (auto& each : script) each.message.client = static_cast<std::uint16_t>(each.message.from);
    feed(tlb.request, std::move(script));
    sms = sinks(tlb.response, 2);
    gmmu = &responder<TranslateRequest, TranslateResponse>(walker(always(20ns)), tlb.filled);
    join_family(tlb.miss, {gmmu->request});
    if (!replays.empty()) feed(tlb.filled, std::move(replays));
    feed(tlb.invalidate, std::move(invalidations));
    std::vector<In<Invalidate>> to;
    for (auto const delay : {10ns, 30ns}) {
      ResponderSpec<Invalidate, Invalidated> sm;
      sm.reply = [](Invalidate const& m) { return Invalidated{m.move}; };
      sm.delay = always(delay);
      invalidated.push_back(&responder<Invalidate, Invalidated>(sm, tlb.invalidated));
      to.push_back(invalidated.back()->request);
    }
    join_family(tlb.forwarded, to);
    acknowledged = sinks(tlb.acknowledge, 1)[0];
    run();
  }
  L2Tlb& tlb;
  std::vector<Sink<TranslateResponse>*> sms;
  Responder<TranslateRequest, TranslateResponse>* gmmu = nullptr;
  std::vector<Responder<Invalidate, Invalidated>*> invalidated;  // of the SMs; 10 and 30 ns
  Sink<Invalidated>* acknowledged = nullptr;
};

}  // namespace

TEST_CASE("L2 TLB: the number of look-ups per cycle equals its ports") {
  for (std::uint32_t const ports : {1U, 2U}) {
    CAPTURE(ports);
    auto spec = small_tlb(8);
    spec.params.ports = ports;
    std::vector<Record<TranslateRequest>> script;
    for (std::uint32_t page = 1; page < 6; ++page) script.push_back({Time{10ns}, {page, 0}});
    TlbBench b(spec, script);
    CHECK(b.gmmu->nanoseconds() == (ports == 1 ? Times{15, 16, 17, 18, 19} : Times{15, 15, 16, 16, 17}));
    CHECK(test::stat_of(b.tlb, "l2_tlb", "busy_time") == 5 * 1000 / ports);
  }
}

TEST_CASE("L2 TLB: a merged request gets the last part of the miss's stages, as long as its own wait") {
  TlbBench b(small_tlb(4), {{Time{100ns}, {kTimed, 0}}, {Time{110ns}, {kTimed, 1}}});
  // The first one waits from 104 to 126 ns, the second one from 114 ns.
  auto const& first = b.sms[0]->records().at(0).message.stages;
  CHECK(first.walk_queue == 2'000);
  CHECK(first.walk == 15'000);
  auto const& second = b.sms[1]->records().at(0).message.stages;
  CHECK(second.walk_queue == 0);
  CHECK(second.walk == 12'000);
}

TEST_CASE("L2 TLB: each look-up, hit or miss, takes one cycle of busy time") {
  TlbBench b(small_tlb(4), {{Time{100ns}, {1, 0}}, {Time{101ns}, {2, 0}}, {Time{500ns}, {1, 1}}});
  CHECK(b.tlb.state().busy_ps == 3'000);
}

TEST_CASE(
    "L2 TLB: a miss is forwarded after the look-up and its response returned immediately; a hit takes the "
    "look-up") {
  TlbBench b(small_tlb(4), {{Time{10ns}, {7, 0}}, {Time{100ns}, {7, 1}}});
  CHECK(b.gmmu->nanoseconds() == Times{10 + 4 + 1});
  CHECK(b.sms[0]->nanoseconds() == Times{15 + 20 + 1 + 1});
  CHECK(b.sms[0]->records()[0].message.frame == frame_of(7));
  CHECK(b.sms[1]->nanoseconds() == Times{100 + 4 + 1});
  CHECK(b.tlb.state().stats[0].hits == 1);
  CHECK(b.tlb.state().stats[0].misses == 1);
  CHECK(b.tlb.waiting_for().empty());
}

TEST_CASE("L2 TLB: misses on one page are merged and answered in order, one per cycle") {
  TlbBench b(small_tlb(4), {{Time{10ns}, {7, 1}}, {Time{12ns}, {7, 0}}, {Time{30ns}, {7, 0}}});
  CHECK(b.gmmu->records().size() == 1);
  CHECK(b.sms[1]->nanoseconds() == Times{37});
  CHECK(b.sms[0]->nanoseconds() == Times{38, 39});
  CHECK(b.tlb.state().stats[0].merged_misses == 2);
}

TEST_CASE("L2 TLB: one page of two address spaces has two misses and two entries") {
  constexpr std::uint64_t kOther = 7 + (1ULL << 36);
  constexpr std::uint64_t kThird = 7 + (2ULL << 36);
  TlbBench b(small_tlb(4), {{Time{10ns}, {7, 0}},
                            {Time{11ns}, {kOther, 0}},
                            {Time{100ns}, {kOther, 1}},
                            {Time{200ns}, {kThird, 1}}});
  CHECK(b.gmmu->records().size() == 3);
  CHECK(b.tlb.state().stats[0].merged_misses == 0);
  CHECK(b.tlb.state().stats[0].hits == 1);
  REQUIRE(b.sms[1]->count() == 2);
  CHECK(b.sms[1]->records()[0].message.page == kOther);
}

TEST_CASE("L2 TLB: one look-up per cycle") {
  TlbBench b(small_tlb(4),
             {{Time{10ns}, {7, 0}}, {Time{100ns}, {7, 0}}, {Time{100ns}, {7, 1}}, {Time{100ns}, {8, 1}}});
  CHECK(b.sms[0]->nanoseconds() == Times{37, 105});
  CHECK(b.sms[1]->nanoseconds()[0] == 106);
  CHECK(b.gmmu->nanoseconds() == Times{15, 107});
}

TEST_CASE("L2 TLB: hits with extra latency in the organization are answered late, other hits are not") {
  constexpr std::uint64_t kUncompressed = 7 + (1 << 18);  // of the same set, with other upper bits
  static_assert(kUncompressed < kNotMapped);
  auto spec = small_tlb(4);
  spec.params.policies.organization = test::chosen<TlbOrganization>("compressed", {{"latency", "3"}});
  TlbBench b(spec, {{Time{10ns}, {7, 0}},
                    {Time{11ns}, {kUncompressed, 0}},
                    {Time{100ns}, {7, 1}},
                    {Time{200ns}, {kUncompressed, 1}},
                    {Time{300ns}, {7, 1}},
                    {Time{301ns}, {kUncompressed, 1}}});
  CHECK(b.sms[0]->nanoseconds() == Times{37, 38});  // misses are not delayed
  CHECK(b.sms[1]->nanoseconds() == Times{100 + 4 + 3 + 1, 200 + 4 + 1, 301 + 4 + 1, 300 + 4 + 3 + 1});
  CHECK(b.tlb.state().stats[0].hits == 4);
}

TEST_CASE("L2 TLB: a slow hit without permission for the access is a miss without the extra latency") {
  auto spec = small_tlb(4);
  spec.params.policies.organization = test::chosen<TlbOrganization>("compressed", {{"latency", "50"}});
  TlbBench b(spec, {{Time{100ns}, {7, 0, 0, Access::write}}}, {},
             {{Time{20ns}, {7, read_only(frame_of(7)), FoundBy::settled}}});
  CHECK(b.gmmu->nanoseconds() == Times{100 + 4 + 1});
}

TEST_CASE("L2 TLB: an invalidation reaches SMs after an earlier slow hit") {
  auto spec = small_tlb(4);
  spec.params.policies.organization = test::chosen<TlbOrganization>("compressed", {{"latency", "50"}});
  TlbBench b(spec, {{Time{10ns}, {7, 0}}, {Time{100ns}, {7, 1}}}, {{Time{101ns}, {7, frame_of(7), 0}}});
  CHECK(b.sms[1]->nanoseconds() == Times{100 + 4 + 50 + 1});
  CHECK(b.invalidated[1]->nanoseconds() == Times{154 + 1 + 1});
}

TEST_CASE("L2 TLB: without a free MSHR, misses stall in order and resume, one look-up per cycle") {
  TlbBench b(small_tlb(1),
             {{Time{10ns}, {7, 0}}, {Time{11ns}, {8, 0}}, {Time{12ns}, {9, 1}}, {Time{13ns}, {8, 1}}});
  // A walk and its links take 22 ns after the look-up: 7 returns at 36, 8 at 62, 9 at 88.
  CHECK(b.gmmu->nanoseconds() == Times{15, 36 + 4 + 1, 62 + 4 + 1});
  CHECK(b.sms[0]->nanoseconds() == Times{37, 63});
  // The second request for page 8 stays behind 9, although its page arrived at 62: it hits one cycle after
  // the look-up of 9.
  CHECK(b.sms[1]->nanoseconds() == Times{62 + 1 + 4 + 1, 89});
  CHECK(b.tlb.state().stats[0].mshr_stalls == 3);
  CHECK(b.tlb.state().stats[0].hits == 1);
}

TEST_CASE("L2 TLB: hits and merging misses pass requests that wait for an MSHR without delay") {
  TlbBench b(small_tlb(1), {{Time{10ns}, {7, 0}},     // fills page 7
                            {Time{100ns}, {8, 0}},    // takes the MSHR
                            {Time{101ns}, {9, 0}},    // waits for the MSHR
                            {Time{102ns}, {7, 1}},    // hits
                            {Time{103ns}, {8, 1}},    // merges
                            {Time{104ns}, {7, 1}}});  // hits
  CHECK(b.sms[0]->nanoseconds() == Times{37, 127, 126 + 26 + 1});
  CHECK(b.sms[1]->nanoseconds() == Times{102 + 4 + 1, 104 + 4 + 1, 128});
  CHECK(b.tlb.state().stats[0].mshr_stalls == 1);
  CHECK(b.tlb.state().stats[0].hits == 2);
  CHECK(b.tlb.state().stats[0].merged_misses == 1);
  CHECK(b.tlb.waiting_for().empty());
}

TEST_CASE("L2 TLB: under random load every request is answered exactly once with the right frame") {
  Bench b;
  auto spec = small_tlb(2);
  spec.requesters.groups = 1;
  spec.requests_each = 24;
  auto& tlb = b.system.add<L2Tlb>("l2_tlb", spec);
  // The L2 TLB's responses carry no requester tag: the SM matches them by page. Count by page.
  auto& source = b.system.add<Client<TranslateRequest, TranslateResponse>>(
      "client", {5000, 24,
                 [](std::uint64_t n) {
                   return TranslateRequest{n * 0x9E3779B97F4A7C15ULL >> 58, 0};
                 },
                 [](TranslateResponse const& m) { return m.frame == frame_of(m.page); }});
  b.join(source.request, tlb.request);
  b.join_family(tlb.response, {source.response});
  auto& gmmu = b.responder<TranslateRequest, TranslateResponse>(walker(scattered(300ns, 2)), tlb.filled);
  b.join_family(tlb.miss, {gmmu.request});
  b.idle(tlb.invalidate, tlb.invalidated);
  b.sinks(tlb.forwarded, 1);
  b.sinks(tlb.acknowledge, 1);
  b.begin(source);
  CHECK(b.run() == RunState::drained);
  CHECK(source.state().responded == 5000);
  CHECK(source.state().wrong == 0);
  auto const& s = tlb.state().stats[0];
  CHECK(s.hits + s.misses == 5000);
  CHECK(gmmu.records().size() == s.misses - s.merged_misses);
  CHECK(s.mshr_stalls > 100);
  CHECK(tlb.waiting_for().empty());
}

TEST_CASE("L2 TLB: an invalidation drops the entry and is acknowledged when every SM has acknowledged it") {
  TlbBench b(small_tlb(4),
             {{Time{10ns}, {7, 0}}, {Time{11ns}, {8, 0}}, {Time{100ns}, {7, 0}}, {Time{200ns}, {8, 0}}},
             {{Time{50ns}, {7, frame_of(7), 0}}});
  for (auto const* sm : b.invalidated) {
    CHECK(sm->nanoseconds() == Times{50 + 1 + 1});
    CHECK(sm->records()[0].message.page == 7);
    CHECK(sm->records()[0].message.frame == frame_of(7));
  }
  CHECK(b.acknowledged->nanoseconds() == Times{52 + 30 + 1 + 1});
  CHECK(b.gmmu->records().size() == 3);  // page 7 again; page 8 remains
  CHECK(b.tlb.state().invalidated_entries == 1);
}

TEST_CASE("L2 TLB: an invalidation reaches an SM after all earlier responses") {
  // The hits are looked up at 100, 101 and 102 and answered 4 ns later; the invalidation arrives at 102.
  TlbBench hits(small_tlb(4),
                {{Time{10ns}, {7, 0}}, {Time{100ns}, {7, 0}}, {Time{100ns}, {7, 0}}, {Time{100ns}, {7, 0}}},
                {{Time{102ns}, {7, frame_of(7), 0}}});
  CHECK(hits.sms[0]->nanoseconds() == Times{37, 105, 106, 107});
  CHECK(hits.invalidated[0]->nanoseconds() == Times{106 + 1 + 1});
  // A fill at 36 is answered three times, at 37, 38 and 39; the invalidation arrives with it.
  TlbBench fill(small_tlb(4), {{Time{10ns}, {7, 0}}, {Time{11ns}, {7, 0}}, {Time{12ns}, {7, 0}}},
                {{Time{37ns}, {7, frame_of(7), 0}}});
  CHECK(fill.sms[0]->nanoseconds() == Times{37, 38, 39});
  CHECK(fill.invalidated[0]->nanoseconds() == Times{38 + 1 + 1});
}

TEST_CASE("L2 TLB: invalidations of two migrations can be outstanding and are acknowledged separately") {
  auto spec = small_tlb(4);
  spec.moves = 2;
  TlbBench b(spec, {}, {{Time{50ns}, {7, frame_of(7), 1}}, {Time{55ns}, {8, frame_of(8), 0}}});
  CHECK(b.acknowledged->nanoseconds() == Times{84, 89});
  CHECK(b.acknowledged->records()[0].message.move == 1);
  CHECK(b.acknowledged->records()[1].message.move == 0);
  CHECK(b.tlb.state().invalidated_entries == 0);
}

TEST_CASE("L2 TLB: a response identifies the TLB after a hit, or the translator for all merged requests") {
  for (auto const& [page, by] : {std::pair{7UL, FoundBy::gmmu}, std::pair{kByIommu, FoundBy::iommu},
                                 std::pair{kFirstTouch, FoundBy::fault}}) {
    TlbBench b(small_tlb(4), {{Time{10ns}, {page, 0}},
                              {Time{11ns}, {page, 0}},
                              {Time{12ns}, {page, 1}},
                              {Time{100ns}, {page, 0}},
                              {Time{110ns}, {page, 1}}});
    for (auto const* sm : b.sms) {
      REQUIRE(sm->count() >= 2);
      for (auto const& r : sm->records())
        CHECK(r.message.found_by == (r.at < Time{100ns} ? by : FoundBy::l2_tlb));
    }
    CHECK(b.sms[0]->count() + b.sms[1]->count() == 5);
  }
}

TEST_CASE("L2 TLB: an unmapped page fills nothing, frees its MSHR, and all merged requests are notified") {
  TlbBench b(small_tlb(1), {{Time{10ns}, {kNotMapped, 0}},
                            {Time{11ns}, {kNotMapped, 1}},
                            {Time{12ns}, {9, 0}},  // waits for the MSHR
                            {Time{100ns}, {kNotMapped, 1}}});
  CHECK(b.gmmu->nanoseconds() == Times{15, 36 + 4 + 1, 105});
  REQUIRE(b.sms[0]->nanoseconds() == Times{37, 63});
  REQUIRE(b.sms[1]->nanoseconds() == Times{38, 127});
  for (auto const& r : {b.sms[0]->records()[0], b.sms[1]->records()[0], b.sms[1]->records()[1]}) {
    CHECK(r.message.page == kNotMapped);
    CHECK(r.message.found_by == FoundBy::nothing);
  }
  CHECK(b.sms[0]->records()[1].message.found_by == FoundBy::gmmu);
  CHECK(b.tlb.state().faulted_misses == 2);
  CHECK(b.tlb.waiting_for().empty());
}

TEST_CASE("L2 TLB: a replay reaches every SM after all earlier responses, and fills nothing") {
  auto const fed = [](std::int64_t ns) {
    return Record<TranslateResponse>{Time{ns * 1ns}, {7, frame_of(7), FoundBy::replay}};
  };
  // Hits looked up at 100, 101 and 102 are answered 4 ns later; the replay arrives at 102.
  TlbBench b(small_tlb(4),
             {{Time{10ns}, {8, 0}}, {Time{100ns}, {8, 0}}, {Time{100ns}, {8, 0}}, {Time{100ns}, {8, 1}}}, {},
             {fed(102)});
  CHECK(b.sms[0]->nanoseconds() == Times{37, 105, 106, 107});
  CHECK(b.sms[1]->nanoseconds() == Times{107, 107});
  CHECK(b.sms[0]->records()[3].message.found_by == FoundBy::replay);
  CHECK(b.sms[1]->records()[0].message.found_by == FoundBy::l2_tlb);
  CHECK(b.sms[1]->records()[1].message.found_by == FoundBy::replay);
  // Two requesters are answered at 36 and 37 that the page is unmapped; its replay arrives at 36.
  TlbBench faults(small_tlb(4), {{Time{10ns}, {kNotMapped, 0}}, {Time{11ns}, {kNotMapped, 1}}}, {},
                  {{Time{36ns}, {kNotMapped, frame_of(5), FoundBy::replay}}});
  CHECK(faults.sms[1]->nanoseconds() == Times{38, 38});
  CHECK(faults.sms[1]->records()[0].message.found_by == FoundBy::nothing);
  // A later look-up of the page misses.
  TlbBench after(small_tlb(4), {{Time{50ns}, {7, 0}}}, {}, {fed(20)});
  CHECK(after.tlb.state().stats[0].misses == 1);
  CHECK(after.sms[0]->nanoseconds() == Times{21, 77});
}

TEST_CASE("L2 TLB: the replay of a settled page fills an entry, and is forwarded to every SM") {
  TlbBench b(small_tlb(4), {{Time{50ns}, {7, 0}}, {Time{150ns}, {7, 1}}},
             {{Time{100ns}, {7, frame_of(7), 0}}}, {{Time{20ns}, {7, frame_of(8), FoundBy::settled}}});
  CHECK(b.sms[0]->nanoseconds() == Times{21, 55});
  CHECK(b.sms[1]->nanoseconds()[0] == 21);
  CHECK(b.sms[0]->records()[0].message.found_by == FoundBy::settled);
  CHECK(b.sms[0]->records()[1].message.frame == frame_of(8));
  CHECK(b.tlb.state().stats[0].hits == 1);
  // The entry stays until it is invalidated.
  CHECK(b.tlb.state().invalidated_entries == 1);
  CHECK(b.tlb.state().stats[0].misses == 1);
}

}  // namespace l2_tlb_test
