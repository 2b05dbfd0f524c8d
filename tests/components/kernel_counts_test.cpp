// SPDX-License-Identifier: Apache-2.0
// Counts of a kernel, from an SM's counters to its sums: reports of any size arrive in time and for the right
// kernel.
#include "farfault/compute/kernel_counts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "death.hpp"
#include "farfault/compute/dispatcher.hpp"
#include "policies.hpp"
#include "sm_bench.hpp"

namespace kernel_counts_test {

using namespace farfault;
using namespace farfault::sm_bench;

namespace {

std::vector<KernelCounts> report_of(SmStats const& before, SmStats const& now, std::uint32_t kernel = 0) {
  std::vector<KernelCounts> all;
  auto const n = report_growth(kernel, before, now, [&](KernelCounts const& m) { all.push_back(m); });
  CHECK(n == all.size());
  for (auto const& m : all) CHECK(m.count <= KernelCounts::kBytes);
  return all;
}
SmStats sum_of(std::vector<KernelCounts> const& messages) {
  KernelSums sums(1);
  for (auto const& m : messages) sums.add(0, m);
  sums.expect(0, static_cast<std::uint32_t>(messages.size()));
  return sums.take(0);
}
SmStats of(SmCounters const& counters) {
  return std::bit_cast<SmStats>(counters);
}

// Counts that an SM reported in messages [first, end).
SmStats reported(SmBench const& b, std::size_t first, std::size_t end) {
  std::vector<KernelCounts> messages;
  for (auto i = first; i < end; ++i) messages.push_back(b.counts->records()[i].message);
  return sum_of(messages);
}

Workload grid_of(std::uint64_t blocks) {
  return hand_workload({{"k", blocks, 64, 1, 0}}, [](std::uint64_t, std::uint32_t) { return Program{}; });
}

}  // namespace

TEST_CASE("kernel counts: increments of any size are received, also if they just fill the messages") {
  for (std::uint64_t const growth : {0ULL, 1ULL, 127ULL, 128ULL, 16383ULL, 16384ULL, 0xffff'ffffULL,
                                     0x1'0000'0000ULL, 0x7fff'ffff'ffff'ffffULL, ~0ULL})
    for (std::uint64_t const other : {0ULL, 100ULL, 1000ULL, ~0ULL}) {
      CAPTURE(growth);
      CAPTURE(other);
      SmCounters before{};
      SmCounters now{};
      SmCounters grown{};
      for (std::size_t i = 0; i < now.size(); ++i) {
        before[i] = 5 * i;
        grown[i] = i % 3 == 1 ? growth : other;
        now[i] = before[i] + grown[i];
      }
      CHECK(sum_of(report_of(of(before), of(now))) == of(grown));
      // The byte counts move the last counters through each position of a message.
      for (std::size_t i = 0; i < now.size(); ++i) {
        SmCounters some{};
        std::fill_n(some.begin(), i, 200);
        some[i] = growth;
        CHECK(sum_of(report_of({}, of(some))) == of(some));
      }
    }
}

TEST_CASE("kernel counts: trailing zeros take no space, and times of a millisecond take five bytes") {
  SmCounters some{};
  std::fill_n(some.begin(), 30, 100);
  CHECK(report_of({}, of(some)).size() == 1);
  auto times = SmStats{};
  times.access_time = 1'000'000'000;
  CHECK(report_of({}, times).size() == 1);
  SmCounters all{};
  all.fill(1'000'000'000);
  CHECK(report_of({}, of(all)).size() == (all.size() + 5) / 6);  // six per message
  CHECK(report_of(of(all), of(all)).size() == 1);
}

TEST_CASE("kernel counts: streams have separate sums, and each kernel starts from 0") {
  KernelSums sums(3);
  SmStats stats;
  stats.transactions = 300;
  for (auto const& m : report_of({}, stats)) sums.add(1, m);
  for (auto const& m : report_of({}, stats)) sums.add(1, m);
  sums.expect(1, 2);
  CHECK(sums.take(0) == SmStats{});
  CHECK(sums.take(1).transactions == 600);
  CHECK(sums.take(1) == SmStats{});
  CHECK(sums.take(2) == SmStats{});
}

TEST_CASE(
    "kernel counts: a kernel that ends before its last report, or an unexpected report, is an internal "
    "error") {
  auto const death = death_of([] {
    KernelSums sums(1);
    sums.expect(0, 1);
    static_cast<void>(sums.take(0));
  });
  CHECK(death.signal == SIGABRT);
  CHECK(death.printed.find("missing report of its counts") != std::string::npos);
  CHECK(death_of([] {
          KernelSums sums(1);
          sums.add(0, KernelCounts{0});
          static_cast<void>(sums.take(0));
        }).signal == SIGABRT);
}

TEST_CASE(
    "SM: counts of a kernel are reported when its last block on the SM ends, just before that block's end") {
  auto const w = hand_workload({shape()}, [](std::uint64_t block, std::uint32_t) {
    return Program{load(0x2000), store(0x3000), compute(block == 0 ? 10 : 300, true)};
  });
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{150ns}, {1, 0, 0}}, {Time{1000ns}, {2, 0, 0}}});
  REQUIRE(b.done->count() == 3);
  std::vector<std::uint32_t> reports;
  for (auto const& r : b.done->records()) reports.push_back(r.message.reports);
  CHECK(reports[0] == 0);
  CHECK(reports[1] > 0);
  REQUIRE(b.counts->count() == reports[1] + reports[2]);
  for (std::size_t i = 0; i < b.counts->count(); ++i)
    CHECK(b.counts->nanoseconds()[i] == b.done->nanoseconds()[i < reports[1] ? 1 : 2]);
  auto const first = reported(b, 0, reports[1]);
  CHECK(first.blocks == 2);
  CHECK(first.vector_instructions == 310);
  CHECK(first.memory_instructions == 4);
  CHECK(first.transactions == 4);
  CHECK(first.stores == 2);
  CHECK(first.l1_tlb_hits + first.l1_tlb_misses == 4);
  auto const second = reported(b, reports[1], b.counts->count());
  CHECK(second.blocks == 1);
  CHECK(second.vector_instructions == 300);
  CHECK(second.l1_hits == 1);
  CHECK(second.l1_misses == 0);
  CHECK(second.l1_tlb_hits == 2);
  CHECK(reported(b, 0, b.counts->count()) == b.sm.state().stats[0]);
}

TEST_CASE(
    "SM: concurrent kernels of two streams have separate counts, including scalar and faulted accesses") {
  auto const kernel = [](std::uint32_t loads) {
    return std::make_unique<HandKernel>(shape(), [loads](std::uint64_t, std::uint32_t) {
      Program program{scalar_load(0x9000)};
      for (std::uint32_t i = 0; i < loads; ++i) program.push_back(load(0x2000 + 0x1000 * i + 64 * loads));
      program.push_back(compute(loads, true));
      return program;
    });
  };
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(kernel(2));
  kernels.push_back(kernel(3));
  Workload const w("two", {}, std::move(kernels), {}, {Operation::launch(0, 0), Operation::launch(1, 1)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{101ns}, {0, 1, 1}}}, always(50ns),
            always(20ns));
  b.faults = {{2, 1}};
  b.feed(b.sm.translation, {{Time{900ns}, replay(2)}});
  b.run();
  std::array<std::vector<KernelCounts>, 2> messages;
  for (auto const& r : b.counts->records()) messages.at(r.message.kernel).push_back(r.message);
  std::array<SmStats, 2> const did{sum_of(messages[0]), sum_of(messages[1])};
  for (std::uint32_t k = 0; k < 2; ++k) {
    CAPTURE(k);
    CHECK(did.at(k).transactions == 2 + k);
    CHECK(did.at(k).vector_instructions == 2 + k);
    CHECK(did.at(k).l1_tlb_misses + did.at(k).l1_tlb_hits == 2 + k);
    CHECK(did.at(k).l1_misses == 2 + k);
    CHECK(did.at(k).scalar_transactions == 1);
    CHECK(did.at(k).faulted == 1);
    CHECK(did.at(k).replayed == 1);
    CHECK(did.at(k).blocks == 1);
    CHECK(did.at(k) == b.sm.state().stats[k]);
  }
  // These statistics are per application only.
  CHECK(test::stat_of(b.sm, "sm", "transactions") == 5);
}

TEST_CASE("SM: an L1 TLB miss counts for the translator of its page, including merged misses") {
  // Two lines of each page. The later third line of page 7 hits the L1 TLB.
  Program program;
  for (VirtAddr page = 2; page < 8; ++page) program.push_back(load(page << 12, 64, 2));
  program.push_back(load(7 << 12 | 0x80, 64, 1, true));
  program.push_back(compute(1, true));
  auto const w = same_for_all(program);
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.found_by = {{3, FoundBy::gmmu}, {4, FoundBy::gmmu}, {5, FoundBy::iommu}, {6, FoundBy::fault}};
  b.run();
  auto const did = reported(b, 0, b.counts->count());
  CHECK(did.l1_tlb_hits == 1);
  CHECK(did.l1_tlb_misses == 12);
  CHECK(did.l2_tlb_hits == 4);
  CHECK(did.gmmu_translations == 4);
  CHECK(did.iommu_translations == 2);
  CHECK(did.fault_translations == 2);
}

TEST_CASE("SM: a transaction stalled by a fault counts as a fault translation, once") {
  // Page 2 faults twice. Its third load joins the second fault and did not stall before. Page 4 settles.
  auto const w = same_for_all({load(0x2000), load(0x2040), load(0x4000), compute(500), load(0x2080),
                               compute(1000), load(0x20c0), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.faults = {{2, 2}, {4, 1}};
  b.found_by = {{2, FoundBy::iommu}};
  auto settled = replay(4, physical(0, 70 << 12));
  settled.found_by = FoundBy::settled;
  b.feed(b.sm.translation, {{Time{400ns}, replay(2)}, {Time{400ns}, settled}, {Time{900ns}, replay(2)}});
  b.run();
  auto const did = reported(b, 0, b.counts->count());
  CHECK(did.faulted == 6);
  CHECK(did.replayed == 6);
  CHECK(did.l1_tlb_misses == 4);
  CHECK(did.l1_tlb_hits == 1);
  CHECK(did.fault_translations == 4);
  CHECK(did.iommu_translations == 0);
  CHECK(did.l2_tlb_hits == 0);
}

TEST_CASE("SM: a transaction that joins the translation of a faulted one counts for the translator") {
  // The load at 420 misses while the first one is requested again.
  auto const w = same_for_all({load(0x2000), compute(318), load(0x2040), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.faults = {{2, 1}};
  b.found_by = {{2, FoundBy::gmmu}};
  b.feed(b.sm.translation, {{Time{400ns}, replay(2)}});
  b.run();
  CHECK(b.tlb->records().size() == 2);
  auto const did = reported(b, 0, b.counts->count());
  CHECK(did.faulted == 1);
  CHECK(did.l1_tlb_misses == 2);
  CHECK(did.fault_translations == 1);
  CHECK(did.gmmu_translations == 1);
}

TEST_CASE("SM: a request to an L2 cache counts once, by local or remote cache and by hit or miss") {
  // Lines 0 and 2 of a page hit, 1 and 3 miss. The second load of line 1 joins the first.
  auto const w = same_for_all({load(0x2000, 64, 4), load(0x2040), store(0x2000), store(0x2040), store(0x20c0),
                               load(kRemote, 64, 3), store(kRemote), store(kRemote + 0x40),
                               store(kRemote + 0x80), compute(1, true), load(0x2040), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  auto const did = reported(b, 0, b.counts->count());
  CHECK(did.l1_hits == 1);
  CHECK(did.l1_misses == 8);
  CHECK(did.stores == 6);
  CHECK(did.remote_accesses == 6);
  CHECK(did.l2_hits == 3);
  CHECK(did.l2_misses == 4);
  CHECK(did.remote_l2_hits == 4);
  CHECK(did.remote_l2_misses == 2);
}

TEST_CASE("SM: requests, translations and scalar loads of two streams are counted separately") {
  // Both begin with the same line, which the first one requests; stream 1 has a scalar load that hits.
  auto const kernel = [](std::uint32_t stream) {
    return std::make_unique<HandKernel>(shape(), [stream](std::uint64_t, std::uint32_t) {
      Program program{load(0x2000), scalar_load(stream == 0 ? 0x9040 : 0x9000)};
      if (stream == 1) program.push_back(store(0x3040));
      if (stream == 1) program.push_back(load(kRemote));
      program.push_back(compute(1, true));
      return program;
    });
  };
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(kernel(0));
  kernels.push_back(kernel(1));
  Workload const w("two", {}, std::move(kernels), {}, {Operation::launch(0, 0), Operation::launch(1, 1)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{101ns}, {0, 1, 1}}}, always(50ns),
            always(20ns));
  b.found_by = {{2, FoundBy::gmmu}, {3, FoundBy::iommu}};
  b.run();
  auto const& first = b.sm.state().stats[0];
  auto const& second = b.sm.state().stats[1];
  CHECK(first.gmmu_translations == 1);
  CHECK(second.gmmu_translations == 1);
  CHECK(first.iommu_translations == 0);
  CHECK(second.iommu_translations == 1);
  CHECK(first.l2_tlb_hits == 0);
  CHECK(second.l2_tlb_hits == 1);
  CHECK(first.l2_hits == 1);
  CHECK(first.l2_misses == 0);
  CHECK(first.remote_l2_hits == 0);
  CHECK(second.l2_hits == 0);
  CHECK(second.l2_misses == 1);
  CHECK(second.remote_l2_hits == 1);
  CHECK(second.l1_misses == 2);
  CHECK(first.scalar_hits == 0);
  CHECK(second.scalar_hits == 1);
  CHECK(second.scalar_transactions == 1);
}

TEST_CASE("dispatcher: at a kernel's end the host gets the sums of its SMs' reports, only for that kernel") {
  auto const first = grid_of(2);
  auto const second = grid_of(1);
  Applications const both({{"a", &first, 0, {}, {}, {}, 1}, {"b", &second, 1, {}, {}, {}, 1}});
  auto const report = [](std::uint32_t kernel, std::uint8_t transactions) {
    SmStats did;
    did.transactions = transactions;
    KernelCounts message{};
    CHECK(report_growth(kernel, {}, did, [&](KernelCounts const& m) { message = m; }) == 1);
    return message;
  };
  for (std::uint32_t const slices : {0U, 1U}) {
    DispatcherSpec spec;
    spec.sms = 2;
    spec.applications = &both;
    spec.slices_to_write_back = slices;
    Bench b;
    auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
    b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}, {Time{1000ns}, {1, 0}}});
    // A report arrives at the same time as the completion that it belongs to.
    b.feed(dispatcher.block_done,
           {{Time{2000ns}, {0, 0, 0, 1}}, {Time{2100ns}, {0, 0, 1, 1}}, {Time{2200ns}, {1, 1, 0, 2}}});
    b.feed(dispatcher.counted, {{Time{2000ns}, report(0, 10)},
                                {Time{2100ns}, report(1, 5)},
                                {Time{2200ns}, report(0, 100)},
                                {Time{2200ns}, report(0, 30)}});
    if (slices != 0) {
      b.feed(dispatcher.flushed, {{Time{2150ns}, {1}}, {Time{2300ns}, {0}}});
      b.sinks(dispatcher.flush, 1);
    }
    b.sinks(dispatcher.start, 2);
    auto& counts = b.sink(dispatcher.counts);
    auto& done = b.sink(dispatcher.done);
    b.run();
    REQUIRE(done.count() == 2);
    CHECK(done.nanoseconds() == (slices == 0 ? Times{2101, 2201} : Times{2151, 2301}));
    CHECK(counts.nanoseconds() == done.nanoseconds());
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(done.records()[i].message.reports == 1);
      KernelSums sums(1);
      sums.add(0, counts.records()[i].message);
      sums.expect(0, 1);
      CHECK(counts.records()[i].message.kernel == (i == 0 ? 1 : 0));
      CHECK(sums.take(0).transactions == (i == 0 ? 5 : 140));
    }
  }
}

TEST_CASE("dispatcher: with several GPUs, each kernel has a row with the counts of this GPU's SMs") {
  auto const first = grid_of(1);
  auto const second = grid_of(2);
  Applications const both({{"a", &first, 0, {}, {}, {}, 1}, {"b", &second, 1, {}, {}, {}, 1}});
  DispatcherSpec spec;
  spec.sms = 1;
  spec.gpus = 2;
  spec.gpu = 0;
  spec.applications = &both;
  spec.slices_to_write_back = 1;
  SmStats did;
  did.transactions = 7;
  did.blocks = 1;
  KernelCounts report{};
  CHECK(report_growth(1, {}, did, [&](KernelCounts const& m) { report = m; }) == 1);
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("m0.gpu0.dispatcher", spec);
  // The only block of the first kernel is on the other GPU.
  b.feed(dispatcher.launch, {{Time{1000ns}, {0, 3}}, {Time{1200ns}, {1, 5}}});
  b.feed(dispatcher.block_done, {{Time{2000ns}, {0, 0, 1, 1}}});
  b.feed(dispatcher.counted, {{Time{2000ns}, report}});
  b.feed(dispatcher.kernel_end, {{Time{2100ns}, {1}}});
  b.feed(dispatcher.flushed, {{Time{2300ns}, {1}}});
  b.sinks(dispatcher.flush, 1);
  b.sinks(dispatcher.start, 1);
  b.sink(dispatcher.counts);
  b.sink(dispatcher.done);
  b.run();
  auto const tables = dispatcher.tables();
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].name == "kernels_by_gpu");
  std::vector<std::map<std::string, Cell>> found;
  for (int call = 0; call < 2; ++call) {  // rows that have been taken are not kept
    TableRows rows;
    static_cast<AnyComponent&>(dispatcher).take_rows(rows);
    TableRows::read(rows.bytes(), [&](std::uint32_t, std::uint32_t, std::vector<Cell> const& cells) {
      REQUIRE(cells.size() == tables[0].columns.size());
      auto& row = found.emplace_back();
      for (std::size_t i = 0; i < cells.size(); ++i) row[tables[0].columns[i].name] = cells[i];
    });
  }
  REQUIRE(found.size() == 2);
  auto const number = [&](std::size_t row, std::string const& column) {
    return std::get<std::uint64_t>(found[row].at(column));
  };
  CHECK(found[0].at("gpu") == Cell{std::string("m0.gpu0")});
  CHECK(found[0].at("application") == Cell{std::string("a")});
  CHECK(number(0, "kernel") == 0);
  CHECK(number(0, "launch") == 3);
  CHECK(number(0, "blocks") == 0);
  CHECK(number(0, "left_gpu") == 1'000'000);
  CHECK(found[1].at("application") == Cell{std::string("b")});
  CHECK(number(1, "kernel") == 1);
  CHECK(number(1, "launch") == 5);
  CHECK(number(1, "blocks") == 1);
  CHECK(number(1, "transactions") == 7);
  CHECK(number(1, "left_gpu") == 2'000'000);
  spec.gpus = 1;
  Bench alone;
  CHECK(alone.system.add<Dispatcher>("dispatcher", spec).tables().empty());
}

TEST_CASE("dispatcher: a report after its kernel's end is an internal error") {
  auto const workload = grid_of(1);
  auto const death = death_of([&] {
    Bench b;
    DispatcherSpec spec;
    spec.applications = alone(workload);
    auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
    b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
    b.feed(dispatcher.block_done, {{Time{2000ns}, {0, 0, 0, 1}}});
    b.feed(dispatcher.counted, {{Time{2001ns}, {0}}});
    b.sinks(dispatcher.start, 1);
    b.sink(dispatcher.counts);
    b.sink(dispatcher.done);
    b.run();
  });
  CHECK(death.signal == SIGABRT);
}

}  // namespace kernel_counts_test
