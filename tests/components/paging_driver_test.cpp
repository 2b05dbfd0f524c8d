// SPDX-License-Identifier: Apache-2.0
// The paging driver: first touches, and page migration.
#include <doctest/doctest.h>

#include "hand_kernel.hpp"
#include "paging_driver_bench.hpp"

using namespace farfault;
using namespace farfault::driver_bench;

TEST_CASE("driver: faults are handled one after the other, and answered to the IOMMU that asked") {
  DriverBench b({}, {.faults = {{Time{100ns}, fault(7, 0, 1, 11)},
                                {Time{100ns}, fault(8, 2, 0, 12)},
                                {Time{5us}, fault(7, 1, 0, 13)}}});
  auto const& iommus = b.mapped;
  CHECK(iommus[1]->nanoseconds() == Times{100 + 1000 + 1});
  CHECK(iommus[0]->nanoseconds() == Times{100 + 2000 + 1, 5000 + 1});  // already mapped: no work
  CHECK(iommus[1]->records()[0].message.frame == physical(0, 100 << 12));
  CHECK(iommus[1]->records()[0].message.entry == 11);
  CHECK(iommus[0]->records()[0].message.frame == physical(2, 300 << 12));
  CHECK(iommus[0]->records()[1].message.frame == physical(0, 100 << 12));  // its present location
  CHECK(b.driver.state().stats[0].pages_mapped == 2);
}

TEST_CASE("driver: a full GPU's pages go to the next one that is not full, and to the CPU last") {
  PagingDriverSpec spec;
  spec.placed = in_use({9, 9, 10}, 70);
  spec.frames_per_gpu = 10;
  std::vector<Record<PageFault>> script;
  for (std::uint64_t page = 0; page < 4; ++page) script.push_back({Time{100ns}, fault(page, 1, 0, 0)});
  DriverBench b(spec, {.faults = script});
  std::vector<PhysAddr> frames;
  for (auto const& r : b.mapped[0]->records()) frames.push_back(r.message.frame);
  CHECK(frames == std::vector<PhysAddr>{physical(1, 9 << 12), physical(0, 9 << 12),
                                        physical(kFirstCpu, 70 << 12), physical(kFirstCpu, 71 << 12)});
  CHECK(b.driver.state().stats[0].pages_spilled == 3);
}

TEST_CASE(
    "driver: a full GPU's pages go to another GPU of their application before they go to one of others") {
  PagingDriverSpec spec;
  spec.applications = {"fir", "bfs"};
  spec.gpus_of_application = {{0, 1}, {1, 2}};
  spec.placed = in_use({8, 10, 9}, 70);
  spec.frames_per_gpu = 10;
  std::vector<Record<PageFault>> script;
  for (std::uint64_t page = 0; page < 4; ++page) {
    script.push_back({Time{100ns}, fault(page, 1, 0, 0)});
    script.back().message.application = 1;
  }
  DriverBench b(spec, {.faults = script});
  std::vector<PhysAddr> frames;
  for (auto const& r : b.mapped[0]->records()) frames.push_back(r.message.frame);
  CHECK(frames == std::vector<PhysAddr>{physical(2, 9 << 12), physical(0, 8 << 12), physical(0, 9 << 12),
                                        physical(kFirstCpu, 70 << 12)});
  CHECK(b.driver.state().stats[1].pages_spilled == 4);
}

TEST_CASE("driver: a page that moves is unmapped everywhere, then copied, then mapped where it is wanted") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 2, 1, 11)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  auto const there = physical(2, 300 << 12);
  for (auto const* iommu : b.moves) {
    CHECK(iommu->nanoseconds() == Times{100 + 1000 + 1, 9000 + 1});
    CHECK(iommu->records()[0].message.step == MoveStep::unmap);
    CHECK(iommu->records()[0].message.page == kPage);
    CHECK(iommu->records()[0].message.frame == kFrame);
    CHECK(iommu->records()[1].message.step == MoveStep::remap);
    CHECK(iommu->records()[1].message.frame == there);
  }
  CHECK(b.copies[2]->nanoseconds() == Times{3001});
  CHECK(b.copies[2]->records()[0].message.from == kFrame);
  CHECK(b.copies[2]->records()[0].message.to == there);
  CHECK(b.copies[0]->count() + b.copies[1]->count() == 0);
  CHECK(b.mapped[1]->nanoseconds() == Times{9001});
  CHECK(b.mapped[1]->records()[0].message.frame == there);
  CHECK(b.mapped[1]->records()[0].message.entry == 11);
  CHECK(b.mapped[0]->count() == 0);
  auto const& s = b.driver.state();
  CHECK(s.table.find(kPage) == PageTranslation{there});
  CHECK(s.stats[0].migrations == 1);
  CHECK(s.stats[0].migration_ps == 8'900'000);
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE("driver: lines of a page that moves are dropped when no GPU can reach it, and then it is copied") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.flush_moving_pages = true;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 2, 1, 11)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}, {Time{4us}, {0}}, {Time{5us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  for (auto const* iommu : b.moves) {
    CHECK(iommu->nanoseconds() == Times{1101, 3001, 9001});
    CHECK(iommu->records()[1].message.step == MoveStep::flush);
    CHECK(iommu->records()[1].message.frame == kFrame);
  }
  CHECK(b.copies[2]->nanoseconds() == Times{5001});
  CHECK(b.driver.state().records[0].unmapped == Time{5us});
}

TEST_CASE("driver: a page of the CPU's memory has no lines to drop") {
  PageTable table(0, 12);
  table.map(kPage, physical(kFirstCpu, 3 << 12));
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.flush_moving_pages = true;
  spec.placed = in_use({100, 200, 300}, 50);
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 0, 0, 0)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  CHECK(b.copies[0]->nanoseconds() == Times{3001});
}

TEST_CASE("driver: the frame that a page leaves is the next one allocated there") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 2, 0, 0)}, {Time{20us}, fault(7, 1, 0, 1)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{2us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  CHECK(b.mapped[0]->records()[1].message.frame == kFrame);
}

TEST_CASE(
    "driver: a fault on a page that is migrating is answered with its new frame and starts no migration") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 2, 1, 11)},
                                  {Time{200ns}, remote(kPage, 0, 0, 12)},
                                  {Time{300ns}, fault(kPage, 0, 0, 13)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  CHECK(b.mapped[0]->nanoseconds() == Times{9001, 9001});
  for (auto const& r : b.mapped[0]->records()) CHECK(device_of(r.message.frame) == 2);
  CHECK(b.driver.state().stats[0].migrations == 1);
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE("driver: a page that is there already by the time is mapped without a move") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 1, 0, 3)}}});
  CHECK(b.mapped[0]->nanoseconds() == Times{101});
  CHECK(b.mapped[0]->records()[0].message.frame == kFrame);
  CHECK(b.moves[0]->count() == 0);
}

TEST_CASE("driver: a fault on a page that another fault has mapped takes no work, but waits for its turn") {
  DriverBench b({}, {.faults = {{Time{100ns}, fault(7, 0, 0, 11)},
                                {Time{100ns}, fault(7, 1, 0, 12)},
                                {Time{200ns}, fault(8, 1, 0, 13)},
                                {Time{300ns}, fault(7, 2, 0, 14)}}});
  CHECK(b.mapped[0]->nanoseconds() == Times{1101, 1101, 2101, 2101});
  std::vector<std::uint32_t> order;
  for (auto const& r : b.mapped[0]->records()) order.push_back(r.message.entry);
  CHECK(order == std::vector<std::uint32_t>{11, 12, 13, 14});
  CHECK(b.driver.state().stats[0].page_faults == 4);
}

TEST_CASE(
    "driver: each GPU that keeps a fault is answered, and those after the first take no more than their "
    "turn") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  auto const kept = [](std::uint16_t gpu, std::uint32_t record) {
    auto f = fault(7, gpu, 1, record);
    f.kept_by_gpu = 1;
    return f;
  };
  DriverBench b(
      spec,
      {.faults = {{Time{100ns}, kept(0, 5)}, {Time{101ns}, kept(2, 6)}, {Time{102ns}, fault(7, 1, 1, 9)}}});
  CHECK(b.mapped[1]->nanoseconds() == Times{1101, 1101, 1101});
  CHECK(b.mapped[0]->count() == 0);
  std::vector<std::uint16_t> keepers;
  for (auto const& r : b.mapped[1]->records()) keepers.push_back(r.message.keeper);
  CHECK(keepers == std::vector<std::uint16_t>{1, 3, 0});
  CHECK(b.mapped[1]->records()[1].message.entry == 6);
  CHECK(b.driver.state().stats[0].pages_mapped == 1);
}

TEST_CASE("driver: a fault of a page that was moving when it was asked for makes it move no more") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(kPage, 2, 1, 5, FaultKind::moving)}}});
  CHECK(b.mapped[1]->nanoseconds() == Times{101});
  CHECK(b.mapped[1]->records()[0].message.frame == kFrame);
  CHECK(b.mapped[1]->records()[0].message.kind == FaultKind::moving);
  CHECK(b.driver.state().stats[0].migrations_refused == 0);
  CHECK(b.moves[0]->count() == 0);
}

TEST_CASE("driver: who maps pages at their first touch changes nothing for pages that migrate") {
  auto const table = one_page();
  for (auto const by : {FirstTouchBy::driver, FirstTouchBy::iommu}) {
    PagingDriverSpec spec;
    spec.preloaded = &table;
    spec.first_touch_by = by;
    DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 2, 1, 11)},
                                    {Time{150ns}, remote(kPage + 1, 0, 1, 12)},
                                    {Time{200ns}, remote(kPage, 0, 1, 13)}},
                         .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}, {Time{4us}, {1}}, {Time{5us}, {1}}},
                         .copied = {{Time{9us}, {0}}, {Time{12us}, {1}}}});
    CHECK(b.moves[0]->nanoseconds() == Times{1101, 2101, 9001, 12001});
    CHECK(b.mapped[1]->nanoseconds() == Times{9001, 9001, 12001});
    CHECK(b.mapped[0]->count() == 0);
  }
}

TEST_CASE("driver: pages beyond those that may move at a time wait for their turn") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.params.migrations = 1;
  DriverBench b(spec,
                {.faults = {{Time{100ns}, remote(kPage, 2, 0, 0)}, {Time{101ns}, remote(kPage + 1, 0, 0, 1)}},
                 .unmapped = {{Time{2us}, {0}}, {Time{2us}, {0}}, {Time{12us}, {0}}, {Time{12us}, {0}}},
                 .copied = {{Time{9us}, {0}}, {Time{15us}, {0}}}});
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 9001, 10001, 15001});
  CHECK(b.moves[0]->records()[2].message.page == kPage + 1);
  CHECK(b.copies[0]->nanoseconds() == Times{12001});
  CHECK(b.driver.state().stats[0].migrations == 2);
}

TEST_CASE("driver: a page stays where it is when the GPU that wants it is full") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.placed = in_use({100, 200, 1000}, 0);
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 2, 0, 3)}}});
  CHECK(b.mapped[0]->nanoseconds() == Times{1101});
  CHECK(b.mapped[0]->records()[0].message.frame == kFrame);
  CHECK(b.driver.state().stats[0].migrations_refused == 1);
  CHECK(b.driver.state().stats[0].migrations == 0);
}

TEST_CASE("driver: a page of the CPU's memory moves too, and its frame there is free again") {
  PageTable table(0, 12);
  table.map(kPage, physical(kFirstCpu, 3 << 12));
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.placed = in_use({0, 0, 0}, 50);
  spec.frames_per_gpu = 1;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 0, 0, 0)},
                                  {Time{20us}, fault(1, 0, 0, 1)},
                                  {Time{30us}, fault(2, 0, 0, 2)},
                                  {Time{40us}, fault(3, 0, 0, 3)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{2us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  std::vector<PhysAddr> frames;
  for (auto const& r : b.mapped[0]->records()) frames.push_back(r.message.frame);
  CHECK(frames ==
        std::vector<PhysAddr>{physical(0, 0), physical(1, 0), physical(2, 0), physical(kFirstCpu, 3 << 12)});
}

TEST_CASE("driver: where the IOMMU maps pages itself, a first touch takes no time, however many there are") {
  PagingDriverSpec spec;
  spec.first_touch_by = FirstTouchBy::iommu;
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 0, 1, 11)},
                                  {Time{100ns}, fault(8, 2, 0, 12)},
                                  {Time{100ns}, fault(9, 2, 0, 13)},
                                  {Time{100ns}, fault(7, 1, 0, 14)}}});
  CHECK(b.mapped[1]->nanoseconds() == Times{101});
  CHECK(b.mapped[0]->nanoseconds() == Times{101, 101, 101});
  CHECK(b.mapped[0]->records()[1].message.frame == physical(2, 301 << 12));
  CHECK(b.mapped[0]->records()[2].message.frame == physical(0, 100 << 12));  // GPU of the first fault
  CHECK(b.driver.state().stats[0].pages_mapped == 3);
  CHECK(b.driver.state().stats[0].page_faults == 4);
}

TEST_CASE("driver: where the IOMMU maps pages itself, a move takes the driver's time all the same") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.first_touch_by = FirstTouchBy::iommu;
  DriverBench b(spec,
                {.faults = {{Time{100ns}, remote(kPage, 2, 1, 11)}, {Time{200ns}, fault(7, 0, 1, 12)}}});
  CHECK(b.moves[0]->nanoseconds() == Times{1101});
  CHECK(b.mapped[1]->nanoseconds() == Times{201});
}

TEST_CASE("driver: it remembers which GPU touched each page first, where the page went, and when") {
  PagingDriverSpec spec;
  spec.placed = in_use({100, 1000, 300}, 0);  // GPU 1 is full
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 0, 1, 11)},
                                  {Time{100ns}, fault(8, 1, 0, 12)},
                                  {Time{5us}, fault(7, 2, 0, 13)}}});
  auto const& all = b.driver.state().first_touches;
  REQUIRE(all.size() == 2);
  CHECK(all[0].page == 7);
  CHECK(all[0].gpu == 0);
  CHECK(all[0].frame == physical(0, 100 << 12));
  CHECK(all[0].mapped == Time{1100ns});
  CHECK(all[1].page == 8);
  CHECK(all[1].gpu == 1);
  CHECK(all[1].frame == physical(2, 300 << 12));
  CHECK(all[1].mapped == Time{2100ns});
}

TEST_CASE(
    "driver: with contents to copy, a page is fetched from the CPU before its first touch is answered") {
  PagingDriverSpec spec;
  spec.first_touch_copy = true;
  spec.host_written = {{0, 100}};
  spec.placed = in_use({100, 200, 300}, 50);
  spec.params.migrations = 1;
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 1, 0, 11)},
                                  {Time{200ns}, fault(7, 2, 1, 12)},   // waits for the copy
                                  {Time{300ns}, fault(8, 0, 0, 13)}},  // waits for its turn
                       .copied = {{Time{4us}, {0}}, {Time{9us}, {0}}}});
  CHECK(b.copies[1]->nanoseconds() == Times{100 + 1000 + 1});
  CHECK(b.copies[1]->records()[0].message.from == physical(kFirstCpu, 50 << 12));
  CHECK(b.copies[1]->records()[0].message.to == physical(1, 200 << 12));
  CHECK(b.mapped[0]->nanoseconds() == Times{4001, 9001});
  CHECK(b.mapped[0]->records()[0].message.frame == physical(1, 200 << 12));
  CHECK(b.mapped[1]->nanoseconds() == Times{4001});
  CHECK(b.mapped[1]->records()[0].message.frame == physical(1, 200 << 12));
  CHECK(b.copies[0]->nanoseconds() == Times{4000 + 1000 + 1});
  CHECK(b.copies[0]->records()[0].message.from == physical(kFirstCpu, 50 << 12));  // free again
  auto const& s = b.driver.state();
  CHECK(s.first_touches[0].mapped == Time{4us});
  CHECK(s.stats[0].pages_mapped == 2);
  CHECK(s.stats[0].page_faults == 3);
  CHECK(s.stats[0].migrations == 0);
  CHECK(b.moves[0]->count() == 0);
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE("driver: a page that finds all GPUs full has its contents in the CPU's memory already") {
  PagingDriverSpec spec;
  spec.first_touch_copy = true;
  spec.host_written = {{0, 100}};
  spec.placed = in_use({10, 10, 10}, 0);
  spec.frames_per_gpu = 10;
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 1, 0, 11)}}});
  CHECK(b.mapped[0]->nanoseconds() == Times{1101});
  CHECK(b.copies[0]->count() + b.copies[1]->count() + b.copies[2]->count() == 0);
}

TEST_CASE(
    "driver: a machine's driver allocates frames of its own GPUs and its own CPU, whatever their "
    "numbers") {
  PagingDriverSpec spec;
  spec.devices = NodeDevices({4, 6, 9}, kFirstCpu + 2);
  spec.placed = in_use({9, 9, 10}, 70);
  spec.frames_per_gpu = 10;
  std::vector<Record<PageFault>> script;
  for (std::uint64_t page = 0; page < 3; ++page) script.push_back({Time{100ns}, fault(page, 6, 0, 0)});
  DriverBench b(spec, {.faults = script});
  std::vector<PhysAddr> frames;
  for (auto const& r : b.mapped[0]->records()) frames.push_back(r.message.frame);
  CHECK(frames ==
        std::vector<PhysAddr>{physical(6, 9 << 12), physical(4, 9 << 12), physical(kFirstCpu + 2, 70 << 12)});
}

TEST_CASE("driver: a page moves between a machine's own GPUs, by the copy engine of the one that wants it") {
  PageTable table(0, 12);
  table.map(kPage, physical(6, 5 << 12));
  PagingDriverSpec spec;
  spec.devices = NodeDevices({4, 6, 9}, kFirstCpu + 2);
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 9, 1, 11)}, {Time{20us}, fault(77, 6, 0, 1)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  REQUIRE(b.copies[2]->records().size() == 1);
  CHECK(b.copies[2]->records()[0].message.from == physical(6, 5 << 12));
  CHECK(b.copies[2]->records()[0].message.to == physical(9, 300 << 12));
  REQUIRE(b.mapped[0]->records().size() == 1);
  CHECK(b.mapped[0]->records()[0].message.frame == physical(6, 5 << 12));  // freed by the migration
}

TEST_CASE("driver: what the host wrote is fetched from the memory of the machine's own CPU") {
  PagingDriverSpec spec;
  spec.devices = NodeDevices({4, 6, 9}, kFirstCpu + 2);
  spec.placed = in_use({100, 200, 300}, 50);
  spec.first_touch_copy = true;
  spec.host_written = {{7, 1}};
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 6, 1, 11)}}, .copied = {{Time{9us}, {0}}}});
  REQUIRE(b.copies[1]->records().size() == 1);
  CHECK(b.copies[1]->records()[0].message.from == physical(kFirstCpu + 2, 50 << 12));
  CHECK(b.copies[1]->records()[0].message.to == physical(6, 200 << 12));
}

TEST_CASE(
    "driver: where the pages of buffers are, a large page counts for each buffer as far as it lies there") {
  // Base pages 500 to 509 on GPU 0, and 1024 on the CPU; 512 to 1023 are one large page on GPU 1.
  PageTable table(0, 12);
  for (std::uint64_t page = 500; page < 510; ++page) table.map(page, physical(0, page << 12));
  table.map(512, physical(1, 512 << 12), 9);
  table.map(1024, physical(kFirstCpu, 0));
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<HandKernel>(KernelShape{"k", 1, 64, 1, 0},
                                                 [](std::uint64_t, std::uint32_t) { return Program{}; }));
  Workload const workload{
      "program",
      {{"a", 500 << 12, 40 << 12}, {"b", 540 << 12, (491 << 12) - 1}, {"c", 1031 << 12, 1}},
      std::move(kernels),
      {}};
  Applications const applications(workload);
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.programs = &applications;
  DriverBench const b(spec, {});
  TableRows rows;
  rows.begin(b.driver.id());
  b.driver.final_rows(rows);
  std::vector<std::vector<Cell>> all;
  TableRows::read(rows.bytes(), [&](std::uint32_t, std::uint32_t number, std::vector<Cell> const& cells) {
    CHECK(b.driver.tables()[number].name == "page_placement");
    all.emplace_back(cells.begin() + 1, cells.end());  // without the application
  });
  auto const row = [](char const* buffer, char const* device, std::uint64_t pages) {
    return std::vector<Cell>{std::string(buffer), std::string(device), pages};
  };
  CHECK(all == std::vector<std::vector<Cell>>{row("a", "gpu0", 10), row("a", "gpu1", 28),
                                              row("b", "gpu1", 484), row("b", "cpu0", 1)});
}
