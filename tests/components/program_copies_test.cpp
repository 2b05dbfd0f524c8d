// SPDX-License-Identifier: Apache-2.0
// The driver's copies for programs: engine, pages and time of each.
#include <doctest/doctest.h>

#include "paging_driver_bench.hpp"

namespace program_copies_test {

using namespace farfault;
using namespace farfault::driver_bench;

namespace {

constexpr std::uint64_t kBase = 64;  // first page of the buffer

// Pages 64, 65 and 69 are on GPU 0, 66 on the CPU, 67 is unmapped, and 68 is on GPU 2. The host holds them in
// its frames 0, 1, ... after 300 other ones.
struct CopyBench : Bench {
  struct Script {
    std::vector<Record<MemoryOrder>> orders = {};
    std::vector<Record<CopyDone>> copied = {};
    std::vector<Record<PageFault>> faults = {};
    std::vector<Record<StepDone>> unmapped = {};
  };
  explicit CopyBench(Script script, std::uint32_t migrations = 16) : host_pages({{kBase, 6}}, 0) {
    table.map(kBase, physical(0, 7 << 12));
    table.map(kBase + 1, physical(0, 3 << 12));
    table.map(kBase + 2, physical(kFirstCpu, 9 << 12));
    table.map(kBase + 4, physical(2, 5 << 12));
    table.map(kBase + 5, physical(0, 8 << 12));
    host_pages.each([&](std::uint64_t page, std::uint64_t& frame) { frame = 300 + page - kBase; });
    PagingDriverSpec spec;
    spec.placed = in_use({100, 200, 200}, 300);
    spec.preloaded = &table;
    spec.host_pages = &host_pages;
    spec.application_of_stream = {0, 0};
    spec.params.migrations = migrations;
    driver = &system.add<PagingDriver>("driver", DriverBench::with_memory(spec));
    feed(driver->memory_order, std::move(script.orders));
    feed(driver->fault, as_packets(script.faults));
    feed(driver->step_done, std::move(script.unmapped));
    feed(driver->copied, std::move(script.copied));
    mapped = sinks(driver->mapped, 2);
    join(driver->placed, mapped[0]->in_port);
    moves = sinks(driver->move, 2);
    copies = sinks(driver->copy, 3);
    done = &sink(driver->order_done);
    run();
  }
  CopyOrder order(std::size_t gpu, std::size_t n) const { return copies[gpu]->records()[n].message; }

  PageTable table{0, 12};
  HostPages host_pages;
  PagingDriver* driver = nullptr;
  std::vector<Sink<PageMapped>*> mapped;
  std::vector<Sink<PageMove>*> moves;
  std::vector<Sink<CopyOrder>*> copies;
  Sink<MemoryOrderDone>* done = nullptr;
};

MemoryOrder to_gpus(VirtAddr first, std::uint64_t bytes, std::uint32_t stream = 0) {
  return {.first = first, .bytes = bytes, .stream = stream, .kind = OperationKind::copy_to_gpus};
}
MemoryOrder to_host(VirtAddr first, std::uint64_t bytes, std::uint32_t stream = 0) {
  return {.first = first, .bytes = bytes, .stream = stream, .kind = OperationKind::copy_to_host};
}
PhysAddr host_frame(std::uint64_t n) {
  return physical(kFirstCpu, (300 + n) << 12);
}

}  // namespace

TEST_CASE("driver: a copy to the GPUs is one order per page, at the page's GPU, from the host's frame") {
  CopyBench const b({.orders = {{Time{100ns}, to_gpus(kBase << 12, 6 << 12)}},
                     .copied = {{Time{1us}, {0}}, {Time{2us}, {2}}, {Time{3us}, {1}}, {Time{4us}, {3}}}});
  // Pages on the CPU and unmapped pages are skipped.
  CHECK(b.copies[0]->nanoseconds() == Times{101, 101, 101});
  CHECK(b.copies[1]->count() == 0);
  CHECK(b.copies[2]->nanoseconds() == Times{101});
  CHECK(b.order(0, 0).from == host_frame(0));
  CHECK(b.order(0, 0).to == physical(0, 7 << 12));
  CHECK(b.order(0, 0).bytes == 4096);
  CHECK(b.order(0, 1).from == host_frame(1));
  CHECK(b.order(0, 1).to == physical(0, 3 << 12));
  CHECK(b.order(2, 0).from == host_frame(4));
  CHECK(b.order(2, 0).to == physical(2, 5 << 12));
  CHECK(b.order(0, 2).from == host_frame(5));
  CHECK(b.done->nanoseconds() == Times{4001});  // end of the last one
  CHECK(b.driver->state().stats[0].copied_bytes == 4 * 4096);
  CHECK(b.driver->state().transitions.free() == 16);
}

TEST_CASE("driver: a copy to the host has the opposite direction, in whole lines from first to last byte") {
  CopyBench const b({.orders = {{Time{100ns}, to_host((kBase << 12) + 4000, 300, 1)}},
                     .copied = {{Time{1us}, {0}}, {Time{2us}, {1}}}});
  CHECK(b.copies[0]->count() == 2);
  CHECK(b.order(0, 0).from == physical(0, (7 << 12) + 3968));
  CHECK(b.order(0, 0).to == host_frame(0) + 3968);
  CHECK(b.order(0, 0).bytes == 128);
  CHECK(b.order(0, 1).from == physical(0, 3 << 12));
  CHECK(b.order(0, 1).to == host_frame(1));
  CHECK(b.order(0, 1).bytes == 4000 + 300 - 4096);
  REQUIRE(b.done->count() == 1);
  CHECK(b.done->records()[0].message.stream == 1);
}

TEST_CASE("driver: a copy of pages that are on no GPU completes immediately") {
  CopyBench const b({.orders = {{Time{100ns}, to_gpus((kBase + 2) << 12, 2 << 12)}}});
  CHECK(b.done->nanoseconds() == Times{101});
  CHECK(b.driver->state().stats[0].copied_bytes == 0);
}

TEST_CASE("driver: streams that copy take turns if the number of concurrently copied pages is limited") {
  CopyBench const b({.orders = {{Time{100ns}, to_gpus(kBase << 12, 2 << 12, 0)},
                                {Time{100ns}, to_host((kBase + 4) << 12, 2 << 12, 1)}},
                     .copied = {{Time{1us}, {0}}, {Time{2us}, {0}}, {Time{3us}, {0}}, {Time{4us}, {0}}}},
                    1);
  CHECK(b.copies[0]->nanoseconds() == Times{101, 2001, 3001});
  CHECK(b.copies[2]->nanoseconds() == Times{1001});
  CHECK(b.order(0, 0).to == physical(0, 7 << 12));
  CHECK(b.order(2, 0).from == physical(2, 5 << 12));
  CHECK(b.order(0, 1).to == physical(0, 3 << 12));
  CHECK(b.order(0, 2).from == physical(0, 8 << 12));
  CHECK(b.done->nanoseconds() == Times{3001, 4001});
  CHECK(b.done->records()[0].message.stream == 0);
}

TEST_CASE("driver: a migrating page is copied on arrival, and a page being copied migrates afterwards") {
  // Page 68 migrates from GPU 2 to GPU 1 as move 0, and the host's copy waits for it. Page 64 is then copied
  // as move 0, and GPU 1 faults on it during the copy.
  CopyBench const b(
      {.orders = {{Time{500ns}, to_gpus((kBase + 4) << 12, 1 << 12, 0)},
                  {Time{20us}, to_gpus(kBase << 12, 1 << 12, 1)}},
       .copied = {{Time{9us}, {0}}, {Time{11us}, {0}}, {Time{25us}, {0}}, {Time{35us}, {0}}},
       .faults = {{Time{100ns}, remote(kBase + 4, 1, 0, 1)}, {Time{21us}, remote(kBase, 1, 0, 2)}},
       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}, {Time{30us}, {0}}, {Time{31us}, {0}}}});
  CHECK(b.copies[1]->nanoseconds() == Times{3001, 9001, 31001});
  CHECK(b.order(1, 0).from == physical(2, 5 << 12));
  CHECK(b.order(1, 1).from == host_frame(4));
  CHECK(b.order(1, 1).to == b.order(1, 0).to);
  CHECK(b.copies[0]->nanoseconds() == Times{20001});
  CHECK(b.done->nanoseconds() == Times{11001, 25001});
  // The fault on page 64 is handled when the copy is complete.
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 9001, 26001, 35001});
  CHECK(b.order(1, 2).from == physical(0, 7 << 12));
  CHECK(b.driver->state().stats[0].migrations == 2);
}

}  // namespace program_copies_test
