// SPDX-License-Identifier: Apache-2.0
// An SM that swaps thread blocks: exact times at which contexts are saved and restored.
#include <doctest/doctest.h>

#include "choices.hpp"
#include "sm_bench.hpp"

namespace sm_blocks_test {

using namespace farfault;
using namespace farfault::sm_bench;

namespace {

// One warp of 64 lanes issues at a time. A block's context has 80 bytes and 64 registers: 336 bytes, 6 lines.
SmSpec one_at_a_time(std::string const& policy, std::uint32_t registers = 64) {
  auto spec = unit_rates();
  spec.sm.max_warps = 1;
  spec.sm.registers = registers;
  spec.sm.thread_blocks.choose(policy);
  spec.contexts = physical(0, 0x4000'0000);
  return spec;
}

SmSpec saved_as_needed(std::uint32_t registers) {
  auto spec = one_at_a_time("thread_oversubscription", registers);
  test::set_parameter(spec.sm.thread_blocks, "thread_oversubscription.saves", "as_needed");
  return spec;
}

struct BlocksBench : SmBench {
  using Control = std::vector<Record<BlockControl>>;
  BlocksBench(SmSpec const& spec, Workload const& workload, std::map<std::uint64_t, int> unmapped,
              std::vector<Record<TranslateResponse>> replays, std::vector<Record<StartBlock>> script,
              Control const& controls = {})
      : SmBench(spec, workload, std::move(script), always(50ns), always(20ns)) {
    faults = std::move(unmapped);
    feed(sm.translation, std::move(replays));
    if (spec.sm.thread_blocks.name() != "virtual_thread") feed(sm.control, controls);
  }
  // Times at which context lines that are written or read reach the cache.
  Times contexts(Access access) const {
    Times times;
    for (auto const& r : cache->records())
      if (r.message.requester.kind == RequestKind::context && r.message.access == access)
        times.push_back(picoseconds(r.at) / 1000);
    return times;
  }
  Times accesses() const {
    Times times;
    for (auto const& r : cache->records())
      if (r.message.requester.kind == RequestKind::data) times.push_back(picoseconds(r.at) / 1000);
    return times;
  }
};

// Each block loads from its own page: block n from page 2 + n.
Workload const& page_by_block() {
  static auto const workload = hand_workload({shape()}, [](std::uint64_t block, std::uint32_t) {
    return Program{load(0x2000 + (block << 12)), compute(1, true)};
  });
  return workload;
}
std::vector<Record<StartBlock>> two_blocks() {
  return {{Time{100ns}, {0, 0, 0}}, {Time{101ns}, {1, 0, 0}}};
}

}  // namespace

TEST_CASE(
    "SM: a block stalled only on faults is saved line by line, the next block runs, and it is restored") {
  BlocksBench b(one_at_a_time("thread_oversubscription"), page_by_block(), {{2, 1}},
                {{Time{500ns}, replay(2)}}, two_blocks());
  CHECK(b.run() == RunState::drained);
  // The fault is known at 124; one line is sent per cycle. The last one is acknowledged at 181.
  CHECK(b.contexts(Access::write) == Times{125, 126, 127, 128, 129, 130});
  // Block 1 issues at 182, and ends before block 0 resumes.
  CHECK(b.tlb->nanoseconds() == Times{103, 184, 502});
  CHECK(b.contexts(Access::read) == Times{501, 502, 503, 504, 505, 506});
  CHECK(b.accesses() == Times{207, 525});
  auto const& s = b.sm.state();
  CHECK(s.swapped.counts.blocks == 1);
  CHECK(s.swapped.counts.saved == 1);
  CHECK(s.swapped.counts.context_bytes == 2 * 336);
  CHECK(s.swapped.held.waiting() == 0);
  CHECK(b.done->count() == 2);
  CHECK(b.done->records()[0].message.block == 1);
}

TEST_CASE("SM: contexts are in an area of the SM, and their lines are marked as contexts") {
  BlocksBench b(one_at_a_time("thread_oversubscription"), page_by_block(), {{2, 1}},
                {{Time{500ns}, replay(2)}}, two_blocks());
  b.run();
  std::vector<PhysAddr> lines;
  for (auto const& r : b.cache->records())
    if (r.message.requester.kind == RequestKind::context) {
      CHECK(r.message.bytes == 64);
      lines.push_back(r.message.address);
    }
  auto const first = physical(0, 0x4000'0000);
  REQUIRE(lines.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) CHECK(lines[i] == first + 64 * (i % 6));
}

TEST_CASE("SM: with swapping only on faults, a block that waits for memory keeps its slot") {
  BlocksBench b(one_at_a_time("thread_oversubscription"), page_by_block(), {}, {}, two_blocks());
  b.run();
  CHECK(b.sm.state().swapped.counts.blocks == 0);
  // Translated at 124, data at 177, one instruction; block 1 issues at 179.
  CHECK(b.accesses()[0] == 126);
  CHECK(b.done->count() == 2);
  CHECK(b.done->records()[0].message.block == 0);
}

TEST_CASE("SM: contexts saved in shared memory take the time of their bytes, and no request") {
  auto spec = one_at_a_time("thread_oversubscription");
  test::set_parameter(spec.sm.thread_blocks, "thread_oversubscription.saved_in", "shared_memory");
  BlocksBench b(spec, page_by_block(), {{2, 1}}, {{Time{500ns}, replay(2)}}, two_blocks());
  b.run();
  CHECK(b.contexts(Access::write).empty());
  // 336 bytes at 128 bytes per cycle: three cycles, from 124 to 127. Block 1 issues at 128.
  CHECK(b.tlb->nanoseconds() == Times{103, 130, 502});
  CHECK(b.sm.state().swapped.counts.saved == 1);
}

TEST_CASE("SM: a block is saved whenever it is swapped out, even with registers for both blocks") {
  BlocksBench b(one_at_a_time("thread_oversubscription", 128), page_by_block(), {{2, 1}},
                {{Time{500ns}, replay(2)}}, two_blocks());
  CHECK(b.run() == RunState::drained);
  CHECK(b.contexts(Access::write) == Times{125, 126, 127, 128, 129, 130});
  CHECK(b.tlb->nanoseconds() == Times{103, 184, 502});
  CHECK(b.contexts(Access::read) == Times{501, 502, 503, 504, 505, 506});
  CHECK(b.sm.state().swapped.counts.saved == 1);
  CHECK(b.sm.state().swapped.counts.context_bytes == 2 * 336);
}

TEST_CASE("SM: saved as needed, only the state of warps moves with registers for both blocks") {
  BlocksBench b(saved_as_needed(128), page_by_block(), {{2, 1}}, {{Time{500ns}, replay(2)}}, two_blocks());
  b.run();
  CHECK(b.contexts(Access::write).empty());
  // 80 bytes: one cycle.
  CHECK(b.tlb->nanoseconds() == Times{103, 128, 502});
  CHECK(b.sm.state().swapped.counts.blocks == 1);
  CHECK(b.sm.state().swapped.counts.saved == 0);
  CHECK(b.sm.state().swapped.counts.context_bytes == 2 * 80);
}

TEST_CASE("SM: a virtual thread is swapped out as soon as all of its warps wait for accesses") {
  BlocksBench b(one_at_a_time("virtual_thread", 128), page_by_block(), {}, {}, two_blocks());
  b.run();
  // Block 0 issues at 101 and stalls. Its slot is free one cycle later; block 1 issues at 103.
  CHECK(b.tlb->nanoseconds() == Times{103, 105});
  CHECK(b.sm.state().swapped.counts.blocks >= 1);
  CHECK(b.done->count() == 2);
}

TEST_CASE("SM: with a limit of zero swapped-out blocks, no block is swapped out") {
  BlocksBench b(one_at_a_time("thread_oversubscription"), page_by_block(), {{2, 1}},
                {{Time{500ns}, replay(2)}}, two_blocks(), {{Time{110ns}, {0, 0}}});
  b.run();
  CHECK(b.sm.state().swapped.counts.blocks == 0);
  CHECK(b.done->records()[0].message.block == 0);
  CHECK(b.done->count() == 2);
  BlocksBench later(one_at_a_time("thread_oversubscription"), page_by_block(), {{2, 1}},
                    {{Time{500ns}, replay(2)}}, two_blocks(), {{Time{110ns}, {0, 0}}, {Time{200ns}, {1, 0}}});
  later.run();
  CHECK(later.contexts(Access::write)[0] == 201);
}

TEST_CASE("SM: a swapped-out block that can continue replaces one that has stalled meanwhile") {
  // Both fault, and page 2 arrives first. Block 1 must be saved for block 0.
  BlocksBench b(one_at_a_time("thread_oversubscription"), page_by_block(), {{2, 1}, {3, 1}},
                {{Time{500ns}, replay(2)}, {Time{900ns}, replay(3)}}, two_blocks());
  CHECK(b.run() == RunState::drained);
  CHECK(b.sm.state().swapped.counts.blocks == 2);
  CHECK(b.contexts(Access::write).size() == 12);
  CHECK(b.contexts(Access::write)[6] == 501);
  // Saved at 557; restoring block 0 starts at 558.
  CHECK(b.contexts(Access::read)[0] == 558);
  CHECK(b.done->records()[0].message.block == 0);
  CHECK(b.done->count() == 2);
}

TEST_CASE(
    "SM: a block with warps at a barrier is swapped out with the others, and the barrier opens on its "
    "return") {
  auto const w = hand_workload({shape(128)}, [](std::uint64_t block, std::uint32_t warp) {
    Program p;
    if (warp == 0) p = {load(0x2000 + (block << 12)), compute(1, true)};
    p.push_back(barrier());
    p.push_back(compute(1));
    return p;
  });
  auto spec = saved_as_needed(128);
  spec.sm.max_warps = 2;
  BlocksBench b(spec, w, {{2, 1}}, {{Time{800ns}, replay(2)}}, two_blocks());
  CHECK(b.run() == RunState::drained);
  CHECK(b.sm.state().swapped.counts.blocks == 1);
  CHECK(b.contexts(Access::write).size() == 11);  // 672 bytes
  CHECK(b.done->count() == 2);
  CHECK(b.done->records()[0].message.block == 1);
}

TEST_CASE("SM: a disabled SM issues nothing until it is enabled again") {
  auto spec = unit_rates();
  spec.sm.thread_blocks.choose("throttling");
  BlocksBench b(spec, page_by_block(), {}, {}, {{Time{100ns}, {0, 0, 0}}},
                {{Time{50ns}, {0, 1}}, {Time{400ns}, {0, 0}}});
  CHECK(b.run() == RunState::drained);
  CHECK(b.tlb->nanoseconds() == Times{403});
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: with few credits, accesses precede the lines of a context") {
  auto spec = one_at_a_time("thread_oversubscription");
  spec.l1_cache.slice_credits = 2;
  BlocksBench b(spec, page_by_block(), {{2, 1}}, {{Time{500ns}, replay(2)}}, two_blocks());
  CHECK(b.run() == RunState::drained);
  // Two lines at a time, each pair when its credits return 52 ns later.
  CHECK(b.contexts(Access::write) == Times{125, 126, 177, 178, 229, 230});
  CHECK(b.done->count() == 2);
}

}  // namespace sm_blocks_test
