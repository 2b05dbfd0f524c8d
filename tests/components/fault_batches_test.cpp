// SPDX-License-Identifier: Apache-2.0
// The driver's fault batches, exact to the picosecond, between a mock IOMMU, GPU and copy engine.
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "batch_bench.hpp"

namespace fault_batches_test {

using namespace farfault;
using namespace farfault::batch_bench;

namespace {

Record<Packet> interrupt(Time at) {
  return {at, Packet::of(FaultInterrupt{0})};
}
Record<Packet> entry(Time at, std::uint64_t page, std::uint16_t sm, Time raised) {
  return {at, Packet::of(FaultEntry{.page = page, .raised = raised, .client = sm})};
}
Record<Packet> drained(Time at, std::uint32_t entries) {
  return {at, Packet::of(FaultsDrained{entries})};
}

struct BatchBench : Bench {
  struct Script {
    std::vector<Record<Packet>> faults = {};
    std::vector<Record<StepDone>> unmapped = {};
    std::vector<Record<CopyDone>> copied = {};
  };
  BatchBench(PagingDriverSpec const& spec, Script script) : driver(system.add<PagingDriver>("driver", spec)) {
    feed(driver.fault, std::move(script.faults));
    feed(driver.step_done, std::move(script.unmapped));
    feed(driver.copied, std::move(script.copied));
    mapped = sinks(driver.mapped, 1)[0];
    join(driver.placed, mapped->in_port);
    moves = sinks(driver.move, 1)[0];
    copies = sinks(driver.copy, 1)[0];
    orders = sinks(driver.to_gpus, 1)[0];
    run();
  }
  BatchRecord const& batch(std::size_t i) const { return driver.state().records.batches()[i]; }
  FaultOrder order(std::size_t i) const { return orders->records().at(i).message.as<FaultOrder>(); }

  PagingDriver& driver;
  Sink<PageMapped>* mapped;
  Sink<PageMove>* moves;
  Sink<CopyOrder>* copies;
  Sink<Packet>* orders;
};

// Page 7 alone, with migration number 0.
BatchBench::Script one_fault() {
  return {.faults = {interrupt(Time{100ns}), entry(Time{300ns}, 7, 3, Time{90ns}), drained(Time{300ns}, 1),
                     drained(Time{60us}, 0)},
          .unmapped = {{Time{500ns}, {0}}},
          .copied = {{Time{40us}, {0}}}};
}

}  // namespace

TEST_CASE("batches: one fault is read, serviced, unmapped, copied and replayed with its page") {
  BatchBench b(spec_of("page", "serialized", 100), one_fault());
  auto const worked = 100 + 10'000 + 20'000 + 5'000 + 100;
  CHECK(b.moves->nanoseconds() == Times{300 + 1, 40'000 + 1});
  CHECK(b.moves->records()[0].message.step == MoveStep::unmap);
  CHECK(b.moves->records()[1].message.step == MoveStep::remap);
  CHECK(b.copies->nanoseconds() == Times{worked + 1});
  CHECK(b.mapped->nanoseconds() == Times{40'000 + 1});
  CHECK(b.mapped->records()[0].message.gpu == 0);
  CHECK(b.orders->nanoseconds() == Times{100 + 1, 40'000 + 1});  // read at the beginning and again at the end
  CHECK(b.order(0).kind == FaultOrderKind::drain);
  CHECK(b.order(0).retry == 1);
  auto const& batch = b.batch(0);
  CHECK(batch.first_fault == Time{90ns});
  CHECK(batch.began == Time{100ns});
  CHECK(batch.first_transfer == Time{Duration{std::int64_t{worked} * 1000}});
  CHECK(batch.ended == Time{40us});
  CHECK(batch.raw_faults == 1);
  CHECK(batch.duplicates == 0);
  CHECK(batch.bytes_in == 4096);
  CHECK(batch.bytes_out == 0);
  CHECK(b.driver.state().memory.table().find(7)->frame == physical(0, 0));
}

TEST_CASE("batches: without per-page replay, one replay follows when all pages are mapped") {
  auto script = one_fault();
  script.unmapped.push_back({Time{41us}, {0}});  // mapped
  BatchBench b(spec_of("batch_flush", "serialized", 100), script);
  CHECK(b.moves->nanoseconds() == Times{301, 40'001});
  CHECK(b.moves->records()[1].message.step == MoveStep::map);
  CHECK(b.mapped->count() == 0);
  CHECK(b.orders->nanoseconds() == Times{101, 41'001, 41'001});
  CHECK(b.order(1).kind == FaultOrderKind::flush_replay);
  CHECK(b.order(2).kind == FaultOrderKind::drain);
  CHECK(b.batch(0).ended == Time{41us});
}

TEST_CASE("batches: with the replay policy 'once', the replay waits until the buffer is found empty") {
  auto script = one_fault();
  script.unmapped.push_back({Time{41us}, {0}});
  BatchBench b(spec_of("once", "serialized", 100), script);
  CHECK(b.orders->nanoseconds() == Times{101, 41'001, 60'001});
  CHECK(b.order(2).kind == FaultOrderKind::replay);
}

TEST_CASE("batches: further faults on a page are duplicates, and pages are migrated in address order") {
  BatchBench b(spec_of("page", "serialized", 100),
               {.faults = {interrupt(Time{100ns}), entry(Time{200ns}, 9, 3, Time{90ns}),
                           entry(Time{201ns}, 7, 4, Time{80ns}), entry(Time{202ns}, 9, 4, Time{95ns}),
                           drained(Time{203ns}, 3), drained(Time{60us}, 0)},
                .unmapped = {{Time{300ns}, {0}}, {Time{301ns}, {1}}},
                .copied = {{Time{40us}, {0}}, {Time{41us}, {1}}}});
  auto const worked = 100 + 10'000 + 20'000 + 5'000 + 2 * 100;
  CHECK(b.copies->nanoseconds() == Times{worked + 1, worked + 1});
  CHECK(b.copies->records()[0].message.from == physical(kFirstCpu, 0));
  CHECK(b.copies->records()[1].message.from == physical(kFirstCpu, 2 << 12));
  CHECK(b.batch(0).raw_faults == 3);
  CHECK(b.batch(0).duplicates == 1);
  CHECK(b.batch(0).clients == 2);
  CHECK(b.batch(0).faulted_pages == 2);
  CHECK(b.batch(0).first_fault == Time{80ns});
}

namespace {

// Memory for one page: 7 migrates, then 8, for which 7 is evicted. In the second batch 8 has number 0 and 7
// number 1.
BatchBench::Script eviction(std::vector<Record<StepDone>> const& unmapped,
                            std::vector<Record<CopyDone>> const& copied) {
  auto script = one_fault();
  script.faults.push_back(interrupt(Time{100us}));
  script.faults.push_back(entry(Time{100'300ns}, 8, 3, Time{99us}));
  script.faults.push_back(drained(Time{100'300ns}, 1));
  script.faults.push_back(drained(Time{190us}, 0));
  script.unmapped.insert(script.unmapped.end(), unmapped.begin(), unmapped.end());
  script.copied.insert(script.copied.end(), copied.begin(), copied.end());
  return script;
}

constexpr std::int64_t kWorked = 100'000 + 10'000 + 5'000 + 100;  // first touch of the block is over

}  // namespace

TEST_CASE(
    "batches: serialized: a page is evicted when the next one waits for a frame, and the next one follows "
    "it") {
  BatchBench b(spec_of("page", "serialized", 1), eviction({{Time{100'500ns}, {0}}, {Time{116us}, {1}}},
                                                          {{Time{120us}, {1}}, {Time{130us}, {0}}}));
  CHECK(b.copies->nanoseconds() == Times{35'201, 116'001, 120'001});
  CHECK(b.copies->records()[1].message.from == physical(0, 0));
  CHECK(b.copies->records()[1].message.to == physical(kFirstCpu, 0));  // freed by 7
  CHECK(b.copies->records()[2].message.to == physical(0, 0));
  Times const steps{301, 40'001, 100'301, kWorked + 1, 120'001, 130'001};
  CHECK(b.moves->nanoseconds() == steps);
  CHECK(b.moves->records()[3].message.page == 7);
  CHECK(b.moves->records()[4].message.step == MoveStep::remap);
  CHECK(b.batch(1).evicted_pages == 1);
  CHECK(b.batch(1).bytes_out == 4096);
  CHECK(b.batch(1).ended == Time{130us});
  CHECK(device_of(b.driver.state().memory.table().find(7)->frame) == kFirstCpu);
  CHECK(b.driver.state().evictions.counts().lifetime_ps == 80'000'000);
}

TEST_CASE(
    "batches: unobtrusive: the first page is evicted during the driver's work, and no page waits for it") {
  BatchBench b(spec_of("page", "unobtrusive", 1), eviction({{Time{100'500ns}, {0}}, {Time{101us}, {1}}},
                                                           {{Time{105us}, {1}}, {Time{130us}, {0}}}));
  CHECK(b.copies->nanoseconds() == Times{35'201, 101'001, kWorked + 1});
  CHECK(b.batch(1).first_transfer == Time{Duration{kWorked * 1000}});
}

TEST_CASE("batches: ideal: a page is evicted in no time and without a transfer") {
  BatchBench b(spec_of("page", "ideal", 1),
               eviction({{Time{100'500ns}, {0}}, {Time{101us}, {1}}}, {{Time{130us}, {0}}}));
  CHECK(b.copies->nanoseconds() == Times{35'201, kWorked + 1});
  CHECK(b.batch(1).evicted_pages == 1);
  CHECK(b.batch(1).bytes_out == 0);
}

TEST_CASE("batches: with a free frame, no schedule evicts") {
  for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    BatchBench b(spec_of("page", schedule, 2), eviction({{Time{100'500ns}, {0}}}, {{Time{130us}, {0}}}));
    CHECK(b.copies->nanoseconds() == Times{35'201, kWorked + 1});
    CHECK(b.batch(1).evicted_pages == 0);
  }
}

TEST_CASE(
    "GMMU: a fault beyond the limit of a uTLB is raised again when the uTLB has none left, even if it was "
    "earlier") {
  Bench b;
  PageTable const table(physical(0, 1 << 20), 12);
  auto spec = GpuBench::gmmu_spec(8, 1);
  spec.preloaded = &table;
  auto& gmmu = b.system.add<Gmmu>("gmmu", spec);
  b.idle(gmmu.request, gmmu.entry_read, gmmu.invalidate, gmmu.invalidated);
  b.sinks(gmmu.read_entry, 1);
  b.sink(gmmu.to_iommu);
  b.sinks(gmmu.to_tlb, 1);
  b.sink(gmmu.acknowledge);
  b.sink(gmmu.to_driver);
  auto& responses = *b.sinks(gmmu.response, 1)[0];
  // SMs 0 and 1 share a uTLB. The driver reads the fault of page 7 and then finds the buffer empty. Each
  // time, the fault of page 8 is raised again and finds no room.
  RawFault const other{8, 1, 0, {}};
  b.feed(gmmu.raw_fault,
         {{Time{100ns}, {7, 0, 0, {}}}, {Time{110ns}, other}, {Time{230ns}, other}, {Time{300ns}, other}});
  auto const drain = Packet::of(FaultOrder{8, 0, FaultOrderKind::drain, 1});
  b.feed(gmmu.from_driver, {{Time{200ns}, drain}, {Time{250ns}, drain}});
  b.feed(gmmu.from_iommu, {{Time{400ns}, Packet::of(Replay{.page = 7, .frame = physical(0, 0)})}});
  b.run();
  std::vector<std::uint64_t> pages;
  for (auto const& r : responses.records()) pages.push_back(r.message.page);
  CHECK(pages == std::vector<std::uint64_t>{8, 8, 7, 8});
  CHECK(responses.nanoseconds() == Times{201, 251, 401, 401});
  CHECK(gmmu.state().raw_stats.held == 3);
  CHECK(gmmu.state().raw_stats.written == 1);
  CHECK(gmmu.state().utlbs.outstanding() == 0);
  CHECK(gmmu.state().raw.dropped_pages() == 0);
  // From the fault's arrival to the replay of its page: 300 ns.
  CHECK(gmmu.state().fault_latency.bins[LatencyHistogram::bin_of(300)] == 1);
  CHECK(std::accumulate(gmmu.state().fault_latency.bins.begin(), gmmu.state().fault_latency.bins.end(),
                        std::uint64_t{0}) == 1);
  CHECK(gmmu.state().read.empty());
}

}  // namespace fault_batches_test
