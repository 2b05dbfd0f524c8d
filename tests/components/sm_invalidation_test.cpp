// SPDX-License-Identifier: Apache-2.0
// An SM whose pages are unmapped while it accesses them.
#include <doctest/doctest.h>

#include "sm_bench.hpp"

namespace sm_invalidation_test {

using namespace farfault;
using namespace farfault::sm_bench;

TEST_CASE(
    "SM: 64 warps with scarce resources and page evictions all complete, and every credit is returned") {
  auto const w = hand_workload({shape(512)}, [](std::uint64_t block, std::uint32_t warp) {
    Program p;
    for (std::uint32_t i = 0; i < 12; ++i) {
      auto const x = ((block * 8 + warp) * 12 + i) * 0x9E3779B97F4A7C15ULL >> 32;
      auto const page = (x & 15) + ((x >> 4 & 1) != 0 ? 0x1000 : 0);
      auto const base = (page << 12) + (x >> 8 & 0xFFC);
      if (i == 6) p.push_back(barrier());
      p.push_back(x >> 20 & 1 ? store(base, 40, 32) : load(base, 72, 16, (x >> 21 & 1) != 0));
    }
    return p;
  });
  auto spec = unit_rates();
  spec.sm.max_warps = 64;
  spec.sm.max_threads = 4096;
  spec.l1_tlb.entries = 4;
  spec.l1_tlb.ways = 4;
  spec.l1_tlb.mshrs = 2;
  spec.l1_tlb.waiters = 128;
  spec.l1_cache.size = ByteSize{1024};
  spec.l1_cache.mshrs = 3;
  spec.l1_cache.waiters = 128;
  spec.l1_cache.slice_credits = 2;
  spec.l1_cache.remote_credits = 2;
  std::vector<Record<StartBlock>> script;
  for (std::uint64_t block = 0; block < 8; ++block) script.push_back({Time{100ns}, {block, 0, 0}});
  std::vector<Record<Invalidate>> invalidations;
  for (std::uint32_t i = 0; i < 60; ++i)
    invalidations.push_back(
        {Time{(200 + 150 * i) * 1ns}, invalidate((i * 7 & 15) + (i % 2 != 0 ? 0x1000 : 0), i)});
  SmBench b(spec, w, script, scattered(400ns, 9), scattered(900ns, 10), invalidations);
  CHECK(b.run() == RunState::drained);
  CHECK(b.done->count() == 8);
  CHECK(b.sm.waiting_for().empty());
  auto const& s = b.sm.state();
  CHECK(b.invalidated->count() == 60);
  CHECK(s.load_store.l1_tlb_invalidated > 2);
  CHECK(!s.load_store.translation.is_invalidating());
  CHECK(s.stats[0].instructions() == 64 * 13);
  CHECK(s.stats[0].memory_instructions == 64 * 12);
  CHECK(s.load_store.slice_credits[0] == 2);
  CHECK(s.load_store.remote_credits == 2);
  CHECK(s.load_store.translation.mshrs().in_use() == 0);
  CHECK(s.load_store.l1_mshrs.in_use() == 0);
  CHECK(s.stats[0].l1_hits + s.stats[0].l1_misses + s.stats[0].stores == s.stats[0].transactions);
  CHECK(s.stats[0].l1_tlb_hits + s.stats[0].l1_tlb_misses == s.stats[0].transactions);
}

TEST_CASE("SM: an invalidation of all drops every translation, but only the lines of its page") {
  auto const w = same_for_all(
      {load(0x2000), load(0x3000), compute(200, true), load(0x2000), load(0x3000), compute(1, true)});
  auto all = invalidate(2, 5);
  all.all = 1;
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{300ns}, all}});
  REQUIRE(b.tlb->records().size() == 4);
  CHECK(b.tlb->records()[2].message.page == 2);
  CHECK(b.tlb->records()[3].message.page == 3);
  CHECK(b.cache->records().size() == 3);
  CHECK(b.sm.state().load_store.l1_tlb_invalidated == 2);
  CHECK(b.invalidated->count() == 1);
}

TEST_CASE("SM: an invalidation drops only the translation and the lines of its page") {
  auto const w = same_for_all(
      {load(0x2000), load(0x3000), compute(200, true), load(0x2000), load(0x3000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{300ns}, invalidate(2, 5)}});
  CHECK(b.invalidated->nanoseconds() == Times{301});  // nothing is outstanding
  CHECK(b.invalidated->records()[0].message.move == 5);
  REQUIRE(b.tlb->records().size() == 3);
  CHECK(b.tlb->records()[2].message.page == 2);
  REQUIRE(b.cache->records().size() == 3);
  CHECK(b.cache->records()[2].message.address == physical(0, 9 << 12));
  CHECK(b.sm.state().stats[0].l1_hits == 1);
  CHECK(b.sm.state().load_store.l1_tlb_invalidated == 1);
}

TEST_CASE("SM: an invalidation is acknowledged when earlier accesses, loads and stores, have completed") {
  // Issued at 101 and 103, translated, at the memory at 126 and 127; back 51 ns later.
  auto const w = same_for_all({load(0x2000), store(0x2100), compute(200, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{140ns}, invalidate(2)}});
  CHECK(b.cache->nanoseconds() == Times{126, 127});
  CHECK(b.invalidated->nanoseconds() == Times{127 + 50 + 1 + 1});
}

TEST_CASE("SM: a line that arrives after the invalidation of its page is not kept") {
  auto const w = same_for_all({load(0x2000), compute(200, true), load(0x2000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{140ns}, invalidate(2)}});
  CHECK(b.cache->records().size() == 2);
  CHECK(b.sm.state().stats[0].l1_hits == 0);
}

TEST_CASE("SM: accesses after an invalidation do not delay it") {
  // The first load returns at 178; the one after it is outstanding until 228 and longer.
  auto const w = same_for_all({load(0x2000), compute(40), load(0x3000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{140ns}, invalidate(2)}});
  REQUIRE(b.cache->records().size() == 2);
  CHECK(b.cache->nanoseconds()[0] == 126);
  CHECK(b.cache->nanoseconds()[1] > 140);
  CHECK(b.invalidated->nanoseconds() == Times{126 + 51 + 1});
}

TEST_CASE("SM: translated accesses that wait for a credit count as earlier") {
  auto const w = same_for_all({load(0x2000, 64, 3), compute(1, true)});
  auto spec = unit_rates();
  spec.l1_cache.slice_credits = 1;
  // Three lines, one at a time: 126, 178, 230.
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}}, {{Time{140ns}, invalidate(2)}});
  REQUIRE(b.cache->records().size() == 3);
  CHECK(b.cache->nanoseconds()[2] > 177);
  CHECK(b.invalidated->nanoseconds() == Times{b.cache->nanoseconds()[2] + 51 + 1});
}

TEST_CASE("SM: invalidations received during a drain are acknowledged after the next one") {
  auto const w = same_for_all({load(0x2000), compute(40), load(0x3000), compute(1, true)});
  SmBench b(
      unit_rates(), w, {{Time{100ns}, {0, 0, 0}}},
      {{Time{140ns}, invalidate(2, 1)}, {Time{170ns}, invalidate(3, 2)}, {Time{171ns}, invalidate(9, 3)}});
  auto const second = b.cache->nanoseconds()[1];
  REQUIRE(second > 140);
  CHECK(b.invalidated->nanoseconds() == Times{178, second + 52, second + 52});
  CHECK(b.invalidated->records()[1].message.move == 2);
  CHECK(b.invalidated->records()[2].message.move == 3);
}

}  // namespace sm_invalidation_test
