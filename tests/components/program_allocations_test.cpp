// SPDX-License-Identifier: Apache-2.0
// Memory that programs allocate and free, at the driver and at the IOMMU.
#include <doctest/doctest.h>

#include "iommu_bench.hpp"
#include "paging_driver_bench.hpp"
#include "policies.hpp"

namespace program_allocations_test {

using namespace farfault;
using farfault::mock::Bench;
using farfault::mock::in_use;
using farfault::mock::Record;
using farfault::mock::Sink;

namespace {

using Times = std::vector<std::int64_t>;

constexpr std::uint64_t kBase = 512;  // first page of the buffer

MemoryOrder allocate(std::uint64_t pages, std::uint32_t stream = 0, std::uint64_t first = kBase) {
  return {.first = first << 12, .bytes = pages << 12, .stream = stream, .kind = OperationKind::allocate};
}
MemoryOrder free_of(std::uint64_t pages, std::uint32_t stream = 0, std::uint64_t first = kBase) {
  return {.first = first << 12, .bytes = pages << 12, .stream = stream, .kind = OperationKind::free};
}

// Planned pages: 512 and 514 on GPU 1, 513 on GPU 0, 515 on the CPU, 516 without a location, and `large`
// pages from 1024 on on GPU 2. In use are 100, 200 and 300 frames of the GPUs and 50 of the CPU. The driver
// takes 100 ns per page, links take 1 ns.
struct AllocationBench : Bench {
  struct Script {
    std::vector<Record<MemoryOrder>> orders = {};
    std::vector<Record<StepDone>> done = {};
    std::vector<Record<PageFault>> faults = {};
  };
  explicit AllocationBench(Script script, PagingDriverSpec spec = {}, std::uint64_t frames = 10'000,
                           std::vector<PlacedPage> const* placed = nullptr, std::uint64_t large = 512)
      : planned({{kBase, 5}, {1024, large}}, kNotPlanned) {
    *planned.find(512) = *planned.find(514) = 1;
    *planned.find(513) = 0;
    *planned.find(515) = kFirstCpu;
    for (auto p = std::uint64_t{1024}; p < 1024 + large; ++p) *planned.find(p) = 2;
    spec.frames_per_gpu = frames;
    spec.placed = placed != nullptr ? placed : in_use({100, 200, 300}, 50);
    spec.preloaded = &table;
    spec.host_pages = &no_host_pages;
    spec.planned = &planned;
    spec.application_of_stream = {0, 0};
    driver = &system.add<PagingDriver>("driver", driver_bench::DriverBench::with_memory(spec));
    feed(driver->memory_order, std::move(script.orders));
    feed(driver->fault, as_packets(script.faults));
    feed(driver->step_done, std::move(script.done));
    idle(driver->copied);
    mapped = sinks(driver->mapped, 2);
    join(driver->placed, mapped[0]->in_port);
    moves = sinks(driver->move, 2);
    sinks(driver->copy, 3);
    done = &sink(driver->order_done);
    run();
  }
  PageMove order(std::size_t n) const { return moves[0]->records()[n].message; }
  PageTable const& pages() const { return driver->state().memory.table(); }

  PageTable table{0, 12};
  HostPages no_host_pages;
  PlannedPages planned;
  PagingDriver* driver = nullptr;
  std::vector<Sink<PageMapped>*> mapped;
  std::vector<Sink<PageMove>*> moves;
  Sink<MemoryOrderDone>* done = nullptr;
};

// Both IOMMUs report a completed step of each of these moves, one every 10 ns.
std::vector<Record<StepDone>> steps(std::int64_t from, std::vector<std::uint32_t> const& moves) {
  std::vector<Record<StepDone>> all;
  for (auto const m : moves)
    for (int iommu = 0; iommu < 2; ++iommu)
      all.push_back({Time{std::chrono::nanoseconds(from + 10 * static_cast<std::int64_t>(all.size()))}, {m}});
  return all;
}

std::vector<Record<StepDone>> operator+(std::vector<Record<StepDone>> a, std::vector<Record<StepDone>> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE(
    "driver: an allocated page gets a frame at its planned device, and every IOMMU is notified in sequence") {
  AllocationBench const b({.orders = {{Time{1us}, allocate(5)}}, .done = steps(5000, {0, 1, 2, 3})});
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 1201, 1301, 1401});
  CHECK(b.moves[1]->nanoseconds() == b.moves[0]->nanoseconds());
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(b.order(i).page == kBase + i);
    CHECK(b.order(i).step == MoveStep::map);
    CHECK(b.order(i).move == i);
    CHECK(b.order(i).size == 0);
  }
  CHECK(b.order(0).frame == physical(1, 200 << 12));
  CHECK(b.order(1).frame == physical(0, 100 << 12));
  CHECK(b.order(2).frame == physical(1, 201 << 12));
  CHECK(b.order(3).frame == physical(kFirstCpu, 50 << 12));
  // Page 516 is mapped at its first touch. The order ends with the last IOMMU's report on the last page.
  CHECK(!b.pages().find(516));
  CHECK(b.pages().find(514)->frame == physical(1, 201 << 12));
  CHECK(b.done->nanoseconds() == Times{5000 + 70 + 1});
  CHECK(b.driver->state().stats[0].allocated_pages == 4);
  CHECK(b.driver->state().transitions.free() == 16);
  CHECK(b.driver->waiting_for().empty());
}

TEST_CASE("driver: a freed page is unmapped in every IOMMU, and its frame is the next one allocated") {
  AllocationBench const b(
      {.orders = {{Time{1us}, allocate(1)}, {Time{10us}, free_of(5, 1)}, {Time{20us}, allocate(3)}},
       .done = steps(5000, {0}) + steps(15000, {0}) + steps(25000, {0, 1, 2})});
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 10101, 20101, 20201, 20301});
  CHECK(b.order(1).page == kBase);
  CHECK(b.order(1).step == MoveStep::forget);
  CHECK(b.order(1).frame == physical(1, 200 << 12));
  CHECK(b.order(2).frame == physical(1, 200 << 12));
  CHECK(b.done->nanoseconds() == Times{5011, 15011, 25051});
  CHECK(b.done->records()[1].message.stream == 1);
  CHECK(b.driver->state().stats[0].freed_pages == 1);
}

TEST_CASE("driver: a mapped page is not allocated again, and an unmapped page is not freed") {
  AllocationBench const b(
      {.orders = {{Time{1us}, free_of(5)}, {Time{2us}, allocate(2)}, {Time{9us}, allocate(2, 1)}},
       .done = steps(5000, {0, 1})});
  CHECK(b.moves[0]->nanoseconds() == Times{2101, 2201});
  CHECK(b.done->nanoseconds() == Times{1001, 5031, 9001});
}

TEST_CASE(
    "driver: a page planned on a full CPU is placed on the first GPU with a free frame and counts as spilled "
    "once") {
  PagingDriverSpec spec;
  spec.frames_of_cpu = 50;
  auto const* placed = in_use({9, 9, 9}, 50);
  AllocationBench const b({.orders = {{Time{1us}, allocate(1, 0, 515)}}, .done = steps(5000, {0})}, spec, 10,
                          placed);
  CHECK(b.order(0).frame == physical(0, 9 << 12));
  CHECK(b.driver->state().stats[0].pages_spilled == 1);
  AllocationBench const next({.orders = {{Time{1us}, allocate(1, 0, 515)}}, .done = steps(5000, {0})}, spec,
                             10, in_use({10, 9, 9}, 50));
  CHECK(next.order(0).frame == physical(1, 9 << 12));
  CHECK(next.driver->state().stats[0].pages_spilled == 1);
}

TEST_CASE("driver: a large page is allocated and freed as a whole while a large frame is free") {
  LargePages::Choice const choice{"all", 9};
  Workload const w("w", {{"large", 1024 << 12, 512 << 12}}, {}, {}, {});
  Applications const applications(w);
  PagingDriverSpec spec;
  spec.large = LargePages(choice, applications, {{{1024, 512}}});
  AllocationBench const b(
      {.orders = {{Time{1us}, allocate(512, 0, 1024)}, {Time{10us}, free_of(512, 0, 1024)}},
       .done = steps(5000, {0}) + steps(15000, {0})},
      spec);
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 10101});
  CHECK(b.order(0).page == 1024);
  CHECK(b.order(0).size == 9);
  CHECK(b.order(0).frame == physical(2, 512 << 12));
  CHECK(b.order(1).size == 9);
  CHECK(b.order(1).frame == physical(2, 512 << 12));
  CHECK(b.driver->state().stats[0].allocated_pages == 512);
  CHECK(b.driver->state().stats[0].freed_pages == 512);
  CHECK(b.done->nanoseconds() == Times{5011, 15011});
  CHECK(b.pages().mapped_pages() == 0);
}

TEST_CASE("driver: adjacent large pages are freed, and their frames are whole again") {
  LargePages::Choice const choice{"all", 9};
  Workload const w("w", {{"large", 1024 << 12, 1024 << 12}}, {}, {}, {});
  Applications const applications(w);
  PagingDriverSpec spec;
  spec.large = LargePages(choice, applications, {{{1024, 1024}}});
  // Room for exactly these two on GPU 2, whose first frames are in use.
  AllocationBench b({.orders = {{Time{1us}, allocate(1024, 0, 1024)},
                                {Time{10us}, free_of(1024, 0, 1024)},
                                {Time{20us}, allocate(1024, 0, 1024)}},
                     .done = steps(5000, {0, 1}) + steps(15000, {1, 0}) + steps(25000, {0, 1})},
                    spec, 1536, nullptr, 1024);
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 1201, 10101, 10201, 20101, 20201});
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(b.order(i).size == 9);
    CHECK(device_of(b.order(i).frame) == 2);
  }
  CHECK(b.order(4).frame != b.order(5).frame);
  CHECK(b.done->nanoseconds() == Times{5031, 15031, 25031});
}

TEST_CASE("driver: with software coherence, lines of a freed page are dropped from the slices") {
  PagingDriverSpec spec;
  spec.flush_moving_pages = true;
  AllocationBench const b({.orders = {{Time{1us}, allocate(1)}, {Time{10us}, free_of(1)}},
                           .done = steps(5000, {0}) + steps(15000, {0}) + steps(25000, {0})},
                          spec);
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 10101, 15011});
  CHECK(b.order(2).step == MoveStep::flush);
  CHECK(b.order(2).frame == b.order(0).frame);
  CHECK(b.done->nanoseconds() == Times{5011, 25011});
}

TEST_CASE("driver: with one outstanding page at a time, streams that allocate and free take turns") {
  PagingDriverSpec spec;
  spec.params.migrations = 1;
  AllocationBench const b({.orders = {{Time{1us}, allocate(2)}, {Time{1us}, allocate(1, 1, 1024)}},
                           .done = steps(2000, {0}) + steps(3000, {0}) + steps(4000, {0})},
                          spec);
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 2111, 3111});
  CHECK(b.order(0).page == kBase);
  CHECK(b.order(1).page == 1024);
  CHECK(b.order(2).page == kBase + 1);
  CHECK(b.done->nanoseconds() == Times{3011, 4011});
}

TEST_CASE(
    "driver: a page with a full device is placed on the next GPU, then on the CPU, then waits for a free "
    "frame") {
  PagingDriverSpec spec;
  spec.frames_of_cpu = 51;
  auto const* placed = in_use({9, 10, 10}, 50);
  AllocationBench const b({.orders = {{Time{1us}, allocate(3)}, {Time{10us}, free_of(1, 1)}},
                           .done = steps(5000, {0, 1}) + steps(15000, {1}) + steps(20000, {1})},
                          spec, 10, placed);
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 1201, 10101, 15111});
  CHECK(b.order(0).frame == physical(0, 9 << 12));
  CHECK(b.order(1).frame == physical(kFirstCpu, 50 << 12));
  CHECK(b.order(2).step == MoveStep::forget);
  CHECK(b.order(3).page == kBase + 2);
  CHECK(b.order(3).frame == physical(0, 9 << 12));
  CHECK(b.done->nanoseconds() == Times{15011, 20011});
  CHECK(b.driver->state().stats[0].pages_spilled == 3);
  AllocationBench const stuck({.orders = {{Time{1us}, allocate(3)}}, .done = steps(5000, {0, 1})}, spec, 10,
                              placed);
  CHECK(stuck.done->count() == 0);
  CHECK(stuck.driver->waiting_for() ==
        "0 pages in flight, 0 faults waiting, operations of 1 streams, no free frame for their allocations");
}

TEST_CASE("driver: a fault on a page being freed waits, and is then answered as unmapped") {
  AllocationBench const b({.orders = {{Time{1us}, allocate(1)}, {Time{10us}, free_of(1)}},
                           .done = steps(5000, {0}) + steps(15000, {0}),
                           .faults = {{Time{11us}, driver_bench::fault(kBase, 2, 1, 7)},
                                      {Time{20us}, driver_bench::fault(516, 2, 1, 8)}}});
  REQUIRE(b.mapped[1]->count() == 2);
  CHECK(b.mapped[1]->nanoseconds() == Times{15010 + 1, 20000 + 1000 + 1});
  CHECK(b.mapped[1]->records()[0].message.frame == kNoFrame);
  CHECK(b.mapped[1]->records()[0].message.entry == 7);
  CHECK(device_of(b.mapped[1]->records()[1].message.frame) == 2);  // mapped at its first touch
  CHECK(b.driver->state().stats[0].unallocated_faults == 1);
  CHECK(b.driver->state().stats[0].page_faults == 2);
  CHECK(!b.pages().find(kBase));
}

TEST_CASE("IOMMU: an allocated page is in the table, and the GPU with its frame is notified") {
  PageTable table(iommu_bench::kTable, 12);
  auto spec = iommu_bench::spec_of(table);
  spec.gpus = {{0, 10}, {1, 11}, {2, 12}};
  spec.moves = 4;
  spec.page_sizes = 1 | 1U << 9;
  Bench b;
  auto& iommu = b.system.add<Iommu>("iommu", spec);
  constexpr std::uint64_t kLarge = 1024;
  b.feed(iommu.request, {{Time{2us}, iommu_bench::ask(kLarge + 5, 0, 9)}});
  b.feed(
      iommu.move,
      {{Time{1us},
        {.page = kLarge, .frame = physical(1, 512 << 12), .move = 2, .step = MoveStep::map, .size = 9}},
       {Time{1us}, {.page = 77, .frame = physical(9, 5 << 12), .move = 3, .step = MoveStep::map, .size = 0}},
       {Time{4us},
        {.page = kLarge, .frame = physical(1, 512 << 12), .move = 2, .step = MoveStep::forget, .size = 9}}});
  b.feed(iommu.invalidated,
         {{Time{1500ns}, {2}}, {Time{5000ns}, {2}}, {Time{5001ns}, {2}}, {Time{5007ns}, {2}}});
  b.idle(iommu.mapped);
  auto& out = b.sink(iommu.response);
  auto& done = b.sink(iommu.step_done);
  b.sink(iommu.fault);
  b.sink(iommu.first_touch);
  auto& cache = b.responder<MemRequest, MemResponse>(mock::memory(mock::always(10ns)), iommu.entry_read);
  b.join_family(iommu.read_entry, {cache.request});
  b.run();
  REQUIRE(out.records().size() == 5);
  CHECK(out.nanoseconds()[0] == 1002);
  REQUIRE(out.records()[0].message.is<Invalidate>());
  auto const map_message = out.records()[0].message.as<Invalidate>();
  CHECK(map_message.step == MoveStep::map);
  CHECK(map_message.page == kLarge);
  CHECK(map_message.frame == physical(1, 512 << 12));
  CHECK(map_message.size == 9);
  CHECK(map_message.move == 2);
  CHECK(out.records()[0].message.route.destination == 11);
  // A mapping on a GPU behind another IOMMU completes immediately, the other one when its GPU reports it.
  CHECK(done.nanoseconds() == Times{1001, 1501, 5008});
  CHECK(done.records()[0].message.move == 3);
  CHECK(done.records()[1].message.move == 2);
  auto const found = answer(out, 1);
  CHECK(found.tag == 9);
  CHECK(found.frame == physical(1, 512 << 12));
  CHECK(found.size == 9);
  // The freed page is invalidated on all GPUs.
  for (std::size_t i = 2; i < 5; ++i) {
    CHECK(out.nanoseconds()[i] == 4000 + static_cast<std::int64_t>(i));
    REQUIRE(out.records()[i].message.is<Invalidate>());
    CHECK(out.records()[i].message.as<Invalidate>().step == MoveStep::unmap);
    CHECK(out.records()[i].message.as<Invalidate>().size == 9);
    CHECK(out.records()[i].message.route.destination == 8 + i);
  }
  CHECK(!iommu.state().table.find(kLarge + 5));
  CHECK(iommu.state().table.find(77)->frame == physical(9, 5 << 12));
  iommu.state().tlb->each_entry([](std::uint64_t, PageTranslation const&) { CHECK(false); });
  CHECK(iommu.state().stats.invalidations == 3);
  CHECK(iommu.waiting_for().empty());
}

TEST_CASE("IOMMU: requests for an unallocated page are answered as faulted, and not replayed") {
  for (bool const replays : {false, true}) {
    PageTable table(iommu_bench::kTable, 12);
    auto spec = iommu_bench::spec_of(table);
    spec.gpus = {{0, 10}, {1, 11}};
    spec.replays_first_touches = replays;
    Bench b;
    auto& iommu = b.system.add<Iommu>("iommu", spec);
    b.feed(iommu.request,
           {{Time{100ns}, iommu_bench::ask(55, 1, 7)}, {Time{5us}, iommu_bench::ask(55, 1, 8)}});
    b.feed(iommu.mapped, {{Time{2us}, {55, kNoFrame, 0}}});
    b.idle(iommu.move, iommu.invalidated);
    auto& out = b.sink(iommu.response);
    b.sink(iommu.step_done);
    b.sink(iommu.fault);
    auto& faults = b.sink(iommu.first_touch);
    auto& cache = b.responder<MemRequest, MemResponse>(mock::memory(mock::always(10ns)), iommu.entry_read);
    b.join_family(iommu.read_entry, {cache.request});
    b.run();
    REQUIRE(out.records().size() == (replays ? 2 : 1));
    CHECK(out.nanoseconds()[0] == (replays ? 114 : 2001));
    CHECK(answer(out, 0).found_by == FoundBy::nothing);
    CHECK(answer(out, 0).frame == kNoFrame);
    CHECK(faults.count() == 2);
    CHECK(iommu.state().table.mapped_pages() == 0);
    CHECK(iommu.state().stats.replays == 0);
    CHECK(iommu.state().faults.in_use() == (replays ? 1 : 0));  // of the second request
  }
}

namespace {

struct PlannedBench {
  explicit PlannedBench(std::vector<Operation> operations, std::vector<Buffer> buffers,
                        std::uint64_t gpu_pages = 64)
      : workload("w", std::move(buffers), {}, {}, std::move(operations)), applications(workload) {
    spec.applications = &applications;
    spec.devices = NodeDevices(2);
    spec.bytes_of_gpu = (gpu_pages * 4096 + 6) / 7 * 8;
    spec.bytes_of_cpu = 8 * 4096;
  }
  std::string refused() const {
    try {
      InitialMemory const memory(spec);
    } catch (UserError const& e) {
      return e.what();
    }
    return {};
  }
  Workload workload;
  Applications applications;
  InitialMemory::Spec spec{};
};

}  // namespace

TEST_CASE("initial memory: a program's allocations are planned without frames; other buffers are placed") {
  PlannedBench const b({Operation::allocate(8192, 8192)},
                       {{"there", 0, 4096, true}, {"later", 8192, 8192, true}});
  InitialMemory memory(b.spec);
  CHECK(memory.place(0, 1));
  CHECK(memory.place(2, 1));
  CHECK(memory.iommu_table().mapped_pages() == 1);
  CHECK(memory.place_of(0) == DeviceId{1});
  CHECK(memory.place_of(2) == DeviceId{1});
  CHECK(!memory.place_of(3));
  CHECK(memory.unmapped_pages() == 1);  // mapped at its first touch
  CHECK(memory.place_near(3, {1, 0}, 1));
  CHECK(memory.place_of(3) == DeviceId{0});
  CHECK(memory.unmapped_pages() == 0);
  CHECK(memory.placed().size() == 1);
  CHECK(memory.planned().pages() == 2);
  CHECK(memory.planned().find(0) == nullptr);
}

TEST_CASE("initial memory: a program's allocations share no page with another buffer") {
  CHECK(PlannedBench({Operation::allocate(0, 100)}, {{"a", 0, 100, true}, {"b", 4000, 50, true}}).refused() ==
        "workload 'w' allocates buffer 'a', which shares a page with buffer 'b': a buffer that a program "
        "allocates must not share pages; reduce memory.page_size");
  CHECK(PlannedBench({Operation::allocate(0, 100)}, {{"a", 0, 100, true}, {"b", 4096, 50, true}})
            .refused()
            .empty());
  CHECK(PlannedBench({}, {{"a", 0, 100, true}, {"b", 4000, 50, true}}).refused().empty());
}

TEST_CASE("initial memory: a program needs its peak allocation in addition to permanent data") {
  // Two GPUs of 10 pages each and a CPU of 7.
  std::vector<Buffer> const buffers{
      {"a", 0, 20 << 12, true}, {"b", 1 << 20, 20 << 12, true}, {"c", 2 << 20, 7 << 12, true}};
  auto const a = buffers[0].base, b = buffers[1].base;
  auto const bytes = buffers[0].bytes;
  std::vector<Operation> in_turn{Operation::allocate(a, bytes), Operation::free(a, bytes),
                                 Operation::allocate(b, bytes)};
  CHECK(PlannedBench(in_turn, buffers, 10).refused().empty());
  auto more = buffers;
  more[2].bytes += 1;
  CHECK(PlannedBench(in_turn, more, 10).refused() ==
        "workload 'w' needs at least 112 KiB, more than the machine's memory; increase gpu.dram.capacity or "
        "cpu.dram.capacity");
  std::swap(in_turn[1], in_turn[2]);
  CHECK(!PlannedBench(in_turn, buffers, 10).refused().empty());
}

TEST_CASE(
    "initial memory: permanent data of other applications counts in any order, and on the host as well") {
  // 27 pages in total: one application keeps 10, the other allocates 18.
  Workload const keeps("keeps", {{"k", 0, 10 << 12, true}}, {}, {}, {});
  auto const allocating = [](std::uint64_t pages, bool copies) {
    std::vector<Operation> operations{Operation::allocate(1 << 20, pages << 12)};
    if (copies) operations.push_back(Operation::copy_to_gpus(1 << 20, pages << 12));
    return Workload("allocates", {{"a", 1 << 20, pages << 12, true}}, {}, {}, std::move(operations));
  };
  auto const refused = [&](Workload const& first, Workload const& second) {
    Applications const both(
        std::vector<Application>{{"x", &first, 0, {}, {}, {}, 1}, {"y", &second, 1, {}, {}, {}, 1}});
    PlannedBench b({}, {}, 10);
    b.spec.applications = &both;
    return b.refused();
  };
  auto const fits = allocating(17, false), large = allocating(18, false);
  CHECK(refused(keeps, fits).empty());
  CHECK(refused(fits, keeps).empty());
  CHECK(refused(keeps, large).find("the applications need at least 112 KiB") == 0);
  CHECK(refused(large, keeps) == refused(keeps, large));
  // Room for 22 pages, but not for the host's pages as well.
  auto const copied = allocating(21, true);
  Applications const alone(copied);
  PlannedBench b({}, {}, 10);
  b.spec.applications = &alone;
  InitialMemory memory(b.spec);
  for (std::uint64_t p = 256; p < 277; ++p) CHECK(memory.place(p, 0));
  CHECK_THROWS_AS(memory.place_host_pages(), UserError);
}

}  // namespace program_allocations_test
