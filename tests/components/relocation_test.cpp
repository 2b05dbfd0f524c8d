// SPDX-License-Identifier: Apache-2.0
// Pages that the driver moves within a GPU's memory: each order and its time.
#include <doctest/doctest.h>

#include "iommu_bench.hpp"
#include "paging_driver_bench.hpp"
#include "policies.hpp"

namespace relocation_test {

using namespace farfault;
using farfault::mock::Bench;
using farfault::mock::Record;
using farfault::mock::Sink;

namespace {

using Times = std::vector<std::int64_t>;

constexpr PhysAddr frame(std::uint64_t number) {
  return physical(0, number << 12);
}

// One GPU with large frames of four base pages. Pages 8 to 31 are allocated en masse. A fault takes 1 us,
// links 1 ns; pages are mapped at their first touch.
struct RelocationBench : Bench {
  struct Script {
    std::vector<Record<PageFault>> faults = {};
    std::vector<Record<StepDone>> done = {};
    std::vector<Record<CopyDone>> copied = {};
    std::vector<Record<MemoryOrder>> orders = {};  // if the machine has host pages
  };
  static PagingDriverSpec memory(std::string const& compaction, std::uint64_t frames) {
    PagingDriverSpec spec;
    spec.frames = PolicyChoice<FrameAllocator>("contiguity_conserving");
    spec.compaction = PolicyChoice<Compaction>(compaction);
    spec.max_moved = 2;
    spec.large_size = 2;
    spec.large_regions = {2, {{8, 24}}};
    spec.frames_per_gpu = frames;
    spec.devices = NodeDevices(1);
    spec.stalls_gpus = true;
    spec.maps_at_first_touch = true;
    spec.application_of_space = {0};
    return spec;
  }
  RelocationBench(PagingDriverSpec const& spec, Script script)
      : driver(system.add<PagingDriver>("driver", spec)) {
    feed(driver.fault, as_packets(script.faults));
    feed(driver.step_done, std::move(script.done));
    feed(driver.copied, std::move(script.copied));
    if (spec.host_pages != nullptr) {
      feed(driver.memory_order, std::move(script.orders));
      sink(driver.order_done);
    }
    mapped = sinks(driver.mapped, 1);
    join(driver.placed, mapped[0]->in_port);
    moves = sinks(driver.move, 1);
    auto const gpus = static_cast<std::uint32_t>(spec.devices.gpus());
    copies = sinks(driver.copy, gpus);
    stalls = sinks(driver.stall, gpus);
    run();
  }
  PageMapped answer(std::size_t n) const { return mapped[0]->records()[n].message; }
  PageMove order(std::size_t n) const { return moves[0]->records()[n].message; }
  CopyOrder copy(std::size_t n) const { return copies[0]->records()[n].message; }
  PagingDriver& driver;
  std::vector<Sink<PageMapped>*> mapped;
  std::vector<Sink<PageMove>*> moves;
  std::vector<Sink<CopyOrder>*> copies;
  std::vector<Sink<GpuStall>*> stalls;
};

// Two large frames, each with one base page of no application.
PagingDriverSpec fragmented(std::string const& compaction) {
  auto spec = RelocationBench::memory(compaction, 8);
  spec.fragmentation = {1, 0.25, 1};
  return spec;
}

// Base pages 1024 to 1534 of a large page, in frames 1 to 511 of the GPU. The last one, 1535, is unmapped.
// Frame 0 holds another page.
PagingDriverSpec nearly_large() {
  auto spec = RelocationBench::memory("cac_bulk_copy", 2048);
  spec.max_moved = 0;
  spec.frames = PolicyChoice<FrameAllocator>("on_demand");
  spec.page_sizes = PolicyChoice<PageSizes>("migrating_coalescer");
  spec.coalesces = true;
  spec.moves_to_coalesce = true;
  spec.large_size = 9;
  spec.params.migrations = 1024;
  static std::vector<PlacedPage> placed{{5000, 0, 0}};
  static PageTable table(0, 12);
  if (placed.size() == 1) {
    table.map(5000, frame(0));
    for (std::uint64_t i = 0; i < 511; ++i) {
      placed.push_back({1024 + i, 0, 0});
      table.map(1024 + i, frame(1 + i));
    }
  }
  spec.placed = &placed;
  spec.preloaded = &table;
  return spec;
}

}  // namespace

TEST_CASE("driver: a first touch waits for a copy of preoccupied data, 80 ns with the GPU stopped") {
  RelocationBench const b(fragmented("cac_bulk_copy"),
                          {.faults = {{Time{1us}, driver_bench::fault(9, 0, 0, 5)}}});
  CHECK(b.stalls[0]->nanoseconds() == Times{1001, 1081});
  CHECK(b.stalls[0]->records()[0].message.stalled == 1);
  CHECK(b.stalls[0]->records()[1].message.stalled == 0);
  CHECK(b.mapped[0]->nanoseconds() == Times{1080 + 1000 + 1});
  CHECK(b.answer(0).page == 9);
  CHECK((offset_of(b.answer(0).frame) >> 12) % 4 == 1);  // its own frame in the large frame
  CHECK(b.moves[0]->records().empty());
  CHECK(b.copies[0]->records().empty());
  CHECK(test::stat_of(b.driver, "memory.compaction", "emptied_large_frames") == 1);
  CHECK(test::stat_of(b.driver, "memory.compaction", "moved_pages") == 1);
}

TEST_CASE("driver: copies within the memory are made one after the other") {
  auto spec = fragmented("cac_bulk_copy");
  spec.fragmentation = {1, 0.5, 1};
  RelocationBench const b(spec, {.faults = {{Time{1us}, driver_bench::fault(9, 0, 0, 5)}}});
  CHECK(b.stalls[0]->nanoseconds() == Times{1001, 1161});
  CHECK(b.mapped[0]->nanoseconds() == Times{1160 + 1000 + 1});
  CHECK(test::stat_of(b.driver, "memory.compaction", "moved_pages") == 2);
}

TEST_CASE("driver: ideal compaction takes the minimum time") {
  auto spec = fragmented("ideal");
  spec.stalls_gpus = false;
  spec.frames_per_gpu = 8;
  struct NoStall : Bench {
    NoStall(PagingDriverSpec const& s) : driver(system.add<PagingDriver>("driver", s)) {
      feed(driver.fault, {{Time{1us}, Packet::of(driver_bench::fault(9, 0, 0, 5))}});
      feed(driver.step_done, {});
      idle(driver.copied);
      mapped = sinks(driver.mapped, 1);
      join(driver.placed, mapped[0]->in_port);
      sinks(driver.move, 1);
      sinks(driver.copy, 1);
      run();
    }
    PagingDriver& driver;
    std::vector<Sink<PageMapped>*> mapped;
  } const b(spec);
  REQUIRE(b.mapped[0]->records().size() == 1);
  CHECK(b.mapped[0]->records()[0].at == Time{2us + 1ns + Duration{1}});
}

TEST_CASE(
    "driver: with cac, the copy engine copies, and faults meanwhile wait for the large frame in order") {
  RelocationBench const b(fragmented("cac"), {.faults = {{Time{1us}, driver_bench::fault(9, 0, 0, 5)},
                                                         {Time{2us}, driver_bench::fault(10, 0, 0, 6)}},
                                              .copied = {{Time{4us}, {0}}}});
  CHECK(b.copies[0]->nanoseconds() == Times{1001});
  auto const c = b.copy(0);
  CHECK(c.bytes == 4096);
  CHECK(c.tag == 0);
  CHECK((offset_of(c.from) >> 14) != (offset_of(c.to) >> 14));
  CHECK(b.stalls[0]->nanoseconds() == Times{1001, 4001});
  CHECK(b.mapped[0]->nanoseconds() == Times{4000 + 1000 + 1, 4000 + 2000 + 1});
  CHECK(b.answer(0).page == 9);
  CHECK(b.answer(1).frame == b.answer(0).frame + 4096);
  CHECK((b.answer(0).frame >> 14) == (c.from >> 14));  // the emptied large frame
}

TEST_CASE("driver: after the last base page of a large page, all are unmapped, copied and mapped again") {
  auto const spec = nearly_large();
  RelocationBench const b(spec, {.faults = {{Time{1us}, driver_bench::fault(1535, 0, 0, 5)}},
                                 .done = {{Time{3us}, {0}}, {Time{6us}, {0}}},
                                 .copied = {{Time{5us}, {0}}}});
  // The response for the last page is sent at 2 us. One picosecond later all pages are unmapped, with
  // destinations from frame 1024 on.
  CHECK(b.mapped[0]->nanoseconds() == Times{2001});
  REQUIRE(b.moves[0]->records().size() == 513);
  for (std::size_t i = 0; i < 512; ++i) {
    CHECK(b.moves[0]->records()[i].at == Time{2us + 1ns + Duration{1}});
    CHECK(b.order(i).step == MoveStep::unmap);
    CHECK(b.order(i).page == 1024 + i);
    CHECK(b.order(i).frame == frame(1 + i));
  }
  CHECK(b.stalls[0]->nanoseconds() == Times{1001});
  auto const& s = b.driver.state();
  for (std::size_t i = 1; i < 512; ++i) CHECK(s.transitions.pages()[i].to == frame(1024 + i));
  // The first page: unmapped by 3 us, copied by 5 us, mapped by 6 us.
  CHECK(b.copies[0]->nanoseconds() == Times{3001});
  CHECK(b.copy(0).from == frame(1));
  CHECK(b.copy(0).to == frame(1024));
  CHECK(b.moves[0]->records()[512].at == Time{5us + 1ns});
  CHECK(b.order(512).step == MoveStep::map);
  CHECK(b.order(512).frame == frame(1024));
  CHECK(s.transitions.pages()[0].in_use == 0);
  CHECK(s.memory.table().find(1024)->frame == frame(1024));
  CHECK(!s.memory.table().find(1025));
  CHECK(s.memory.frames(0).available() == 2048 - 513 - 511);
  CHECK(s.relocations.of_gpu()[0].left == 511);
  CHECK(test::stat_of(b.driver, "memory.page_sizes", "moved_pages") == 0);  // not all of them
}

TEST_CASE(
    "driver: a large page is moved as soon as a program's copy to one of its base pages ends, not earlier") {
  auto spec = nearly_large();
  static HostPages const host({{1024, 512}}, 100);
  spec.host_pages = &host;
  spec.application_of_stream = {0};
  // Page 1030 is copied from 500 ns to 4 us. The last base page is mapped at 2 us.
  MemoryOrder const order{
      .first = VirtAddr{1030} << 12, .bytes = 4096, .stream = 0, .kind = OperationKind::copy_to_gpus};
  RelocationBench const b(spec, {.faults = {{Time{1us}, driver_bench::fault(1535, 0, 0, 5)}},
                                 .copied = {{Time{4us}, {0}}},
                                 .orders = {{Time{500ns}, order}}});
  CHECK(b.mapped[0]->nanoseconds() == Times{2001});
  CHECK(b.copies[0]->nanoseconds() == Times{501});
  CHECK(b.stalls[0]->nanoseconds() == Times{4001});
  REQUIRE(b.moves[0]->records().size() == 512);
  for (std::size_t i = 0; i < 512; ++i) {
    CHECK(b.moves[0]->records()[i].at == Time{4us + 1ns + Duration{1}});
    CHECK(b.order(i).step == MoveStep::unmap);
    CHECK(b.order(i).page == 1024 + i);
  }
  CHECK(b.driver.state().relocations.of_gpu()[0].left == 512);
}

TEST_CASE("driver: a page that migrates to another GPU before its relocation is not counted as moved") {
  auto spec = nearly_large();
  spec.devices = NodeDevices(2);
  spec.decision.choose("migrate");
  spec.params.migrations = 1;
  RelocationBench::Script script;
  script.faults = {{Time{1us}, driver_bench::fault(1535, 0, 0, 5)},
                   {Time{1500ns}, driver_bench::remote(1030, 1, 0, 6)}};
  // One page at a time: unmapped, copied, mapped. The second page, 1030, migrates to GPU 1, and the
  // relocation skips it.
  for (std::int64_t i = 0; i < 512; ++i) {
    auto const begins = 10us + i * 10us;
    script.done.push_back({Time{begins}, {0}});
    script.copied.push_back({Time{begins + 2us}, {0}});
    if (i != 1) script.done.push_back({Time{begins + 4us}, {0}});
  }
  RelocationBench const b(spec, script);
  auto const& s = b.driver.state();
  CHECK(s.relocations.of_gpu()[0].left == 0);
  CHECK(device_of(s.memory.table().find(1030)->frame) == 1);
  CHECK(b.copies[0]->records().size() == 511);
  CHECK(b.copies[1]->records().size() == 1);
  CHECK(test::stat_of(b.driver, "memory.page_sizes", "moved_pages") == 511);
  CHECK(s.memory.frames(0).available() == 2048 - 512);  // page 5000 and all but one page of the large page
}

}  // namespace relocation_test
