// SPDX-License-Identifier: Apache-2.0
// The paging driver: first touches, and page migration.
#include <doctest/doctest.h>

#include "hand_kernel.hpp"
#include "paging_driver_bench.hpp"

namespace paging_driver_test {

using namespace farfault;
using namespace farfault::driver_bench;

TEST_CASE("driver: faults are served one after the other, and answered to the requesting IOMMU") {
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

TEST_CASE("driver: a full GPU's pages are placed on the next GPU that is not full, and on the CPU last") {
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

TEST_CASE("driver: a full GPU's pages are placed on a GPU of their application before GPUs of others") {
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

TEST_CASE("driver: a migrating page is unmapped everywhere, then copied, then mapped at its destination") {
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
  CHECK(s.memory.table().find(kPage) == PageTranslation{there});
  CHECK(s.stats[0].migrations == 1);
  CHECK(s.stats[0].migration_ps == 8'900'000);
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE("driver: lines of a migrating page are dropped when no GPU can reach it, and then it is copied") {
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
  CHECK(b.driver.state().records.migrations()[0].unmapped == Time{5us});
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

TEST_CASE("driver: the frame of a migrated page is the next one allocated there") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 2, 0, 0)}, {Time{20us}, fault(7, 1, 0, 1)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{2us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  CHECK(b.mapped[0]->records()[1].message.frame == kFrame);
}

TEST_CASE("driver: a fault on a migrating page is answered with its new frame and starts no migration") {
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

TEST_CASE("driver: a page that is already resident is mapped without a migration") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kPage, 1, 0, 3)}}});
  CHECK(b.mapped[0]->nanoseconds() == Times{101});
  CHECK(b.mapped[0]->records()[0].message.frame == kFrame);
  CHECK(b.moves[0]->count() == 0);
}

TEST_CASE("driver: a fault on a page that another fault has mapped takes no work, but is served in order") {
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

TEST_CASE("driver: each GPU with a recorded fault is answered, and later ones take no additional work") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  auto const kept = [](std::uint16_t gpu, std::uint32_t record) {
    auto f = fault(7, gpu, 1, record);
    f.recorded_by_gpu = 1;
    return f;
  };
  DriverBench b(
      spec,
      {.faults = {{Time{100ns}, kept(0, 5)}, {Time{101ns}, kept(2, 6)}, {Time{102ns}, fault(7, 1, 1, 9)}}});
  CHECK(b.mapped[1]->nanoseconds() == Times{1101, 1101, 1101});
  CHECK(b.mapped[0]->count() == 0);
  std::vector<std::uint16_t> gpus;
  for (auto const& r : b.mapped[1]->records()) gpus.push_back(r.message.gpu);
  CHECK(gpus == std::vector<std::uint16_t>{0, 2, kNoGpu});
  CHECK(b.mapped[1]->records()[1].message.entry == 6);
  CHECK(b.driver.state().stats[0].pages_mapped == 1);
}

TEST_CASE("driver: a fault on a page that was migrating when it was requested starts no further migration") {
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

TEST_CASE("driver: the choice of who maps first touches does not affect migrating pages") {
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

TEST_CASE("driver: pages beyond the migration limit wait") {
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

TEST_CASE("driver: a page stays in place if the requesting GPU is full") {
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

TEST_CASE("driver: a page of the CPU's memory migrates too, and its frame there is freed") {
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

TEST_CASE(
    "driver: with pages mapped by the IOMMU, first touches take no driver time, whatever their number") {
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

TEST_CASE("driver: with pages mapped by the IOMMU, a migration still takes the driver's time") {
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.first_touch_by = FirstTouchBy::iommu;
  DriverBench b(spec,
                {.faults = {{Time{100ns}, remote(kPage, 2, 1, 11)}, {Time{200ns}, fault(7, 0, 1, 12)}}});
  CHECK(b.moves[0]->nanoseconds() == Times{1101});
  CHECK(b.mapped[1]->nanoseconds() == Times{201});
}

TEST_CASE("driver: it records which GPU touched each page first, the page's device, and the time") {
  PagingDriverSpec spec;
  spec.placed = in_use({100, 1000, 300}, 0);  // GPU 1 is full
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 0, 1, 11)},
                                  {Time{100ns}, fault(8, 1, 0, 12)},
                                  {Time{5us}, fault(7, 2, 0, 13)}}});
  auto const& all = b.driver.state().records.first_touches();
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
  CHECK(s.records.first_touches()[0].mapped == Time{4us});
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

TEST_CASE("driver: a machine's driver allocates frames of its own GPUs and CPU, whatever their numbers") {
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

TEST_CASE("driver: a page migrates between GPUs of one machine by the destination's copy engine") {
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

TEST_CASE("driver: data written by the host is fetched from the memory of the machine's own CPU") {
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

TEST_CASE("driver: in the location of buffers, a large page counts for each buffer by its overlap") {
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

}  // namespace paging_driver_test
