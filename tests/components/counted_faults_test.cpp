// SPDX-License-Identifier: Apache-2.0
// Per-application statistics of the IOMMU, of a GMMU that records faults, and of the driver, for two
// applications.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gmmu_bench.hpp"
#include "iommu_bench.hpp"
#include "paging_driver_bench.hpp"
#include "policies.hpp"

namespace counted_faults_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Counts = std::vector<std::uint64_t>;
using Rows = std::vector<std::vector<Cell>>;
using Texts = std::vector<std::string>;

std::vector<std::string> const kTwo{"fir", "bfs"};

// Counts of applications 0 and 1. Their sum equals the component's own count.
Counts counts(AnyComponent const& c, std::string const& stat) {
  auto const by = std::string(c.kind()) + ".by_application";
  Counts const both{test::stat_of(c, by, stat, "fir"), test::stat_of(c, by, stat, "bfs")};
  CHECK(test::stat_of(c, c.kind(), stat) == both[0] + both[1]);
  return both;
}
bool has(AnyComponent const& c, std::string const& stat) {
  auto const groups = c.stat_groups();
  return std::ranges::find(groups[0].stats, stat, &StatInfo::name) != groups[0].stats.end();
}

IommuSpec iommu_of(PageTable const& table) {
  auto spec = iommu_bench::spec_of(table);
  spec.applications = kTwo;
  spec.gpus = {{0, 10}, {1, 11}, {2, 12}};
  return spec;
}

}  // namespace

TEST_CASE("IOMMU: requests, TLB look-ups, walks and faults are counted for the requesting application") {
  using namespace iommu_bench;
  auto const table = two_pages();
  auto spec = iommu_of(table);
  spec.replays_first_touches = true;
  spec.params.fault_buffer = 1;
  IommuBench const b(spec, {{Time{100ns}, ask(kPage, 1, 1, 1)},
                            {Time{110ns}, ask(kPage, 2, 2, 0)},  // merged with the walk
                            {Time{111ns}, ask(kPage, 0, 14, 1)},
                            {Time{300ns}, ask(kPage, 1, 3, 1)},
                            {Time{310ns}, ask(kPage, 0, 4, 0)},
                            {Time{320ns}, ask(kPage, 0, 5, 0)},
                            {Time{330ns}, ask(kPage, 0, 6, 1)},
                            {Time{340ns}, ask(kPage, 0, 7, 1)},
                            {Time{500ns}, ask(55, 0, 8, 1)},
                            {Time{501ns}, ask(55, 1, 9, 0)},   // merged with the walk that fails
                            {Time{600ns}, ask(55, 0, 10, 0)},  // merged with the record
                            {Time{700ns}, ask(56, 0, 11, 0)},  // no free record
                            {Time{720ns}, ask(57, 1, 12, 1)},
                            {Time{740ns}, ask(57, 1, 13, 1)}});
  CHECK(counts(b.iommu, "requests") == Counts{6, 8});
  CHECK(counts(b.iommu, "tlb_hits") == Counts{2, 3});
  CHECK(counts(b.iommu, "tlb_misses") == Counts{4, 5});
  CHECK(counts(b.iommu, "merged_misses") == Counts{2, 1});
  CHECK(counts(b.iommu, "page_faults") == Counts{0, 1});
  CHECK(counts(b.iommu, "remote_faults") == Counts{0, 0});
  CHECK(counts(b.iommu, "merged_faults") == Counts{1, 0});
  CHECK(counts(b.iommu, "refused_faults") == Counts{1, 2});
  CHECK(test::stat_of(b.iommu, "iommu", "replays") == 4);
  CHECK(counts(b.driver, "page_faults") == Counts{0, 1});
  CHECK(counts(b.driver, "pages_mapped") == Counts{0, 1});
}

TEST_CASE("IOMMU: a first touch mapped by the IOMMU counts for the first requester") {
  using namespace iommu_bench;
  auto const table = two_pages();
  IommuBench const b(iommu_of(table), {{Time{100ns}, ask(55, 1, 1, 1)}, {Time{101ns}, ask(55, 2, 2, 0)}});
  CHECK(counts(b.iommu, "page_faults") == Counts{0, 1});
  CHECK(counts(b.iommu, "merged_misses") == Counts{1, 0});
  CHECK(counts(b.driver, "pages_mapped") == Counts{0, 1});
}

TEST_CASE("IOMMU: with migrations, faults of walks, TLB hits and moving pages name the application") {
  using namespace iommu_bench;
  PageTable table(kTable, 12);
  for (std::uint64_t i = 0; i < 3; ++i) table.map(kPage + i, physical(1, (5 + i) << 12));
  auto spec = iommu_of(table);
  spec.decision.choose("migrate");
  spec.moves = 2;
  Bench b;
  auto& iommu = b.system.add<Iommu>("iommu", spec);
  b.feed(iommu.request, {{Time{100ns}, ask(kPage, 0, 1, 1)},        // a walk
                         {Time{200ns}, ask(kPage + 1, 1, 2, 1)},    // on its own GPU: no fault
                         {Time{300ns}, ask(kPage + 1, 0, 3, 0)},    // TLB hit
                         {Time{400ns}, ask(kPage + 1, 2, 4, 1)},    // another GPU: merged
                         {Time{600ns}, ask(kPage + 2, 1, 5, 1)},    // during its migration
                         {Time{700ns}, ask(kPage + 2, 1, 6, 0)}});  // merged
  b.feed(
      iommu.move,
      {{Time{500ns},
        {.page = kPage + 2, .frame = physical(1, 7 << 12), .move = 0, .step = MoveStep::unmap, .size = 0}}});
  b.idle(iommu.mapped, iommu.invalidated);
  b.sink(iommu.response);
  b.sink(iommu.first_touch);
  b.sink(iommu.step_done);
  auto& faults = b.sink(iommu.fault);
  auto& cache = b.responder<MemRequest, MemResponse>(memory(always(10ns)), iommu.entry_read);
  b.join_family(iommu.read_entry, {cache.request});
  b.run();
  CHECK(counts(iommu, "remote_faults") == Counts{1, 2});
  CHECK(counts(iommu, "merged_faults") == Counts{1, 1});
  CHECK(counts(iommu, "tlb_hits") == Counts{1, 1});
  CHECK(counts(iommu, "tlb_misses") == Counts{1, 3});
  REQUIRE(faults.count() == 3);
  Counts named;
  for (auto const& r : faults.records()) named.push_back(r.message.as<PageFault>().application);
  CHECK(named == Counts{1, 0, 1});
  for (auto const& r : faults.records()) CHECK(r.message.as<PageFault>().recorded_by_gpu == 0);
}

TEST_CASE("GMMU: faults recorded by the GPU are counted for the application of the request") {
  using namespace gmmu_bench;
  auto const table = one_page();
  auto spec = spec_of("centralized", table);
  spec.applications = kTwo;
  spec.records_faults = true;
  spec.params.fault_buffer = 2;
  GmmuBench b(spec, {{Time{100ns}, {500, 1, 1}},
                     {Time{101ns}, {500, 2, 0}},
                     {Time{102ns}, {501, 3, 0}},
                     {Time{103ns}, {502, 4, 1}},
                     {Time{104ns}, {503, 5, 1}},
                     {Time{105ns}, {501, 6, 1}},
                     {Time{106ns}, {500, 7, 1}}});
  b.unrecorded_from = 500;
  b.run();
  CHECK(counts(b.gmmu, "page_faults") == Counts{1, 1});
  CHECK(counts(b.gmmu, "merged_faults") == Counts{1, 2});
  CHECK(counts(b.gmmu, "refused_faults") == Counts{0, 2});
  CHECK(counts(b.gmmu, "requests") == Counts{2, 5});
  REQUIRE(b.faults->count() == 2);
  CHECK(b.fault(0).application == 1);
  CHECK(b.fault(1).application == 0);
  CHECK(b.fault(0).recorded_by_gpu == 1);
  CHECK(test::stat_of(b.gmmu, "gmmu", "recorded_faults") == 2);
  CHECK(test::stat_of(b.gmmu, "gmmu", "faulted_responses") == 7);

  GmmuBench remote(spec, {{Time{100ns}, {500, 1, 1}}});
  remote.unrecorded_from = 500;
  remote.kind = FaultKind::remote;
  remote.run();
  CHECK(counts(remote.gmmu, "remote_faults") == Counts{0, 1});
  CHECK(counts(remote.gmmu, "page_faults") == Counts{0, 0});
}

TEST_CASE("GMMU: without a fault buffer it has no fault statistics, and the others are unchanged") {
  using namespace gmmu_bench;
  auto const table = one_page();
  auto spec = spec_of("centralized", table);
  spec.applications = kTwo;
  GmmuBench b(spec,
              {{Time{100ns}, {kPage, 1, 1}}, {Time{200ns}, {kRemote, 2, 0}}, {Time{300ns}, {98, 3, 1}}});
  b.run();
  for (auto const* stat : {"page_faults", "remote_faults", "merged_faults", "refused_faults",
                           "recorded_faults", "fault_latency"}) {
    CHECK_FALSE(has(b.gmmu, stat));
    for (auto const& g : b.gmmu.stat_groups())
      CHECK(std::ranges::find(g.stats, stat, &StatInfo::name) == g.stats.end());
  }
  CHECK(has(b.gmmu, "iommu_requests"));
  CHECK(counts(b.gmmu, "requests") == Counts{1, 2});
  CHECK(counts(b.gmmu, "iommu_requests") == Counts{1, 2});
  CHECK(test::stat_of(b.gmmu, "gmmu", "responses") == 3);
}

namespace {

PageFault of(std::uint8_t application, PageFault fault) {
  fault.application = application;
  return fault;
}
Texts columns(AnyComponent const& c, std::size_t table) {
  Texts names;
  auto const tables = c.tables();
  for (auto const& column : tables[table].columns) names.push_back(column.name);
  return names;
}
Rows rows(AnyComponent& c, std::uint32_t of_table) {
  TableRows taken;
  c.take_rows(taken);
  Rows all;
  TableRows::read(taken.bytes(), [&](std::uint32_t, std::uint32_t table, std::vector<Cell> const& cells) {
    auto const columns = c.tables()[table].columns;
    REQUIRE(cells.size() == columns.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
      CHECK(std::holds_alternative<std::string>(cells[i]) == (columns[i].type == ColumnType::text));
    if (table == of_table) all.push_back(cells);
  });
  return all;
}
Texts last_of(Rows const& rows) {
  Texts all;
  for (auto const& row : rows) all.push_back(std::get<std::string>(row.back()));
  return all;
}

}  // namespace

TEST_CASE("driver: first touches, including remote ones, are counted for the application of the fault") {
  using namespace driver_bench;
  PagingDriverSpec spec;
  spec.applications = kTwo;
  spec.maps_at_first_touch = true;
  spec.placed = in_use({9, 9, 10}, 70);
  spec.frames_per_gpu = 10;
  DriverBench b(spec, {.faults = {{Time{100ns}, of(1, fault(7, 0, 1, 1))},
                                  {Time{200ns}, of(0, fault(7, 1, 0, 2))},  // already mapped
                                  {Time{300ns}, of(0, fault(8, 1, 0, 3))},
                                  {Time{400ns}, of(1, fault(9, 0, 0, 4))},      // on the CPU
                                  {Time{500ns}, of(1, fault(10, 2, 0, 5))}}});  // on the CPU
  CHECK(counts(b.driver, "page_faults") == Counts{2, 3});
  CHECK(counts(b.driver, "pages_mapped") == Counts{1, 3});
  CHECK(counts(b.driver, "pages_spilled") == Counts{0, 2});
  CHECK(columns(b.driver, 0).back() == "application");
  CHECK(last_of(rows(b.driver, 0)) == Texts{"bfs", "fir", "bfs", "bfs"});
}

TEST_CASE("driver: migrations are counted for the application of the fault, and the table names it") {
  using namespace driver_bench;
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.applications = kTwo;
  spec.maps_at_first_touch = true;
  spec.decide_by(PolicyChoice<PageDecision>("migrate"));
  spec.preloaded = &table;
  spec.placed = in_use({1000, 200, 300}, 50);
  DriverBench b(spec, {.faults = {{Time{100ns}, of(1, remote(kPage, 2, 1, 11))},
                                  {Time{200ns}, of(0, remote(kPage, 1, 0, 12))},      // waits for it
                                  {Time{300ns}, of(1, remote(kPage + 1, 0, 0, 13))},  // GPU 0 is full
                                  {Time{400ns}, of(0, fault(7, 1, 0, 14))}},
                       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  CHECK(counts(b.driver, "migrations") == Counts{0, 1});
  CHECK(counts(b.driver, "migration_time") == Counts{0, 8'900'000});
  CHECK(counts(b.driver, "migrations_refused") == Counts{0, 1});
  CHECK(counts(b.driver, "page_faults") == Counts{2, 2});
  CHECK(counts(b.driver, "pages_mapped") == Counts{1, 0});
  CHECK(columns(b.driver, 1).back() == "application");
  CHECK(last_of(rows(b.driver, 1)) == Texts{"bfs"});
  REQUIRE(b.copies[2]->count() == 1);
  CHECK(b.copies[2]->records()[0].message.application == 1);
  CHECK(b.copies[2]->records()[0].message.space == 0);
}

TEST_CASE("driver: a page whose contents a first touch fetches counts for the touching application") {
  using namespace driver_bench;
  PagingDriverSpec spec;
  spec.applications = kTwo;
  spec.maps_at_first_touch = true;
  spec.first_touch_copy = true;
  std::uint64_t const page = std::uint64_t{3} << (kVirtualBits - 12) | 7;  // of address space 3
  spec.spaces = 4;
  PageTable const table(0, 12, spec.spaces);
  spec.preloaded = &table;
  spec.host_written = {{page, 1}};
  DriverBench b(spec, {.faults = {{Time{100ns}, of(1, fault(page, 0, 0, 1))},
                                  {Time{200ns}, of(0, fault(page, 1, 0, 2))}},
                       .copied = {{Time{9us}, {0}}}});
  CHECK(counts(b.driver, "page_faults") == Counts{1, 1});
  CHECK(counts(b.driver, "pages_mapped") == Counts{0, 1});
  CHECK(last_of(rows(b.driver, 0)) == Texts{"bfs"});
  REQUIRE(b.copies[0]->count() == 1);
  CHECK(b.copies[0]->records()[0].message.application == 1);
  CHECK(b.copies[0]->records()[0].message.space == 3);
}

TEST_CASE("driver: a row has the page size, then the application of the first touch") {
  using namespace driver_bench;
  Workload const w("w", {{"large", 1024 << 12, 512 << 12}}, {}, {}, {});
  Applications const applications(w);
  PagingDriverSpec spec;
  spec.applications = kTwo;
  spec.maps_at_first_touch = true;
  spec.frames_per_gpu = 10'000;
  spec.large = LargePages({"all", 9}, applications, {{{1024, 512}}});
  DriverBench b(spec, {.faults = {{Time{100ns}, of(1, fault(1030, 0, 1, 1))}}});
  CHECK(columns(b.driver, 0) == Texts{"page", "gpu", "device", "mapped", "base_pages", "application"});
  auto const taken = rows(b.driver, 0);
  REQUIRE(taken.size() == 1);
  CHECK(taken[0][4] == Cell{std::uint64_t{512}});
  CHECK(last_of(taken) == Texts{"bfs"});
}

TEST_CASE("driver: with one application, its tables have no application column, and counts are not split") {
  using namespace driver_bench;
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.applications = {"fir"};
  spec.maps_at_first_touch = true;
  spec.decide_by(PolicyChoice<PageDecision>("migrate"));
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 0, 1, 11)}}});
  CHECK(columns(b.driver, 0) == Texts{"page", "gpu", "device", "mapped"});
  CHECK(columns(b.driver, 1) == Texts{"page", "from", "to", "started", "unmapped", "finished"});
  CHECK(rows(b.driver, 0).size() == 1);
  for (auto const& g : b.driver.stat_groups()) CHECK(g.kind != "driver.by_application");
  CHECK(test::stat_of(b.driver, "driver", "pages_mapped") == 1);
  CHECK(has(b.driver, "active_migrations"));
}

TEST_CASE("driver: copies, allocations and frees of a stream are counted for its application") {
  using namespace driver_bench;
  PageTable table(0, 12);
  table.map(64, physical(0, 7 << 12));
  table.map(65, physical(2, 5 << 12));
  HostPages host_pages({{64, 2}}, 0);
  host_pages.each([&](std::uint64_t page, std::uint64_t& frame) { frame = 300 + page - 64; });
  PlannedPages planned({{512, 4}}, kNotPlanned);
  for (std::uint64_t p = 512; p < 516; ++p) *planned.find(p) = 1;
  PagingDriverSpec spec;
  spec.applications = kTwo;
  spec.application_of_stream = {0, 0, 1};
  spec.placed = in_use({1000, 999, 200}, 300);
  spec.preloaded = &table;
  spec.host_pages = &host_pages;
  spec.planned = &planned;
  Bench b;
  auto& driver = b.system.add<PagingDriver>("driver", DriverBench::with_memory(spec));
  auto const order = [](std::uint64_t page, std::uint64_t bytes, std::uint32_t stream, OperationKind kind) {
    return MemoryOrder{.first = page << 12, .bytes = bytes, .stream = stream, .kind = kind};
  };
  b.feed(driver.memory_order, {{Time{100ns}, order(64, 1024, 1, OperationKind::copy_to_gpus)},
                               {Time{200ns}, order(64, 8192, 2, OperationKind::copy_to_host)},
                               {Time{1us}, order(512, 3 * 4096, 2, OperationKind::allocate)},
                               {Time{10us}, order(512, 2 * 4096, 1, OperationKind::free)}});
  b.feed(driver.copied, {{Time{500ns}, {0}}, {Time{510ns}, {1}}, {Time{520ns}, {0}}});
  std::vector<Record<StepDone>> done;
  for (std::uint32_t const move : {0U, 1U, 2U})
    for (int iommu = 0; iommu < 2; ++iommu) done.push_back({Time{5us}, {move}});
  for (std::uint32_t const move : {2U, 1U})  // the most recently freed number is used first
    for (int iommu = 0; iommu < 2; ++iommu) done.push_back({Time{15us}, {move}});
  b.feed(driver.step_done, std::move(done));
  b.idle(driver.fault);
  auto const mapped = b.sinks(driver.mapped, 2);
  b.join(driver.placed, mapped[0]->in_port);
  b.sinks(driver.move, 2);
  auto const copies = b.sinks(driver.copy, 3);
  auto& ended = b.sink(driver.order_done);
  b.run();
  CHECK(ended.count() == 4);
  REQUIRE(copies[0]->count() == 2);
  CHECK(copies[0]->records()[0].message.application == 0);
  CHECK(copies[0]->records()[1].message.application == 1);
  CHECK(counts(driver, "copied_bytes") == Counts{1024, 8192});
  CHECK(counts(driver, "allocated_pages") == Counts{0, 3});
  CHECK(counts(driver, "freed_pages") == Counts{2, 0});
  CHECK(counts(driver, "pages_spilled") == Counts{0, 2});
}

}  // namespace counted_faults_test
