// SPDX-License-Identifier: Apache-2.0
// Computation of an SM: closed forms of its units, and scalar loads.
#include <doctest/doctest.h>

#include "sm_bench.hpp"

namespace sm_compute_test {

using namespace farfault;
using namespace farfault::sm_bench;

namespace {

// Time from the first instruction of a block of `warps` warps to its end.
std::int64_t time_of_block(SmSpec spec, std::uint32_t warps, Program const& program) {
  spec.sm.max_warps = 64;
  spec.sm.max_threads = 4096;
  auto const w = same_for_all(program, warps * spec.warp_width);
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  return b.done->nanoseconds().at(0) - 102;
}

}  // namespace

TEST_CASE("SM: n vector instructions of w warps take n x w / rate cycles") {
  SmSpec const gcn;  // 4 SIMDs of 16 lanes, warps of 64: one instruction per cycle
  for (std::uint32_t const w : {4U, 8U, 40U}) CHECK(time_of_block(gcn, w, {compute(100)}) == 100 * w);
  // The SIMD with one warp more than the others determines the time.
  for (std::uint32_t const w : {1U, 5U, 7U, 39U})
    CHECK(time_of_block(gcn, w, {compute(100)}) == 100 * ((w + 3) / 4) * 4);
  SmSpec volta;  // two cycles of 16 lanes for a warp of 32: two instructions per cycle
  volta.warp_width = 32;
  for (std::uint32_t const w : {8U, 16U, 64U}) CHECK(time_of_block(volta, w, {compute(100)}) == 100 * w / 2);
  SmSpec hopper;  // one cycle of 32 lanes: four instructions per cycle
  hopper.warp_width = 32;
  hopper.sm.simd_lanes = 32;
  for (std::uint32_t const w : {16U, 32U, 64U})
    CHECK(time_of_block(hopper, w, {compute(100)}) == 100 * w / 4);
}

TEST_CASE("SM: the rate does not depend on the grouping of instructions, nor on the order of warps") {
  SmSpec gcn;
  Program const groups{compute(10), compute(50), compute(1), compute(39)};
  CHECK(time_of_block(gcn, 40, groups) == 100 * 40);
  gcn.sm.warp_order.choose("round_robin");
  CHECK(time_of_block(gcn, 40, groups) == 100 * 40);
}

TEST_CASE("SM: a single warp takes the latency of each of its instructions, in any unit") {
  SmSpec spec;
  spec.sm.simd_lanes = 64;
  spec.sm.dependent_latency = 6;
  CHECK(time_of_block(spec, 1, {compute(100)}) == 600);
  CHECK(time_of_block(spec, 1, {compute(Work{.vector = 3, .special = 1, .scalar = 4, .shared = 2})}) ==
        std::max(10 * 6, 3 + 16));
  CHECK(time_of_block(spec, 1, {compute(0)}) == 1);
}

TEST_CASE("SM: shared memory, the scalar unit and special functions each limit a block by their rate") {
  SmSpec const gcn;
  // 64 lanes of 4 bytes at 128 bytes per cycle; then of 8 bytes.
  CHECK(time_of_block(gcn, 40, {compute(Work{.shared = 30})}) == 30 * 40 * 2);
  CHECK(time_of_block(gcn, 40, {compute(Work{.shared = 30, .shared_bytes_per_lane = 8})}) == 30 * 40 * 4);
  CHECK(time_of_block(gcn, 40, {compute(Work{.scalar = 30})}) == 30 * 40);
  CHECK(time_of_block(gcn, 39, {compute(Work{.scalar = 30})}) == 30 * 39);
  CHECK(time_of_block(gcn, 40, {compute(Work{.special = 30})}) == 30 * 10 * 16);
  auto volta = gcn;
  volta.warp_width = 32;
  volta.sm.scalar_rate = 4;
  CHECK(time_of_block(volta, 64, {compute(Work{.scalar = 30})}) == 30 * 64 / 4);
  // The units work in parallel: the slowest determines the time.
  CHECK(time_of_block(gcn, 40, {compute(Work{.vector = 30, .scalar = 29, .shared = 10})}) == 30 * 40);
  // A scheduler that issues one instruction per cycle is the exception: 16 warps each.
  volta.sm.issue = IssueRule::one;
  volta.sm.simd_lanes = 32;
  CHECK(time_of_block(volta, 64, {compute(Work{.vector = 30, .scalar = 29, .shared = 1})}) == 60 * 16);
}

TEST_CASE("SM: the latency of shared memory counts once per group") {
  SmSpec spec;
  spec.sm.shared_latency = 19;
  CHECK(time_of_block(spec, 1, {compute(Work{.shared = 30})}) == std::max(30 * 4, 30 * 2 + 19));
  CHECK(time_of_block(spec, 1, {compute(Work{.shared = 1})}) == 2 + 19);
}

TEST_CASE("SM: a memory instruction neither waits for the groups of its SIMD nor delays them") {
  SmSpec spec = unit_rates();
  spec.sm.simds = 1;
  // Warp 1 follows warp 0 on the SIMD. Its load issues while 100 instructions of warp 0 execute.
  auto const w = hand_workload({shape(128)}, [](std::uint64_t, std::uint32_t warp) {
    return warp == 0 ? Program{compute(100), compute(7)} : Program{load(0x2000)};
  });
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.tlb->nanoseconds() == Times{103});
  CHECK(b.done->nanoseconds() == Times{101 + 100 + 7 + 1});
  CHECK(b.sm.state().units.simd_cycles() == 107);
}

TEST_CASE("SM: statistics count every instruction of a group by kind") {
  SmSpec const gcn;
  auto const w = same_for_all(
      {compute(Work{.vector = 7, .special = 2, .scalar = 3, .shared = 4}), load(0x2000), barrier()}, 128);
  SmBench b(gcn, w, {{Time{100ns}, {0, 0, 0}}});
  auto const& s = b.sm.state().stats[0];
  CHECK(s.vector_instructions == 2 * 9);
  CHECK(s.scalar_instructions == 2 * 4);
  CHECK(s.shared_instructions == 2 * 4);
  CHECK(s.memory_instructions == 2);
  CHECK(s.instructions() == 2 * 18);
  CHECK(b.sm.state().units.shared_bytes() == 2 * 4 * 256);
  CHECK(b.sm.state().units.simd_cycles() == 2 * (7 * 4 + 2 * 16));
}

TEST_CASE("SM: loads, stores and scalar loads of an application use its address space, arguments do not") {
  auto const w =
      same_for_all({scalar_load(0x2000), scalar_load(kKernelArguments), load(0x3000), store(0x5000)});
  Applications const in_space({{"a", &w, 3, {}, {}, {}, 1}});
  auto spec = unit_rates();
  spec.applications = &in_space;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  REQUIRE(b.scalar->records().size() == 2);
  CHECK(b.scalar->records()[0].message.address == first_address_of(3) + 0x2000);
  CHECK(b.scalar->records()[0].message.requester == Requester{3, 0});
  CHECK(b.scalar->records()[1].message.address == kKernelArguments);
  REQUIRE(b.tlb->records().size() == 2);
  CHECK(b.tlb->records()[0].message.page == (first_address_of(3) + 0x3000) >> 12);
  CHECK(b.tlb->records()[1].message.page == (first_address_of(3) + 0x5000) >> 12);
}

TEST_CASE("SM: each launch has its own block of arguments, also of a repeated kernel") {
  auto const w = same_for_all({scalar_load(kKernelArguments), compute(1, true)}, 64, 2);
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{300ns}, {0, 1, 1}}, {Time{500ns}, {0, 0, 2}}});
  REQUIRE(b.scalar->records().size() == 3);
  for (std::uint32_t launch = 0; launch < 3; ++launch)
    CHECK(b.scalar->records()[launch].message.address == kKernelArguments + kArgumentBlock * launch);
}

TEST_CASE("SM: a scalar load uses the scalar cache, and an instruction that waits for loads waits for it") {
  auto const w = same_for_all({scalar_load(0x2000), compute(5), compute(10, true)});
  auto spec = unit_rates();
  spec.scalar_index = 2;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  REQUIRE(b.scalar->nanoseconds() == Times{102});
  auto const& m = b.scalar->records()[0].message;
  CHECK(m.address == 0x2000);
  CHECK(m.sm == 2);
  CHECK(m.launch == 0);
  // Back at 113, used at the next edge.
  CHECK(b.done->nanoseconds() == Times{114 + 10 + 1});
  auto const& s = b.sm.state().stats[0];
  CHECK(s.scalar_loads == 1);
  CHECK(s.scalar_transactions == 1);
  CHECK(s.transactions == 0);
  CHECK(s.instructions() == 16);
}

TEST_CASE("SM: arguments are separate for each kernel, 64 bytes each") {
  auto const w = same_for_all({scalar_load(kKernelArguments + 8)}, 64, 2);
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{500ns}, {0, 1, 1}}});
  REQUIRE(b.scalar->records().size() == 2);
  CHECK(b.scalar->records()[0].message.address == kKernelArguments + 8);
  CHECK(b.scalar->records()[1].message.address == kKernelArguments + 64 + 8);
}

TEST_CASE("SM: with one request at the scalar cache, the next scalar load waits for the response") {
  auto const w = same_for_all({scalar_load(0x2000), scalar_load(0x3000)}, 128);
  auto spec = unit_rates();
  spec.scalar_requests = 1;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.scalar->nanoseconds() == Times{102, 115, 128, 141});
  CHECK(b.sm.state().scalar_credits == 1);
  CHECK(b.done->count() == 1);
}

}  // namespace sm_compute_test
