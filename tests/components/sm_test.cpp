// SPDX-License-Identifier: Apache-2.0
// Issue of an SM: loads, stores, barriers and blocks.
#include <doctest/doctest.h>

#include "sm_bench.hpp"

namespace sm_test {

using namespace farfault;
using namespace farfault::sm_bench;

TEST_CASE("SM: a block of computation takes its cycles, from the edge after its start") {
  auto const w = same_for_all({compute(10), compute(5)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {9, 0, 0}}});
  CHECK(b.done->nanoseconds() == Times{101 + 10 + 5 + 1});
  CHECK(b.done->records()[0].message.block == 9);
  CHECK(b.done->records()[0].message.sm == 3);
  CHECK(b.sm.state().stats[0].instructions() == 15);
  CHECK(b.sm.state().stats[0].blocks == 1);
  CHECK(b.sm.waiting_for().empty());
}

TEST_CASE("SM: a load that misses everywhere takes the sum of its stages") {
  auto const w = same_for_all({load(0x2000), compute(10, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  // Issue at 101, L1 TLB 1, link 1, translation 20, link 1.
  CHECK(b.tlb->nanoseconds() == Times{103});
  CHECK(b.tlb->records()[0].message.page == 2);
  CHECK(b.tlb->records()[0].message.client == 3);
  // Translated at 124, L1 cache 1, link 1.
  CHECK(b.cache->nanoseconds() == Times{126});
  CHECK(b.cache->records()[0].message.address == physical(0, 9 << 12));
  CHECK(b.cache->records()[0].message.from == 3);
  CHECK(b.cache->records()[0].message.bytes == 64);
  // Memory 50, back at 177. The warp issues at the next edge and computes for 10.
  CHECK(b.done->nanoseconds() == Times{178 + 10 + 1});
}

TEST_CASE(
    "SM: a translation request has its warp's slot and, if enabled, the number of warps stalled on the last "
    "one") {
  for (bool const reports : {false, true}) {
    auto const w = hand_workload({shape(128)}, [](std::uint64_t, std::uint32_t warp) {
      Program p{load(0x2000), compute(1, true)};
      if (warp == 1) p.insert(p.end(), {load(0x5000), compute(1, true), load(0x6000), compute(1, true)});
      return p;
    });
    auto spec = unit_rates();
    spec.reports_stalled_warps = reports;
    SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
    REQUIRE(b.tlb->records().size() == 3);
    CHECK(b.tlb->records()[0].message.warp == 0);
    CHECK(b.tlb->records()[1].message.warp == 1);
    CHECK(b.tlb->records()[2].message.warp == 1);
    CHECK(b.tlb->records()[0].message.stalled == 0);
    CHECK(b.tlb->records()[1].message.stalled == (reports ? 2 : 0));
    CHECK(b.tlb->records()[2].message.stalled == (reports ? 1 : 0));
  }
}

TEST_CASE("SM: with hits in the L1 TLB and the L1 cache, a load takes the two look-ups") {
  auto const w = same_for_all(
      {load(0x2000), compute(1, true), load(0x2040), compute(1, true), load(0x2040), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  // First: waits until 178, ends at 179. Second: TLB hit, sent at 181, back at 181 + 52 = 233, issues at 234.
  CHECK(b.cache->nanoseconds() == Times{126, 182});
  // Third: issued at 235, usable at 237.
  CHECK(b.done->nanoseconds() == Times{237 + 1 + 1});
  auto const& s = b.sm.state().stats[0];
  CHECK(s.l1_tlb_misses == 1);
  CHECK(s.l1_tlb_hits == 2);
  CHECK(s.l1_misses == 2);
  CHECK(s.l1_hits == 1);
}

TEST_CASE("SM: loads do not block the warp, an instruction that waits for them does") {
  auto const w = same_for_all({load(0x2000), compute(10), load(0x3000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.tlb->nanoseconds() == Times{103, 114});  // the second issues at 112, with the first outstanding
  CHECK(b.done->nanoseconds() == Times{189 + 1 + 1});
}

TEST_CASE("SM: loads of one page wait for one translation, loads of one line for one fill") {
  auto const w = same_for_all({load(0x2000), load(0x2010), load(0x2040), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.tlb->records().size() == 1);
  CHECK(b.cache->nanoseconds() == Times{126, 128});  // one per cycle: the merged one takes a cycle, too
  CHECK(b.sm.state().stats[0].l1_tlb_misses == 3);
  CHECK(b.sm.state().stats[0].l1_misses == 3);
  CHECK(b.done->nanoseconds() == Times{180 + 1 + 1});
}

TEST_CASE("SM: lanes are coalesced to lines, and the load/store unit accepts one per cycle") {
  auto const w = same_for_all({load(0x2000), compute(1, true), load(0x2000, 4, 64), compute(1, true),
                               load(0x2800, 64, 16), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  auto const& s = b.sm.state().stats[0];
  CHECK(s.memory_instructions == 3);
  CHECK(s.transactions == 1 + 4 + 16);
  CHECK(s.l1_hits == 1);
  auto const times = b.cache->nanoseconds();
  REQUIRE(times.size() == 1 + 3 + 16);
  for (std::size_t i = 5; i < times.size(); ++i) CHECK(times[i] == times[i - 1] + 1);
  CHECK(s.instructions() == 6);
}

TEST_CASE("SM: a second memory instruction waits for the load/store unit") {
  auto const program = Program{load(0x2000, 64, 8), compute(1)};
  auto const w = same_for_all(program, 128);
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  // Two warps, eight transactions each, in one page: 16 L1 TLB misses wait for one translation.
  CHECK(b.sm.state().stats[0].transactions == 16);
  CHECK(b.tlb->records().size() == 1);
  CHECK(b.cache->records().size() == 8);
  CHECK(b.sm.state().stats[0].l1_misses == 16);
}

TEST_CASE("SM: a warp's end waits for the acknowledgements of its stores") {
  auto const w = same_for_all({store(0x2000)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.cache->nanoseconds() == Times{126});
  CHECK(b.cache->records()[0].message.access == Access::write);
  CHECK(b.cache->records()[0].message.bytes == 4);
  CHECK(b.done->nanoseconds() == Times{178 + 1});
}

TEST_CASE("SM: a warp's end waits for its loads") {
  auto const w = same_for_all({load(0x2000)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.done->nanoseconds() == Times{178 + 1});
}

TEST_CASE("SM: stores do not allocate in the L1, and do not wait for each other") {
  auto const w = same_for_all(
      {load(0x2000), compute(1, true), store(0x2040), store(0x2080), load(0x2040), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.sm.state().stats[0].l1_hits == 0);
  CHECK(b.sm.state().stats[0].stores == 2);
  CHECK(b.cache->nanoseconds() == Times{126, 182, 183, 184});
}

TEST_CASE("SM: a barrier holds every warp of the block until the last one arrives") {
  auto const w = hand_workload({shape(192)}, [](std::uint64_t, std::uint32_t warp) {
    return Program{compute(warp == 0 ? 50 : 5), barrier(), compute(7)};
  });
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  // Warp 0 reaches it at 151; all resume at 152.
  CHECK(b.done->nanoseconds() == Times{152 + 7 + 1});
  CHECK(b.sm.state().stats[0].vector_instructions == 57 + 12 + 12);
  CHECK(b.sm.state().stats[0].scalar_instructions == 3);  // barriers
}

TEST_CASE("SM: a barrier does not wait for completed warps, nor for other blocks") {
  auto const w = hand_workload({shape(128)}, [](std::uint64_t block, std::uint32_t warp) {
    if (block == 1) return Program{compute(500)};
    return warp == 0 ? Program{compute(80)} : Program{compute(5), barrier(), compute(7)};
  });
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{100ns}, {1, 0, 0}}});
  // Warp 0 ends at 181; warp 1 resumes at the next edge.
  CHECK(b.done->nanoseconds() == Times{182 + 7 + 1, 601 + 1});
}

TEST_CASE("SM: instructions are issued in the scheduler's order") {
  // Each warp loads two separate pages. The pages are requested in order of issue.
  auto const w = hand_workload({shape(192)}, [](std::uint64_t, std::uint32_t warp) {
    return Program{load(0x10000 * (warp + 1)), load(0x10000 * (warp + 1) + 0x1000)};
  });
  auto const pages = [&](std::string_view order) {
    auto spec = unit_rates();
    spec.sm.warp_order.choose(order);
    SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
    std::vector<std::uint64_t> all;
    for (auto const& r : b.tlb->records()) all.push_back(r.message.page);
    return all;
  };
  CHECK(pages("greedy_then_oldest") == std::vector<std::uint64_t>{16, 17, 32, 33, 48, 49});
  auto const fair = pages("round_robin");
  REQUIRE(fair.size() == 6);
  for (std::size_t i = 0; i < 3; ++i) CHECK(fair[i] % 16 == 0);  // all first loads before any second one
}

TEST_CASE("SM: with one MSHR for pages, translations are served one after the other") {
  auto const w = same_for_all({load(0x2000, 4096, 3), compute(1, true)});
  auto spec = unit_rates();
  spec.l1_tlb.mshrs = 1;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  // Back at 124: the stalled transaction takes that cycle, and the next page is looked up at 125.
  CHECK(b.tlb->nanoseconds() == Times{103, 127, 151});
  CHECK(b.done->count() == 1);
}

TEST_CASE(
    "SM: under one miss hits are served and misses on its page merge, and another page stalls them; a "
    "blocking TLB stalls all") {
  auto const w = same_for_all({load(0x2000), compute(1, true), load(0x3000), load(0x2040), load(0x3040),
                               load(0x20c0), load(0x4000), load(0x2080), compute(1, true)});
  auto const first_line = [&](std::string_view misses, std::uint32_t mshrs, std::uint64_t offset) {
    auto spec = unit_rates();
    spec.l1_tlb.misses.choose(misses);
    spec.l1_tlb.mshrs = mshrs;
    SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
    std::vector<std::uint64_t> pages;
    for (auto const& r : b.tlb->records()) pages.push_back(r.message.page);
    CHECK(pages == std::vector<std::uint64_t>{2, 3, 4});
    CHECK(b.done->count() == 1);
    auto const responded = b.tlb->nanoseconds()[1] + 20;
    for (std::size_t i = 0; i < b.cache->records().size(); ++i)
      if (b.cache->records()[i].message.address == physical(0, (9 << 12) + offset))
        return b.cache->nanoseconds()[i] < responded;
    return false;
  };
  auto const one = [&](std::string_view misses, std::uint32_t mshrs) {
    CHECK(first_line(misses, mshrs, 0x40));   // after the miss of page 3
    CHECK(first_line(misses, mshrs, 0xc0));   // after a second miss of page 3, merged with the first one
    CHECK(!first_line(misses, mshrs, 0x80));  // after page 4, which waits for the MSHR
  };
  one("non_blocking", 1);
  one("hit_under_miss", 64);
  CHECK(first_line("non_blocking", 2, 0x80));
  for (std::uint64_t const offset : {0x40, 0xc0, 0x80}) CHECK(!first_line("blocking", 64, offset));
}

TEST_CASE("SM: a blocking TLB serves the accesses behind a miss one per cycle after its answer") {
  auto const w = same_for_all({load(0x2000), compute(1, true), load(0x3000), load(0x2040), load(0x3040),
                               load(0x2080), compute(1, true)});
  auto spec = unit_rates();
  spec.l1_tlb.misses.choose("blocking");
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  auto const times = b.cache->nanoseconds();
  REQUIRE(times.size() == 5);
  REQUIRE(b.tlb->nanoseconds().size() == 2);
  // A translation, 20 ns, arrives over a link of 1 ns. Its line is looked up at once, in a cycle, and sent
  // over a link; each of the others takes a look-up in the TLB first, in the next cycle.
  auto const first = b.tlb->nanoseconds()[1] + 20 + 1 + 1 + 1;
  CHECK(times[1] == first);
  for (std::size_t i = 2; i < 5; ++i) CHECK(times[i] == first + 1 + static_cast<std::int64_t>(i) - 1);
  CHECK(b.sm.state().times.load_store.in(LoadStoreStall::l1_tlb_mshr) != 0);
}

TEST_CASE("SM: with one credit of the L2 slice, a request waits for the previous response") {
  auto const w = same_for_all({load(0x2000, 64, 3), compute(1, true)});
  auto spec = unit_rates();
  spec.l1_cache.slice_credits = 1;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.cache->nanoseconds() == Times{126, 177 + 1 + 1, 230 + 1 + 1});
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: a page of another GPU is accessed over the RDMA engine, and cached in the L1 like others") {
  auto const w = same_for_all({load(kRemote), compute(1, true), load(kRemote), store(kRemote + 64)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.cache->records().empty());
  REQUIRE(b.remote->records().size() == 2);
  CHECK(b.remote->records()[0].message.address == physical(1, 0x1007 << 12));
  CHECK(b.remote->records()[1].message.access == Access::write);
  CHECK(b.sm.state().stats[0].remote_accesses == 2);
  CHECK(b.sm.state().stats[0].l1_hits == 1);
  CHECK(b.sm.state().load_store.remote_credits == 128);
}

TEST_CASE("SM: the L1 cache is emptied when another kernel starts, not between blocks of one") {
  auto const w = same_for_all({load(0x2000)}, 64, 2);
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{500ns}, {1, 0, 0}}, {Time{1000ns}, {2, 1, 1}}});
  CHECK(b.sm.state().stats[0].l1_hits == 1);
  CHECK(b.cache->records().size() == 2);
  CHECK(b.tlb->records().size() == 1);  // translations remain
}

TEST_CASE("SM: the L1 cache is emptied when a kernel is launched again, not between blocks of one launch") {
  auto const w = same_for_all({load(0x2000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{500ns}, {1, 0, 0}}, {Time{1000ns}, {0, 0, 1}}});
  CHECK(b.sm.state().stats[0].l1_hits == 1);
  CHECK(b.sm.state().stats[0].l1_misses == 2);
}

TEST_CASE("SM: blocks run concurrently and slots are reused") {
  auto const w = same_for_all({compute(100)}, 256);
  auto spec = unit_rates();
  spec.sm.max_warps = 8;
  spec.sm.max_blocks = 2;
  spec.sm.simds = 16;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}, {Time{110ns}, {1, 0, 0}}, {Time{203ns}, {2, 0, 0}}});
  CHECK(b.done->nanoseconds() == Times{202, 212, 305});
}

}  // namespace sm_test
