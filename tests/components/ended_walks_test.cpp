// SPDX-License-Identifier: Apache-2.0
// A GMMU whose walks end in the GPU: faults at the end of a walk, remote mappings and their invalidation.
#include <doctest/doctest.h>

#include "choices.hpp"
#include "gmmu_bench.hpp"

namespace ended_walks_test {

using namespace farfault;
using namespace farfault::gmmu_bench;

namespace {

constexpr std::uint64_t kOther = kPage + 2;  // in another GPU's memory, in a node that exists

GmmuSpec ending(PageTable const& table, std::string_view router = "distributed") {
  auto spec = spec_of(router, table);
  spec.records_faults = spec.ends_walks = true;
  spec.device = 0;
  spec.iommu = 3;
  spec.params.fault_buffer = 4;
  return spec;
}
PageTable with_remote(PhysAddr frame) {
  auto table = one_page();
  table.map(kOther, frame);
  return table;
}
Packet replay(std::uint64_t page, PhysAddr frame, std::uint32_t entry = 0,
              FoundBy found_by = FoundBy::settled) {
  return Packet::of(Replay{.page = page, .frame = frame, .entry = entry, .found_by = found_by});
}
TranslateRequest read(std::uint64_t page, std::uint32_t tag) {
  return {.page = page, .from = tag};
}
TranslateRequest write(std::uint64_t page, std::uint32_t tag) {
  return {.page = page, .from = tag, .access = Access::write};
}
GmmuRequesterStats const& counts(GmmuBench const& b) {
  return b.gmmu.state().by_requester[0];
}
// A walk from a request at 100 ns: one cycle, then four entries, each 1 ns there, 10 ns in the cache, 1 ns
// back.
constexpr std::int64_t kWalkEnds = 100 + 1 + 4 * (1 + 10 + 1);

}  // namespace

TEST_CASE("GMMU that ends walks: an invalid entry is a fault at the end of its walk, without the IOMMU") {
  auto const table = one_page();
  GmmuBench b(ending(table), {{Time{100ns}, read(kOther, 17)}});
  b.feed(b.gmmu.from_iommu, {{Time{2000ns}, replay(kOther, remote_frame(kOther))}});
  b.run();
  CHECK(b.iommu->records().empty());
  CHECK(b.faults->nanoseconds() == Times{kWalkEnds + 1});
  CHECK(b.responses->nanoseconds() == Times{kWalkEnds + 1, 2000 + 1});
  CHECK(found_by(*b.responses) == Found{FoundBy::nothing, FoundBy::settled});
  auto const f = b.fault(0);
  CHECK(f.page == kOther);
  CHECK(f.iommu == 3);
  CHECK(f.entry == 0);
  CHECK(f.recorded_by_gpu == 1);
  CHECK(counts(b).page_faults == 1);
  CHECK(counts(b).protection_faults == 0);
  CHECK(counts(b).iommu_requests == 0);
  CHECK(b.gmmu.state().fault_latency.bins[LatencyHistogram::bin_of(2000 - kWalkEnds)] == 1);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU that ends walks: the stages of a fault response are the walk's, and none of the IOMMU") {
  auto const table = one_page();
  GmmuBench b(ending(table), {{Time{100ns}, read(kOther, 17)}});
  b.run();
  auto const stages = b.responses->records().at(0).message.stages;
  CHECK(stages.walk_queue == stage_time(1ns));
  CHECK(stages.walk == stage_time(48ns));
  CHECK(stages.link == 0);
  CHECK(stages.iommu == 0);
}

TEST_CASE("GMMU that ends walks: a replay writes the remote mapping, which later walks find") {
  auto const table = one_page();
  GmmuBench b(ending(table), {{Time{100ns}, read(kOther, 1)}, {Time{3000ns}, write(kOther, 2)}});
  b.feed(b.gmmu.from_iommu, {{Time{2000ns}, replay(kOther, remote_frame(kOther))}});
  b.run();
  CHECK(found_by(*b.responses) == Found{FoundBy::nothing, FoundBy::settled, FoundBy::gmmu});
  CHECK(b.responses->records()[2].message.frame == remote_frame(kOther));
  CHECK(b.faults->count() == 1);
  CHECK(b.gmmu.state().table.find(kOther) == PageTranslation{remote_frame(kOther)});
}

TEST_CASE("GMMU that ends walks: the replay of a first touch on another device writes the table as well") {
  auto const table = one_page();
  GmmuBench b(ending(table), {{Time{100ns}, read(kOther, 1)}});
  b.feed(b.gmmu.from_iommu, {{Time{2000ns}, replay(kOther, remote_frame(kOther), 0, FoundBy::replay)}});
  b.run();
  CHECK(b.gmmu.state().table.find(kOther) == PageTranslation{remote_frame(kOther)});
}

TEST_CASE("GMMU that ends walks: after a replay for the stalled accesses only, the next walk faults again") {
  auto const table = one_page();
  GmmuBench b(ending(table), {{Time{100ns}, read(kOther, 1)}, {Time{3000ns}, read(kOther, 2)}});
  auto const m = Replay{
      .page = kOther, .frame = remote_frame(kOther), .entry = 0, .found_by = FoundBy::settled, .once = 1};
  b.feed(b.gmmu.from_iommu, {{Time{2000ns}, Packet::of(m)}});
  b.run();
  CHECK(found_by(*b.responses) == Found{FoundBy::nothing, FoundBy::settled, FoundBy::nothing});
  CHECK(b.responses->records()[1].message.frame == remote_frame(kOther));
  CHECK(b.faults->count() == 2);
  CHECK(!b.gmmu.state().table.find(kOther));
}

TEST_CASE("GMMU that ends walks: a write to a read-only mapping is a fault, a read is not") {
  auto const table = with_remote(read_only(remote_frame(kOther)));
  GmmuBench b(ending(table), {{Time{100ns}, read(kOther, 1)}, {Time{1000ns}, write(kOther, 2)}});
  b.run();
  CHECK(found_by(*b.responses) == Found{FoundBy::gmmu, FoundBy::nothing});
  CHECK(b.iommu->records().empty());
  CHECK(b.fault(0).access == Access::write);
  CHECK(counts(b).page_faults == 0);
  CHECK(counts(b).protection_faults == 1);
}

TEST_CASE("GMMU that ends walks: an invalidated remote mapping faults again") {
  auto const table = with_remote(remote_frame(kOther));
  GmmuBench b(
      ending(table), {{Time{100ns}, read(kOther, 1)}, {Time{2000ns}, read(kOther, 2)}}, 10ns, 1000ns,
      {{Time{1000ns}, {.page = kOther, .frame = remote_frame(kOther), .move = 5, .step = MoveStep::unmap}}},
      {{Time{1500ns}, {5}}});
  b.run();
  CHECK(found_by(*b.responses) == Found{FoundBy::gmmu, FoundBy::nothing});
  CHECK(b.tlb->count() == 1);
  CHECK(b.tlb->records()[0].message.frame == remote_frame(kOther));
  CHECK(b.acknowledged->count() == 1);
  CHECK(!b.gmmu.state().table.find(kOther));
}

TEST_CASE("GMMU that ends walks: a mapping is replaced when the page is mapped elsewhere") {
  auto const table = with_remote(remote_frame(kOther));
  auto const here = local_frame(kOther);
  for (auto const step : {MoveStep::map, MoveStep::remap}) {
    GmmuBench b(ending(table), {}, 10ns, 1000ns,
                {{Time{1000ns}, {.page = kOther, .frame = here, .move = 5, .step = step}}});
    b.run();
    CHECK(b.gmmu.state().table.find(kOther) == PageTranslation{here});
    CHECK(b.acknowledged->count() == (step == MoveStep::map ? 1 : 0));
    CHECK(b.tlb->count() == 0);
  }
}

TEST_CASE("GMMU that ends walks: contiguous remote base pages are not coalesced, and its own are") {
  constexpr std::uint64_t kFirst = 512 * 8;
  for (bool const own : {false, true}) {
    PageTable table(kTable, 12);
    auto const frame = [&](std::uint64_t p) { return own ? local_frame(p) : remote_frame(p); };
    for (std::uint64_t p = 0; p < 511; ++p) table.map(kFirst + p, frame(kFirst + p));
    auto spec = ending(table);
    spec.coalesces = 4;
    GmmuBench b(spec, {{Time{100ns}, read(kFirst + 511, 1)}});
    b.feed(b.gmmu.from_iommu, {{Time{2000ns}, replay(kFirst + 511, frame(kFirst + 511))}});
    b.run();
    CHECK(b.gmmu.state().table.find_mapped(kFirst + 511)->frame == frame(kFirst + 511));
    CHECK(b.gmmu.state().table.is_coalesced(kFirst) == own);
  }
}

TEST_CASE("GMMU that ends walks: with batches, the fault gets a response and no packet to the driver") {
  auto const table = one_page();
  auto spec = ending(table);
  spec.fault_batches = true;
  GmmuBench b(spec, {{Time{100ns}, read(kOther, 17)}});
  b.idle(b.gmmu.raw_fault, b.gmmu.from_driver, b.gmmu.from_iommu);
  b.run();
  CHECK(found_by(*b.responses) == Found{FoundBy::nothing});
  CHECK(b.responses->nanoseconds() == Times{kWalkEnds + 1});
  CHECK(b.faults->count() == 0);
  CHECK(counts(b).page_faults == 1);
}

TEST_CASE("GMMU that ends walks: a request that the router sends to the IOMMU keeps that path") {
  auto const table = one_page();
  GmmuBench b(ending(table, "centralized"), {{Time{100ns}, read(500, 17)}, {Time{200ns}, read(kRemote, 18)}});
  b.unrecorded_from = 500;
  b.kind = FaultKind::remote;
  b.run();
  CHECK(b.iommu->records().size() == 2);
  CHECK(found_by(*b.responses) == Found{FoundBy::nothing, FoundBy::iommu});
  CHECK(b.fault(0).kind == FaultKind::remote);
  CHECK(counts(b).remote_faults == 1);
  CHECK(counts(b).page_faults == 0);
  CHECK(!b.gmmu.state().table.find(kRemote));  // only the driver writes remote mappings
}

TEST_CASE("GMMU that ends walks: a request on both paths waits for the IOMMU if its walk finds no entry") {
  auto const table = one_page();
  auto spec = ending(table);
  // From the second epoch on, requests use both paths.
  spec.router.policy = test::chosen<Router>("gmmu_bypass", {{"epoch", "1us"}, {"t1", "1"}, {"t2", "0"}});
  GmmuBench b(spec, {{Time{100ns}, read(kPage, 1)}, {Time{2000ns}, read(kRemote, 2)}});
  b.run();
  CHECK(found_by(*b.responses) == Found{FoundBy::gmmu, FoundBy::iommu});
  CHECK(b.faults->count() == 0);
}

TEST_CASE("GMMU that ends walks: the oracle knows remote mappings, and the bypass counts them as remote") {
  auto const table = with_remote(remote_frame(kOther));
  GmmuBench oracle(ending(table, "oracle"), {{Time{100ns}, read(kOther, 1)}});
  oracle.run();
  CHECK(oracle.iommu->records().empty());
  CHECK(found_by(*oracle.responses) == Found{FoundBy::gmmu});
  GmmuBench bypass(ending(table, "gmmu_bypass"),
                   {{Time{100ns}, read(kOther, 1)}, {Time{200ns}, read(kPage, 2)}});
  bypass.run();
  CHECK(bypass.router("remote_pages") == 1);
  CHECK(bypass.router("local_pages") == 1);
}

TEST_CASE("GMMU that ends walks: only a copy in its own memory is walked against the router's choice") {
  for (bool const own : {false, true}) {
    auto const frame = own ? local_frame(kOther) : remote_frame(kOther);
    auto const table = with_remote(read_only(frame));
    auto spec = ending(table, "centralized");
    spec.has_copies = true;
    GmmuBench b(spec, {{Time{100ns}, read(kOther, 1)}});
    b.run();
    CHECK(b.iommu->records().size() == (own ? 0 : 1));
  }
}

TEST_CASE(
    "facts of routers: 'distributed' sends no request to the IOMMU, 'centralized' none to the walkers") {
  auto const facts = [](std::string_view name) { return PolicyChoice<Router>(name).facts(); };
  for (auto const& name : test::names_of_known<Router>()) {
    CHECK(facts(name).asks_iommu == (name != "distributed"));
    CHECK(facts(name).walks == (name != "centralized"));
  }
}

}  // namespace ended_walks_test
