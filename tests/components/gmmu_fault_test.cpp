// SPDX-License-Identifier: Apache-2.0
// A GMMU that records its GPU's faults: records, packets to the driver, replays, and a full buffer.
#include <doctest/doctest.h>

#include "gmmu_bench.hpp"

namespace gmmu_fault_test {

using namespace farfault;
using namespace farfault::gmmu_bench;

namespace {

GmmuSpec keeping(PageTable const& table, std::uint32_t records) {
  auto spec = spec_of("centralized", table);
  spec.records_faults = true;
  spec.device = 0;
  spec.iommu = 3;
  spec.params.fault_buffer = records;
  return spec;
}
// The driver's response to the record.
Packet answer(std::uint64_t page, std::uint32_t record, PhysAddr frame) {
  return Packet::of(Replay{.page = page, .frame = frame, .entry = record});
}
using Pages = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE(
    "GMMU: a fault that the IOMMU does not record is answered immediately, recorded here, and sent to the "
    "driver") {
  auto const table = one_page();
  GmmuBench b(keeping(table, 4),
              {{Time{100ns}, {500, 17}}, {Time{200ns}, {500, 18}}, {Time{3000ns}, {kPage, 19}}});
  b.unrecorded_from = 500;
  b.feed(b.gmmu.from_iommu, {{Time{2500ns}, answer(500, 0, local_frame(500))}});
  b.run();
  // Requested at 101, answered at 1102; the fault leaves with the answer. The second fault is merged.
  CHECK(found_by(*b.responses) == Found{FoundBy::nothing, FoundBy::nothing, FoundBy::replay, FoundBy::iommu});
  CHECK(b.responses->records()[0].message.page == 500);
  CHECK(b.responses->records()[0].message.frame == kNoFrame);
  CHECK(b.responses->nanoseconds()[2] == 2501);
  CHECK(b.responses->records()[2].message.frame == local_frame(500));
  REQUIRE(b.faults->count() == 1);
  CHECK(b.faults->nanoseconds()[0] == b.responses->nanoseconds()[0]);
  auto const f = b.fault(0);
  CHECK(f.page == 500);
  CHECK(f.gpu == 0);
  CHECK(f.iommu == 3);
  CHECK(f.entry == 0);
  CHECK(f.kind == FaultKind::not_mapped);
  CHECK(f.recorded_by_gpu == 1);
  auto const& s = b.gmmu.state();
  CHECK(s.by_requester[0].page_faults == 1);
  CHECK(s.by_requester[0].remote_faults == 0);
  CHECK(s.by_requester[0].merged_faults == 1);
  CHECK(s.by_requester[0].refused_faults == 0);
  CHECK(s.stats.faulted_responses == 2);
  CHECK(s.stats.replays == 1);
  CHECK(s.fault_latency.bins[LatencyHistogram::bin_of(1398)] == 1);  // 1102 to 2500
  CHECK(s.table.find(500) == PageTranslation{local_frame(500)});
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU: a fault on a remote page has its kind, and its entry waits for the driver's response") {
  auto const table = one_page();
  GmmuBench b(keeping(table, 4), {{Time{100ns}, {500, 17}}});
  b.unrecorded_from = 500;
  b.kind = FaultKind::moving;
  b.run();
  REQUIRE(b.faults->count() == 1);
  CHECK(b.fault(0).kind == FaultKind::moving);
  CHECK(b.gmmu.state().by_requester[0].remote_faults == 1);
  CHECK_FALSE(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU: a fault without a free entry is asked to retry when one is free, oldest first") {
  auto const table = one_page();
  GmmuBench b(keeping(table, 2), {{Time{100ns}, {500, 1}},
                                  {Time{101ns}, {501, 2}},
                                  {Time{102ns}, {502, 3}},
                                  {Time{103ns}, {503, 4}},
                                  {Time{2600ns}, {502, 5}}});
  b.unrecorded_from = 500;
  b.feed(b.gmmu.from_iommu, {{Time{2500ns}, answer(500, 0, local_frame(500))},
                             {Time{4000ns}, answer(501, 1, remote_frame(501))},
                             {Time{4500ns}, answer(502, 0, local_frame(502))}});
  b.run();
  Pages requested_again;
  Pages faults;
  for (auto const& r : b.responses->records())
    if (r.message.found_by == FoundBy::replay && r.message.frame == kNoFrame)
      requested_again.push_back(r.message.page);
  for (std::size_t i = 0; i < b.faults->count(); ++i) faults.push_back(b.fault(i).page);
  // The first free record is for 502, the second one for 503.
  CHECK(requested_again == Pages{502, 503});
  CHECK(faults == Pages{500, 501, 502});
  CHECK(b.gmmu.state().by_requester[0].refused_faults == 2);
  CHECK(b.gmmu.state().stats.replays == 3);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU: a replay for an entry of another GPU does not affect the GPU's entries") {
  auto const table = one_page();
  GmmuBench b(keeping(table, 2), {{Time{100ns}, {500, 1}}});
  b.unrecorded_from = 500;
  b.feed(b.gmmu.from_iommu, {{Time{2500ns}, Packet::of(Replay{.page = 500})}});
  b.run();
  CHECK(b.gmmu.state().faults.in_use() == 1);
}

TEST_CASE("GMMU: a fault on a freed page ends its entry and is not replayed") {
  auto const table = one_page();
  GmmuBench b(keeping(table, 2), {{Time{100ns}, {500, 1}}});
  b.unrecorded_from = 500;
  b.feed(b.gmmu.from_iommu, {{Time{2500ns}, answer(500, 0, kNoFrame)}});
  b.run();
  CHECK(found_by(*b.responses) == Found{FoundBy::nothing});
  CHECK(b.gmmu.state().faults.in_use() == 0);
  CHECK(!b.gmmu.state().table.find(500));
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU: a fault of a request that its walk has answered leaves no entry") {
  auto const table = one_page();
  auto spec = keeping(table, 2);
  // From the second epoch on, requests use both paths.
  spec.router.policy = test::chosen<Router>("gmmu_bypass", {{"epoch", "1us"}, {"t1", "1"}, {"t2", "0"}});
  GmmuBench b(spec, {{Time{100ns}, {kPage, 1}}, {Time{2000ns}, {kPage + 1, 2}}});
  b.unrecorded_from = kPage + 1;
  b.run();
  CHECK(found_by(*b.responses) == Found{FoundBy::gmmu, FoundBy::gmmu});
  CHECK(b.gmmu.state().stats.late_responses == 1);
  CHECK(b.faults->count() == 0);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE(
    "GMMU: in batches, fault latency is measured from the fault to the replay, for drained and flushed "
    "entries") {
  auto const table = one_page();
  auto spec = spec_of("distributed", table);
  spec.records_faults = true;
  spec.fault_batches = true;
  GmmuBench b(spec, {});
  b.feed(b.gmmu.raw_fault, {{Time{100ns}, {kRemote, 0}}, {Time{600ns}, {kRemote + 1, 0}}});
  b.feed(b.gmmu.from_driver, as_packets<FaultOrder>({{Time{200ns}, {8, 0, FaultOrderKind::drain}},
                                                     {Time{1100ns}, {0, 0, FaultOrderKind::flush_replay}}}));
  b.run();
  auto const& bins = b.gmmu.state().fault_latency.bins;
  CHECK(bins[LatencyHistogram::bin_of(1000)] == 1);
  CHECK(bins[LatencyHistogram::bin_of(500)] == 1);
  CHECK(b.gmmu.state().raw_stats.flushed == 1);
}

}  // namespace gmmu_fault_test
