// SPDX-License-Identifier: Apache-2.0
// The latency stack of an SM, exact to the tick, and the SM's activity. Times in nanoseconds are from
// sm_bench.hpp.
#include <doctest/doctest.h>

#include <numeric>

#include "sm_bench.hpp"

namespace latency_stack_test {

using namespace farfault;
using namespace farfault::sm_bench;

namespace {

constexpr std::uint64_t kNs = 1000;

SmStats const& stats(SmBench const& b) {
  return b.sm.state().stats[0];
}

std::uint64_t timed_loads(SmBench const& b) {
  auto const& bins = b.sm.state().times.load_latency.bins;
  return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
}

// The stages of all completed accesses add up to the total.
void check_sum(SmBench const& b) {
  CHECK(stats(b).access_time == stats(b).stages.sum());
  CHECK(b.sm.state().times.outstanding[0].number == 0);
}

}  // namespace

TEST_CASE("latency stack: a load that misses everywhere spends the expected time in each stage") {
  auto const w = same_for_all({load(0x2000), compute(10, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  AccessStages expected;
  expected.l1_tlb = 1 * kNs;     // 101 to 102
  expected.l2_tlb = 22 * kNs;    // to 124
  expected.l1_cache = 1 * kNs;   // to 125
  expected.l2_cache = 52 * kNs;  // to 177
  CHECK(stats(b).stages == expected);
  CHECK(stats(b).access_time == 76 * kNs);
  CHECK(b.sm.state().times.load_latency.bins[SmTimes::Latencies::bin_of(76 * kNs)] == 1);
  check_sum(b);
}

TEST_CASE("latency stack: stage times in responses are subtracted from the waiting stage") {
  auto const w = same_for_all({load(0x2000), compute(10, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.translation_stages = {2'000, 9'000, 3'000, 4'000};
  b.memory_stages = {5'000, 30'000, 0};
  b.run();
  auto const& s = stats(b).stages;
  CHECK(s.walk_queue == 2'000);
  CHECK(s.walk == 9'000);
  CHECK(s.links == 3'000);
  CHECK(s.iommu == 4'000);
  CHECK(s.l2_tlb == 22 * kNs - 18'000);
  CHECK(s.dram_queue == 5'000);
  CHECK(s.dram == 30'000);
  CHECK(s.l2_cache == 52 * kNs - 35'000);
  check_sum(b);
}

TEST_CASE("latency stack: the remaining wait counts for the later stage that exceeds the encodable maximum") {
  auto const w = same_for_all({load(0x2000), compute(10, true)});
  auto const longest = unpack_duration(pack_duration(stage_time(1s)));
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(20ms), always(10ms));
  b.translation_stages = {2'000, 9'000, 3'000, longest};
  b.memory_stages = {stage_time(1s), 30'000, 0};
  b.run();
  auto const& s = stats(b).stages;
  CHECK(s.l2_tlb == 0);
  CHECK(s.iommu == 10'000'002 * kNs - 14'000);
  CHECK(s.walk == 9'000);
  CHECK(s.l2_cache == 0);
  CHECK(s.dram_queue == 20'000'002 * kNs - 30'000);
  check_sum(b);
}

TEST_CASE("latency stack: a stage longer than a response can encode gets the rest of the wait") {
  auto const longest = unpack_duration(pack_duration(stage_time(1s)));
  auto const run = [](VirtAddr address, TranslationStages translation, MemoryStages memory) {
    auto const w = same_for_all({load(address), compute(10, true)});
    SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(20ms), always(10ms));
    b.translation_stages = translation;
    b.memory_stages = memory;
    b.run();
    check_sum(b);
    return stats(b).stages;
  };
  auto const in_queue = run(0x2000, {longest, 9'000, 3'000, 0}, {});
  CHECK(in_queue.walk_queue == 10'000'002 * kNs - 12'000);
  CHECK(in_queue.l2_tlb == 0);
  auto const in_walk = run(0x2000, {2'000, longest, 3'000, 0}, {});
  CHECK(in_walk.walk == 10'000'002 * kNs - 5'000);
  CHECK(in_walk.l2_tlb == 0);
  auto const at_device = run(kRemote, {}, {0, 0, longest});
  CHECK(at_device.remote_memory == 20'000'002 * kNs);
  CHECK(at_device.links == 0);
}

TEST_CASE("latency stack: a remote load is on links except for its time at the other device") {
  auto const w = same_for_all({load(kRemote), compute(10, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.memory_stages = {0, 0, 40'000};
  b.run();
  auto const& s = stats(b).stages;
  CHECK(s.remote_memory == 40'000);
  CHECK(s.links == 52 * kNs - 40'000);
  CHECK(s.l2_cache == 0);
  check_sum(b);
}

TEST_CASE("latency stack: merged loads have the last part of the stages they waited for") {
  auto const w = same_for_all({load(0x2000), load(0x2010), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.translation_stages = {0, 21'500, 0, 0};
  b.memory_stages = {0, 51'500, 0};
  b.run();
  // The second one is issued at 102. It waits for its translation from 103 on, 21 ns, and for the line from
  // 126 to 177, 51 ns.
  auto const& s = stats(b).stages;
  CHECK(s.walk == 21'500 + 21'000);
  CHECK(s.l2_tlb == 500);
  CHECK(s.dram == 51'500 + 51'000);
  CHECK(s.l2_cache == 500);
  CHECK(s.l1_tlb == 2 * kNs);
  CHECK(s.l1_cache == 2 * kNs);
  CHECK(s.load_store == 1 * kNs);  // the later translated one waits for the first
  check_sum(b);
}

TEST_CASE("latency stack: local and remote stores count from issue to acknowledgement") {
  auto const w = same_for_all({store(0x2000), store(0x2040), store(kRemote)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.memory_stages = {0, 0, 0};
  b.run();
  auto const& s = stats(b).stages;
  CHECK(s.l2_cache == 2 * 52 * kNs);
  CHECK(s.links == 52 * kNs);
  CHECK(stats(b).stores == 3);
  CHECK(timed_loads(b) == 0);
  check_sum(b);
}

TEST_CASE("latency stack: remote stores are on links except for their time at the other device") {
  auto const w = same_for_all({store(kRemote), store(kRemote + 0x40)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.memory_stages = {0, 0, 40'000};
  b.run();
  auto const& s = stats(b).stages;
  CHECK(s.remote_memory == 2 * 40'000);
  CHECK(s.links == 2 * (52 * kNs - 40'000));
  CHECK(s.l2_cache == 0);
  check_sum(b);
}

TEST_CASE("latency stack: a faulted load waits for its replay and is looked up again") {
  auto const w = same_for_all({load(0x2000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.faults[2] = 1;
  b.feed(b.sm.translation, {{Time{1000ns}, replay(2)}});
  b.run();
  auto const& s = stats(b).stages;
  // Answered at 124, requested again at 1000.
  CHECK(s.fault == 876 * kNs);
  CHECK(s.l1_tlb == 2 * kNs);
  CHECK(s.l2_tlb == 2 * 22 * kNs);
  CHECK(s.l2_cache == 52 * kNs);
  check_sum(b);
}

TEST_CASE("latency stack: for a translation by a fault, the time at the IOMMU counts as fault time") {
  auto const w = same_for_all({load(0x2000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.found_by[2] = FoundBy::fault;
  b.translation_stages = {0, 0, 0, 15'000};
  b.run();
  CHECK(stats(b).stages.fault == 15'000);
  CHECK(stats(b).stages.iommu == 0);
  check_sum(b);
}

TEST_CASE("latency stack: a fault longer than the encodable maximum counts entirely as fault time") {
  auto const w = same_for_all({load(0x2000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(10ms));
  b.found_by[2] = FoundBy::fault;
  b.translation_stages = {0, 0, 0, unpack_duration(pack_duration(stage_time(1s)))};
  b.run();
  CHECK(stats(b).stages.fault == 10'000'002 * kNs);
  CHECK(stats(b).stages.iommu == 0);
  CHECK(stats(b).stages.l2_tlb == 0);
  check_sum(b);
}

TEST_CASE("latency stack: it adds up for any accesses: hits, merged requests, stalls and stores") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    auto spec = unit_rates();
    spec.l1_tlb.mshrs = 2;
    spec.l1_tlb.waiters = 3;
    spec.l1_cache.mshrs = 4;
    spec.l1_cache.waiters = 5;
    spec.l1_cache.slice_credits = 4;
    spec.l1_tlb.entries = spec.l1_tlb.ways = 2;
    auto x = seed * 0x9e37'79b9'7f4a'7c15ULL;
    auto const next = [&x](std::uint64_t below) {
      x ^= x << 13U;
      x ^= x >> 7U;
      x ^= x << 17U;
      return x % below;
    };
    std::vector<Program> programs(3);
    for (auto& p : programs)
      for (int i = 0; i < 30; ++i) {
        auto const address = (next(4) == 0 ? kRemote : VirtAddr{0x2000}) + next(5) * 4096 + next(6) * 64;
        auto const lanes = static_cast<std::uint32_t>(1 + next(4));
        switch (next(4)) {
          case 0:
            p.push_back(store(address, lanes, 64));
            break;
          case 1:
            p.push_back(compute(static_cast<std::uint32_t>(1 + next(9)), true));
            break;
          default:
            p.push_back(load(address, lanes, 64));
        }
      }
    auto const w =
        hand_workload({shape(192)}, [&](std::uint64_t, std::uint32_t warp) { return programs[warp]; });
    SmBench b(
        spec, w, {{Time{100ns}, {0, 0, 0}}}, [](std::uint64_t i) { return Duration{1ns} * (10 + i % 37); },
        [](std::uint64_t i) { return Duration{1ns} * (5 + i % 41); });
    b.translation_stages = {1'000, 7'000, 2'000, 3'000};
    b.memory_stages = {2'000, 6'000, 0};
    b.run();
    check_sum(b);
    CHECK(stats(b).access_time > 0);
    CHECK(timed_loads(b) + stats(b).stores == stats(b).transactions);
  }
}

TEST_CASE("SM activity: every moment up to its last event counts once") {
  auto const w = same_for_all({compute(10), load(0x2000), compute(5, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  auto const& t = b.sm.state().times.activity;
  // No warp until 100. Computes and issues until 111, when the load is issued. Waits until the line arrives
  // at 187 plus the next clock edge.
  CHECK(t.in(SmActivity::idle) == 100 * kNs);
  CHECK(t.in(SmActivity::memory_stall) == 76 * kNs);
  CHECK(t.in(SmActivity::active) == count_of(b.done->records()[0].at) - 1000 - 176 * kNs);
  CHECK(t.in(SmActivity::barrier_stall) == 0);
}

TEST_CASE("SM activity: a stalled SM counts for the cause of most of its warps") {
  // Two of three warps wait at the barrier while the third waits for its load.
  auto const w = hand_workload({shape(192)}, [](std::uint64_t, std::uint32_t warp) {
    return warp == 0 ? Program{load(0x2000), compute(1, true), barrier()} : Program{barrier()};
  });
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  auto const& t = b.sm.state().times.activity;
  CHECK(t.in(SmActivity::barrier_stall) == 76 * kNs);  // from 101, when all have issued, to 177
  CHECK(t.in(SmActivity::memory_stall) == 0);
}

TEST_CASE("SM activity: a warp stalled only on faults does not count as waiting for memory") {
  auto const w = same_for_all({load(0x2000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.faults[2] = 1;
  b.feed(b.sm.translation, {{Time{1000ns}, replay(2)}});
  b.run();
  auto const& t = b.sm.state().times.activity;
  CHECK(t.in(SmActivity::fault_stall) == 876 * kNs);
  CHECK(t.in(SmActivity::memory_stall) == (124 - 101 + 76) * kNs);
}

TEST_CASE("SM activity: a warp is stalled on faults once its other accesses have completed") {
  auto const w = same_for_all({load(0x2000), load(0x3000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.faults[2] = 1;
  b.feed(b.sm.translation, {{Time{1000ns}, replay(2)}});
  b.run();
  auto const& t = b.sm.state().times.activity;
  // The second load is issued one cycle after the first, at 102, and completes at 178.
  CHECK(t.in(SmActivity::fault_stall) == (1000 - 178) * kNs);
  CHECK(t.in(SmActivity::memory_stall) == (178 - 102 + 76) * kNs);
}

}  // namespace latency_stack_test
