// SPDX-License-Identifier: Apache-2.0
// Pressure of page walks on applications, as SMs and the L2 TLB count it and report it to DRAM channels, and
// translations in a bypass cache next to an L2 TLB. Clock 1 GHz, look-up 4 cycles, walks 20 ns, links of 1
// ns.
#include "farfault/translation/walk_pressure.hpp"

#include <doctest/doctest.h>

#include "farfault/compute/stalled_warps.hpp"
#include "farfault/translation/l2_tlb.hpp"
#include "mock.hpp"
#include "policies.hpp"

namespace walk_pressure_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

std::vector<std::uint16_t> of(WalkPressure const& m, std::size_t n) {
  return {m.of.begin(), m.of.begin() + static_cast<std::ptrdiff_t>(n)};
}

L2TlbSpec tlb(std::vector<test::Setting> const& tokens, std::uint32_t applications = 1) {
  L2TlbSpec spec;
  spec.params.entries = 8;
  spec.params.ways = 4;
  spec.params.mshrs = 4;
  if (!tokens.empty()) spec.params.fill = test::chosen<TlbFill>("tokens", tokens);
  spec.requesters.groups = 2;
  spec.requests_each = 16;
  for (std::uint32_t a = 0; a < applications; ++a) {
    spec.applications.push_back("a" + std::to_string(a));
    spec.sms.push_back({0, 1});
  }
  return spec;
}

constexpr std::uint64_t kNotMapped = 99;
constexpr std::uint64_t kCopied = 98;  // reads find a read-only copy

struct TlbBench : Bench {
  TlbBench(L2TlbSpec spec, std::vector<Record<TranslateRequest>> script,
           std::vector<Record<Invalidate>> invalidations = {},
           std::vector<Record<TranslateResponse>> replays = {})
      : l2(system.add<L2Tlb>("l2_tlb", std::move(spec))) {
    for (auto& each : script) each.message.client = static_cast<std::uint16_t>(each.message.from);
    feed(l2.request, std::move(script));
    if (!replays.empty()) feed(l2.filled, std::move(replays));
    sms = sinks(l2.response, 2);
    ResponderSpec<TranslateRequest, TranslateResponse> walker;
    walker.reply = [](TranslateRequest const& m) {
      bool const copy = m.page == kCopied && m.access == Access::read;
      auto const frame = m.page << 12;
      return TranslateResponse{m.page, copy ? read_only(frame) : frame,
                               m.page == kNotMapped ? FoundBy::nothing : FoundBy::gmmu};
    };
    walker.delay = always(20ns);
    gmmu = &responder<TranslateRequest, TranslateResponse>(walker, l2.filled);
    join_family(l2.miss, {gmmu->request});
    feed(l2.invalidate, std::move(invalidations));
    ResponderSpec<Invalidate, Invalidated> sm;
    sm.reply = [](Invalidate const& m) { return Invalidated{m.move}; };
    sm.delay = always(1ns);
    std::vector<In<Invalidate>> to;
    for (int i = 0; i < 2; ++i) {
      invalidated.push_back(&responder<Invalidate, Invalidated>(sm, l2.invalidated));
      to.push_back(invalidated.back()->request);
    }
    join_family(l2.forwarded, to);
    acknowledged = sinks(l2.acknowledge, 1)[0];
    if (l2.spec().pressure_epoch != 0) channels = sinks(l2.pressure, l2.spec().channels, 9ns);
    run();
  }
  std::vector<std::uint64_t> walks() const {
    std::vector<std::uint64_t> pages;
    for (auto const& r : gmmu->records()) pages.push_back(r.message.page);
    return pages;
  }
  L2Tlb& l2;
  std::vector<Sink<TranslateResponse>*> sms;
  std::vector<Sink<WalkPressure>*> channels;
  Responder<TranslateRequest, TranslateResponse>* gmmu = nullptr;
  std::vector<Responder<Invalidate, Invalidated>*> invalidated;
  Sink<Invalidated>* acknowledged = nullptr;
};

TranslateRequest request(std::uint64_t page, std::uint8_t warp, std::uint8_t application = 0,
                         std::uint8_t stalled = 0) {
  return {.page = page,
          .from = 0,
          .application = application,
          .access = Access::read,
          .warp = warp,
          .stalled = stalled};
}

using Pages = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE(
    "stalled warps: the maximum stalled on one translation since the last report, up to 63, per "
    "application") {
  StalledWarps s(2);
  s.begin();
  for (auto const warp : std::vector<std::uint16_t>{1, 1, 1, 2, 1}) s.add(0, warp);
  s.begin();
  for (auto const warp : std::vector<std::uint16_t>{1, 1}) s.add(0, warp);
  CHECK(s.take(1) == 0);
  CHECK(s.take(0) == 3);
  CHECK(s.take(0) == 0);
  s.begin();
  for (std::uint16_t warp = 0; warp < 200; ++warp) s.add(1, warp);
  CHECK(s.take(1) == 63);
  StalledWarps none;
  none.begin();
  none.add(0, 1);
  CHECK(none.take(0) == 0);
}

TEST_CASE(
    "walk pressure: maximum concurrent walks times maximum stalled warps, up to 63 each; outstanding walks "
    "stay counted") {
  WalkPressureCounts c(18);
  std::vector<WalkPressure> all;
  auto const report = [&] { c.report([&](WalkPressure const& m) { all.push_back(m); }); };
  for (int i = 0; i < 5; ++i) c.missed(0);
  for (int i = 0; i < 3; ++i) c.responded(0);
  c.missed(0);
  c.stalled(0, 7);
  c.stalled(0, 4);
  c.missed(1);
  for (int i = 0; i < 100; ++i) c.missed(17);
  c.stalled(17, 63);
  report();
  REQUIRE(all.size() == 2);
  CHECK(all[0].first == 0);
  CHECK(of(all[0], 3) == std::vector<std::uint16_t>{35, 0, 0});
  CHECK(all[1].first == 16);
  CHECK(of(all[1], 3) == std::vector<std::uint16_t>{0, 63 * 63, 0});
  c.stalled(0, 2);
  c.stalled(1, 2);
  report();
  CHECK(of(all[2], 3) == std::vector<std::uint16_t>{3 * 2, 1 * 2, 0});
}

TEST_CASE(
    "L2 TLB: every channel is notified of an epoch's walks at the first request or response after its end") {
  auto spec = tlb({}, 2);
  spec.pressure_epoch = 100;
  spec.channels = 2;
  TlbBench b(spec, {{Time{10ns}, request(7, 0)},
                    {Time{11ns}, request(8, 0)},
                    {Time{12ns}, request(8, 0)},  // merged
                    {Time{50ns}, request(9, 0, 0, 5)},
                    {Time{90ns}, request(10, 0, 1, 3)},  // outstanding at 100
                    {Time{350ns}, request(7, 0)}});
  for (auto* channel : b.channels) {
    // At the response for page 10, and at the last request.
    CHECK(channel->nanoseconds() == Times{90 + 4 + 1 + 20 + 1 + 9, 350 + 9});
    CHECK(of(channel->records()[0].message, 3) == std::vector<std::uint16_t>{2 * 5, 1 * 3, 0});
    CHECK(of(channel->records()[1].message, 3) == std::vector<std::uint16_t>{0, 0, 0});
  }
}

TEST_CASE("L2 TLB: a miss with a faulted page is no longer outstanding") {
  auto spec = tlb({});
  spec.pressure_epoch = 100;
  spec.channels = 1;
  TlbBench b(spec, {{Time{10ns}, request(kNotMapped, 0)},
                    {Time{12ns}, request(kNotMapped, 0)},
                    {Time{110ns}, request(7, 0, 0, 1)},  // end of the first epoch
                    {Time{210ns}, request(7, 0)}});
  REQUIRE(b.channels[0]->count() == 2);
  CHECK(of(b.channels[0]->records()[0].message, 1) == std::vector<std::uint16_t>{0});
  CHECK(of(b.channels[0]->records()[1].message, 1) == std::vector<std::uint16_t>{1});
}

TEST_CASE("L2 TLB: a warp without a token fills the bypass cache, which is looked up together with the TLB") {
  TlbBench b(tlb({{"initial", "0.5"}, {"step", "0"}, {"epoch", "100"}}),
             {{Time{10ns}, request(7, 0)},   // all fill in the first epoch
              {Time{50ns}, request(7, 1)},   // a second warp
              {Time{110ns}, request(8, 1)},  // one token: warp 0's
              {Time{150ns}, request(8, 9)},
              {Time{160ns}, request(9, 0)},
              {Time{190ns}, request(7, 1)}});
  CHECK(b.walks() == Pages{7, 8, 9});
  CHECK(b.sms[0]->nanoseconds() == Times{37, 55, 137, 155, 187, 195});
  CHECK(b.sms[0]->records()[3].message.found_by == FoundBy::l2_tlb);
  CHECK(b.sms[0]->records()[3].message.frame == 8 << 12);
  Pages in_tlb;
  b.l2.state().tlb->each_entry([&](std::uint64_t page, PageTranslation const&) { in_tlb.push_back(page); });
  CHECK(in_tlb == Pages{7, 9});
  CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "bypass_fills") == 1);
  CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "bypass_hits") == 1);
  CHECK(b.l2.state().stats[0].hits == 3);
  CHECK(b.l2.state().stats[0].misses == 3);
}

TEST_CASE("L2 TLB: one warp with a token among the merged requests is sufficient") {
  struct Two {
    std::uint8_t first;
    std::uint8_t second;
  };
  for (auto const two : {Two{0, 1}, Two{1, 0}, Two{1, 2}}) {
    bool const one = two.first == 0 || two.second == 0;
    CAPTURE(one);
    TlbBench b(tlb({{"initial", "0.5"}, {"step", "0"}, {"epoch", "100"}}),
               {{Time{10ns}, request(7, 0)},
                {Time{50ns}, request(7, 1)},
                {Time{110ns}, request(8, two.first)},
                {Time{112ns}, request(8, two.second)}});
    CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "bypass_fills") == (one ? 0 : 1));
  }
}

TEST_CASE("L2 TLB: a hit in the bypass cache is a hit, also for the tokens") {
  TlbBench b(tlb({{"initial", "0.0"}, {"step", "1.0"}, {"epoch", "100"}}), {{Time{10ns}, request(7, 0)},
                                                                            {Time{50ns}, request(8, 0)},
                                                                            {Time{110ns}, request(9, 0)},
                                                                            {Time{150ns}, request(9, 0)},
                                                                            {Time{170ns}, request(9, 0)},
                                                                            {Time{210ns}, request(10, 0)}});
  CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "bypass_hits") == 2);
  CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "increases") == 1);
  CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "tokens") == 2);  // a warp on each of two SMs
}

TEST_CASE("L2 TLB: for the tokens, a request that waited for an MSHR is one miss") {
  auto spec = tlb({{"initial", "0.5"}, {"step", "0.5"}, {"epoch", "100"}});
  spec.params.mshrs = 1;
  // Half of the requests miss in both epochs; 9 is outstanding from 112 to 136.
  TlbBench b(spec, {{Time{10ns}, request(7, 0)},
                    {Time{50ns}, request(7, 0)},
                    {Time{110ns}, request(8, 0)},
                    {Time{112ns}, request(9, 0)},
                    {Time{170ns}, request(8, 0)},
                    {Time{171ns}, request(9, 0)},
                    {Time{210ns}, request(7, 0)}});
  CHECK(b.l2.state().stats[0].mshr_stalls == 1);
  CHECK(b.l2.state().stats[0].misses == 3);
  CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "increases") == 0);
  CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "decreases") == 0);
}

TEST_CASE("L2 TLB: a write hits in the bypass cache where the TLB has a read-only translation") {
  auto write = request(kCopied, 1);
  write.access = Access::write;
  TlbBench b(tlb({{"initial", "0"}, {"step", "0"}, {"epoch", "100"}}),
             {{Time{10ns}, request(kCopied, 0)},  // the TLB has a copy
              {Time{110ns}, write},
              {Time{150ns}, write},
              {Time{200ns}, request(kCopied, 0)}});
  CHECK(b.walks() == Pages{kCopied, kCopied});
  REQUIRE(b.sms[0]->count() == 4);
  CHECK(b.sms[0]->records()[2].message.frame == kCopied << 12);
  CHECK(b.sms[0]->records()[3].message.frame == read_only(kCopied << 12));
}

TEST_CASE("L2 TLB: a write to a read-only translation in the bypass cache is a miss, and not a hit there") {
  auto write = request(kCopied, 1);
  write.access = Access::write;
  auto spec = tlb({{"initial", "0"}, {"step", "0"}, {"epoch", "100"}});
  spec.params.mshrs = 1;
  TlbBench b(spec, {{Time{10ns}, request(7, 0)},
                    {Time{110ns}, request(kCopied, 0)},  // into the bypass cache
                    {Time{150ns}, request(8, 0)},
                    {Time{151ns}, write},  // waits for the MSHR
                    {Time{250ns}, write}});
  CHECK(b.walks() == Pages{7, kCopied, 8, kCopied});
  CHECK(b.l2.state().stats[0].hits == 1);
  CHECK(test::stat_of(b.l2, "gpu.l2_tlb.fill", "bypass_hits") == 1);
}

TEST_CASE("L2 TLB: an invalidation of a page in the TLB and in the bypass cache removes both") {
  TlbBench b(tlb({{"initial", "0"}, {"step", "0"}, {"epoch", "100"}}),
             {{Time{10ns}, request(7, 0)},
              {Time{110ns}, request(8, 0)},  // into the bypass cache
              {Time{300ns}, request(8, 0)}},
             {{Time{200ns}, {8, 8 << 12, 0}}}, {{Time{150ns}, {8, 9 << 12, FoundBy::settled}}});
  CHECK(b.walks() == Pages{7, 8, 8});
  CHECK(b.l2.state().invalidated_entries == 2);
}

TEST_CASE("L2 TLB: an invalidation of a page or of all clears the bypass cache, and the SMs are notified") {
  for (std::string const what : {"page", "all"}) {
    CAPTURE(what);
    TlbBench b(tlb({{"initial", "0.0"}, {"step", "0"}, {"epoch", "100"}, {"invalidation", what}}),
               {{Time{10ns}, request(7, 0)},
                {Time{110ns}, request(8, 0)},
                {Time{150ns}, request(9, 0)},
                {Time{300ns}, request(8, 0)},
                {Time{400ns}, request(9, 0)},
                {Time{500ns}, request(7, 0)}},
               {{Time{200ns}, {8, 8 << 12, 0}}});
    bool const all = what == "all";
    CHECK(b.walks() == (all ? Pages{7, 8, 9, 8, 9, 7} : Pages{7, 8, 9, 8}));
    CHECK(b.l2.state().invalidated_entries == (all ? 3 : 1));
    REQUIRE(b.invalidated[1]->records().size() == 1);
    CHECK(b.invalidated[1]->records()[0].message.all == (all ? 1 : 0));
    CHECK(b.acknowledged->count() == 1);
  }
}

}  // namespace walk_pressure_test
