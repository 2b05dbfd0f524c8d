// SPDX-License-Identifier: Apache-2.0
// An SM with faulting accesses: they stall until the page's replay and are then issued again, while others
// proceed.
#include <doctest/doctest.h>

#include "sm_bench.hpp"

namespace sm_fault_test {

using namespace farfault;
using namespace farfault::sm_bench;

namespace {

using Replays = std::vector<Record<TranslateResponse>>;

// Pages that are answered as unmapped for the given number of requests.
struct FaultBench : SmBench {
  FaultBench(SmSpec spec, Workload const& workload, std::map<std::uint64_t, int> unmapped, Replays replays,
             std::vector<Record<StartBlock>> script = {{Time{100ns}, {0, 0, 0}}},
             std::function<Duration(std::uint64_t)> memory_delay = always(50ns),
             std::function<Duration(std::uint64_t)> tlb_delay = always(20ns))
      : SmBench(std::move(spec), workload, std::move(script), std::move(memory_delay), std::move(tlb_delay)) {
    faults = std::move(unmapped);
    feed(sm.translation, std::move(replays));
  }
  WarpContexts::FaultWaiting waiting() const { return sm.state().warps.waiting_for_faults(); }
};

std::vector<std::uint64_t> pages_in_tlb(SmBench const& b) {
  std::vector<std::uint64_t> pages;
  b.sm.state().load_store.translation.tlb()->each_entry(
      [&](std::uint64_t page, PageTranslation const&) { pages.push_back(page); });
  return pages;
}

}  // namespace

TEST_CASE("SM: accesses to an unmapped page are repeated at its replay, in order, one per cycle") {
  auto const w = same_for_all({load(0x2000, 64, 2), store(0x2080), compute(1, true)});
  FaultBench b(unit_rates(), w, {{2, 1}}, {{Time{500ns}, replay(2)}});
  CHECK(b.run() == RunState::drained);
  // Requested at 102, faulted at 124. Looked up again at 500, translated at 523, looked up in the cache at
  // 523, 524 and 525.
  CHECK(b.tlb->nanoseconds() == Times{103, 502});
  CHECK(b.cache->nanoseconds() == Times{525, 526, 527});
  CHECK(b.cache->records()[0].message.address == physical(0, 9 << 12));
  CHECK(b.cache->records()[1].message.address == physical(0, (9 << 12) + 64));
  CHECK(b.cache->records()[2].message.access == Access::write);
  auto const& s = b.sm.state().stats[0];
  CHECK(s.faulted == 3);
  CHECK(s.replayed == 3);
  CHECK(s.l1_tlb_misses == 3);
  CHECK(s.l1_tlb_hits == 0);
  CHECK(b.sm.waiting_for().empty());
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: accesses that do not fault pass faulted ones, without a delay") {
  auto const w = same_for_all(
      {load(0x2000), compute(60), load(0x3000), compute(60), load(0x3040), load(0x4000), compute(1, true)});
  FaultBench free(unit_rates(), w, {}, {});
  free.run();
  FaultBench b(unit_rates(), w, {{2, 1}}, {{Time{5us}, replay(2)}});
  b.run();
  auto const without = free.cache->nanoseconds();
  auto const with = b.cache->nanoseconds();
  REQUIRE(without.size() == 4);
  CHECK(with == Times{without[1], without[2], without[3], 5025});
}

TEST_CASE("SM: further accesses to a faulted page join the others without a request") {
  auto const w = same_for_all({load(0x2000), compute(60), load(0x2040), store(0x2080), compute(1, true)});
  FaultBench b(unit_rates(), w, {{2, 1}}, {{Time{500ns}, replay(2)}});
  b.run();
  CHECK(b.tlb->nanoseconds() == Times{103, 502});
  CHECK(b.cache->nanoseconds() == Times{525, 526, 527});
  CHECK(b.sm.state().stats[0].faulted == 3);
}

TEST_CASE("SM: after a replay of a page that is still unmapped, its accesses request it and fault again") {
  auto const w = same_for_all({load(0x2000, 64, 2), compute(1, true)});
  FaultBench b(unit_rates(), w, {{2, 3}},
               {{Time{500ns}, replay(2, kNoFrame)},
                {Time{600ns}, replay(3)},  // not a page of this SM
                {Time{700ns}, replay(2, kNoFrame)},
                {Time{900ns}, replay(2)}});
  b.run();
  CHECK(b.tlb->nanoseconds() == Times{103, 502, 702, 902});
  CHECK(b.cache->nanoseconds() == Times{925, 926});
  CHECK(b.sm.state().stats[0].faulted == 6);
  CHECK(b.sm.state().stats[0].replayed == 6);
  CHECK(b.sm.state().stats[0].l1_tlb_misses == 2);
}

TEST_CASE("SM: with its fault capacity exhausted, new misses stall until a replay; earlier ones do not") {
  auto const w = same_for_all({load(0x2000), compute(60), load(0x3000), compute(1, true)});
  for (bool const by_page : {true, false}) {
    auto spec = unit_rates();
    (by_page ? spec.l1_tlb.faulted_pages : spec.l1_tlb.faulted_accesses) = 1;
    FaultBench b(spec, w, {{2, 2}}, {{Time{500ns}, replay(2, kNoFrame)}, {Time{800ns}, replay(2)}});
    b.run();
    // Page 2 is requested again at 500, one cycle before page 3. It faults a second time, and page 3 is
    // mapped.
    CHECK(b.tlb->nanoseconds() == Times{103, 502, 503, 802});
    CHECK(b.cache->nanoseconds() == Times{526, 825});
    // Issued at 101 + 1 + 60.
    auto const& stalled = b.sm.state().times.load_store;
    CHECK(stalled.in(LoadStoreStall::faulted) == (500 - 162) * 1000);
    CHECK(stalled.in(LoadStoreStall::l1_tlb_mshr) == 0);
  }
}

TEST_CASE(
    "SM: a replayed access sends its request immediately, even if the fault capacity is exhausted "
    "meanwhile") {
  // Both pages are requested before the first is known to fault. In a fault buffer, the room for page 3 may
  // depend on a replay without a frame: page 2 must not wait for it.
  auto const w = same_for_all({load(0x2000), load(0x3000), compute(1, true)});
  auto spec = unit_rates();
  spec.l1_tlb.faulted_pages = 1;
  FaultBench b(spec, w, {{2, 2}, {3, 1}},
               {{Time{500ns}, replay(2, kNoFrame)}, {Time{700ns}, replay(2)}, {Time{900ns}, replay(3)}});
  b.run();
  auto const asked = b.tlb->nanoseconds();
  REQUIRE(asked.size() == 5);
  CHECK(Times(asked.begin() + 2, asked.end()) == Times{502, 702, 902});
}

TEST_CASE("SM: accesses to a settled page continue with its frame, without a request") {
  auto const w = same_for_all({load(0x2000, 64, 2), store(0x2080), compute(1, true), load(0x20c0)});
  auto settled = replay(2, physical(0, 70 << 12));
  settled.found_by = FoundBy::settled;
  auto other = settled;
  other.page = 3;  // not a page of this SM
  FaultBench b(unit_rates(), w, {{2, 1}, {3, 1}}, {{Time{400ns}, other}, {Time{500ns}, settled}});
  b.run(Time{480ns});
  CHECK(b.waiting().warps == 1);
  b.run(Time{520ns});
  CHECK(b.waiting().warps == 0);  // its loads are outstanding
  CHECK(b.run() == RunState::drained);
  CHECK(b.tlb->nanoseconds() == Times{103});
  // One per cycle; the last load hits the L1 TLB.
  REQUIRE(b.cache->nanoseconds().size() == 4);
  CHECK(b.cache->nanoseconds()[0] == 502);
  CHECK(b.cache->nanoseconds()[1] == 503);
  CHECK(b.cache->nanoseconds()[2] == 504);
  CHECK(b.cache->records()[0].message.address == physical(0, 70 << 12));
  CHECK(b.cache->records()[1].message.address == physical(0, (70 << 12) + 64));
  CHECK(b.cache->records()[2].message.access == Access::write);
  CHECK(b.cache->records()[3].message.address == physical(0, (70 << 12) + 0xc0));
  auto const& s = b.sm.state().stats[0];
  CHECK(s.faulted == 3);
  CHECK(s.replayed == 3);
  CHECK(s.l1_tlb_misses == 3);
  CHECK(s.l1_tlb_hits == 1);
  CHECK(pages_in_tlb(b) == std::vector<std::uint64_t>{2});
  CHECK(b.waiting().warps == 0);
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: a settled page is removed when the accesses notified of it have completed") {
  auto const w = same_for_all({load(0x2000, 64, 2), compute(1, true)});
  auto settled = replay(2, physical(0, 70 << 12));
  settled.found_by = FoundBy::settled;
  FaultBench b(unit_rates(), w, {{2, 1}}, {{Time{500ns}, settled}});
  b.feed(b.sm.invalidate, {{Time{500ns}, {2, physical(0, 70 << 12), 5}}});
  b.run();
  // The lines arrive at 554 and 555.
  CHECK(b.cache->nanoseconds() == Times{502, 503});
  REQUIRE(b.invalidated->count() == 1);
  CHECK(b.invalidated->nanoseconds()[0] > 503 + 50);
  CHECK(pages_in_tlb(b).empty());
}

TEST_CASE("SM: a write does not use a read-only translation but requests one, and reads use either") {
  auto const w = same_for_all({load(0x2000), compute(1, true), store(0x2040), compute(200), load(0x2080)});
  FaultBench b(unit_rates(), w, {}, {});
  b.copied = true;
  CHECK(b.run() == RunState::drained);
  REQUIRE(b.tlb->records().size() == 2);
  CHECK(b.tlb->records()[0].message.access == Access::read);
  CHECK(b.tlb->records()[1].message.access == Access::write);
  REQUIRE(b.cache->records().size() == 3);
  CHECK(b.cache->records()[1].message.access == Access::write);
  CHECK(b.cache->records()[1].message.address == physical(0, (9 << 12) + 0x40));
  CHECK(b.cache->nanoseconds()[1] > b.tlb->nanoseconds()[1] + 20);
  CHECK(b.sm.state().stats[0].l1_tlb_hits == 1);
  CHECK(b.sm.state().stats[0].l1_tlb_misses == 2);
}

TEST_CASE("SM: a write that waited for a read's translation requests again if that is read-only") {
  auto const w = same_for_all({load(0x2000), store(0x2040), compute(1, true)});
  FaultBench b(unit_rates(), w, {}, {});
  b.copied = true;
  CHECK(b.run() == RunState::drained);
  REQUIRE(b.tlb->records().size() == 2);
  CHECK(b.tlb->records()[1].message.access == Access::write);
  REQUIRE(b.cache->records().size() == 2);
  CHECK(b.cache->records()[0].message.access == Access::read);
  CHECK(b.cache->records()[1].message.access == Access::write);
  CHECK(b.cache->nanoseconds()[1] > b.tlb->nanoseconds()[1] + 20);
  CHECK(b.sm.waiting_for().empty());
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: when a page settles as read-only, its reads continue and its writes request again") {
  auto const w = same_for_all({load(0x2000), store(0x2040), compute(1, true)});
  auto settled = replay(2, read_only(physical(0, 70 << 12)));
  settled.found_by = FoundBy::settled;
  FaultBench b(unit_rates(), w, {{2, 1}}, {{Time{500ns}, settled}});
  b.copied = true;
  CHECK(b.run() == RunState::drained);
  REQUIRE(b.tlb->records().size() == 2);
  CHECK(b.tlb->records()[1].message.access == Access::write);
  CHECK(b.tlb->nanoseconds()[1] > 500);
  REQUIRE(b.cache->records().size() == 2);
  for (auto const& r : b.cache->records()) {
    bool const writes = r.message.access == Access::write;
    CHECK(r.message.address == (writes ? physical(0, (9 << 12) + 0x40) : physical(0, 70 << 12)));
  }
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: the warps and blocks stalled only on faults are known at any time") {
  // Warp 0 faults, and warp 1 waits for it at the barrier. The second block loads a mapped page, then faults.
  auto const w = hand_workload({shape(128)}, [](std::uint64_t block, std::uint32_t warp) {
    if (block == 1) return Program{load(0x5000), compute(1, true), load(0x2100), compute(1, true)};
    return warp == 0 ? Program{load(0x2000), load(0x3000), compute(1, true), barrier()} : Program{barrier()};
  });
  FaultBench b(unit_rates(), w, {{2, 1}, {3, 1}}, {{Time{500ns}, replay(3)}, {Time{900ns}, replay(2)}},
               {{Time{100ns}, {0, 0, 0}}, {Time{300ns}, {1, 0, 0}}});
  b.run(Time{123ns});
  CHECK(b.waiting().warps == 0);
  b.run(Time{200ns});
  CHECK(b.waiting().warps == 1);
  CHECK(b.waiting().blocks == 1);
  b.run(Time{350ns});
  CHECK(b.waiting().blocks == 1);  // the second block's load is outstanding
  b.run(Time{480ns});
  CHECK(b.waiting().warps == 3);
  CHECK(b.waiting().blocks == 2);
  b.run(Time{550ns});
  CHECK(b.waiting().warps == 2);  // page 3 is mapped, its load is outstanding
  CHECK(b.waiting().blocks == 1);
  b.run(Time{800ns});
  CHECK(b.waiting().warps == 3);
  b.run();
  CHECK(b.waiting().warps == 0);
  CHECK(b.done->count() == 2);
}

TEST_CASE("SM: a scalar load to an unmapped page counts as faulted until it is requested again") {
  auto const w = same_for_all({scalar_load(0x2000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  // Answers to context 0; the data arrives at 113.
  b.feed(b.sm.scalar_response,
         {{Time{106ns}, {0, ReadOnlyStatus::faulted}}, {Time{110ns}, {0, ReadOnlyStatus::replayed}}});
  b.run(Time{105ns});
  CHECK(b.sm.state().warps.waiting_for_faults().warps == 0);
  b.run(Time{109ns});
  CHECK(b.sm.state().warps.waiting_for_faults().warps == 1);
  b.run(Time{111ns});
  CHECK(b.sm.state().warps.waiting_for_faults().warps == 0);
  CHECK(b.run() == RunState::drained);
  CHECK(b.done->count() == 1);
  CHECK(b.sm.state().scalar_credits == 32);
}

TEST_CASE("SM: for any fault capacity and number of faults, every access is made exactly once") {
  auto const w = hand_workload({shape(512)}, [](std::uint64_t block, std::uint32_t warp) {
    Program p;
    for (std::uint32_t i = 0; i < 12; ++i) {
      auto const x = ((block * 8 + warp) * 12 + i) * 0x9E3779B97F4A7C15ULL >> 32;
      auto const base = ((x & 15) << 12) + (x >> 8 & 0xFFC);
      if (i == 6) p.push_back(barrier());
      p.push_back(x >> 20 & 1 ? store(base, 40, 32) : load(base, 72, 16, (x >> 21 & 1) != 0));
    }
    return p;
  });
  struct Room {
    std::uint32_t pages;
    std::uint32_t accesses;
    std::uint32_t mshrs;
  };
  for (auto const& room : {Room{1, 1, 1}, Room{1, 1000, 2}, Room{3, 5, 2}, Room{15, 1000, 64},
                           Room{16, 1000, 64}, Room{17, 1000, 3}, Room{100, 2, 64}}) {
    CAPTURE(room.pages);
    CAPTURE(room.accesses);
    auto spec = unit_rates();
    spec.l1_tlb.entries = 4;
    spec.l1_tlb.ways = 4;
    spec.l1_tlb.mshrs = room.mshrs;
    spec.l1_tlb.waiters = 128;
    spec.l1_tlb.faulted_pages = room.pages;
    spec.l1_tlb.faulted_accesses = room.accesses;
    spec.l1_cache.slice_credits = 2;
    std::map<std::uint64_t, int> unmapped;
    for (std::uint64_t page = 0; page < 17; ++page) unmapped[page] = static_cast<int>(page % 4);
    Replays replays;  // for every page, repeatedly
    for (std::int64_t i = 0; i < 1000; ++i)
      replays.push_back({Time{(300 + 97 * i) * 1ns}, replay(static_cast<std::uint64_t>(i * 5 % 17))});
    std::vector<Record<StartBlock>> script;
    for (std::uint64_t block = 0; block < 5; ++block) script.push_back({Time{100ns}, {block, 0, 0}});
    FaultBench b(spec, w, unmapped, replays, script, scattered(400ns, 9), scattered(900ns, 10));
    CHECK(b.run() == RunState::drained);
    CHECK(b.done->count() == 5);
    CHECK(b.sm.waiting_for().empty());
    auto const& s = b.sm.state();
    CHECK(s.stats[0].l1_hits + s.stats[0].l1_misses + s.stats[0].stores == s.stats[0].transactions);
    CHECK(s.stats[0].l1_tlb_hits + s.stats[0].l1_tlb_misses == s.stats[0].transactions);
    CHECK(s.stats[0].faulted == s.stats[0].replayed);
    CHECK(s.stats[0].faulted >= 12);
    CHECK(s.load_store.translation.faulted().pages() == 0);
    CHECK(s.load_store.translation.again().empty());
    CHECK(s.load_store.translation.mshrs().in_use() == 0);
    CHECK(s.load_store.slice_credits[0] == 2);
    CHECK(b.waiting().warps == 0);
  }
}

}  // namespace sm_fault_test
