// SPDX-License-Identifier: Apache-2.0
// Execution of programs: rules of their operations, the host's streams, and kernels of several streams on a
// GPU.
#include <doctest/doctest.h>

#include <algorithm>

#include "farfault/compute/host.hpp"
#include "farfault/paging/pages_in_ranges.hpp"
#include "hand_kernel.hpp"
#include "mock.hpp"

namespace program_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

Workload program_of(std::size_t kernels, std::vector<Operation> operations) {
  std::vector<std::unique_ptr<Kernel const>> all;
  for (std::size_t i = 0; i < kernels; ++i)
    all.push_back(std::make_unique<HandKernel>(KernelShape{"k", 1, 64, 1, 0},
                                               [](std::uint64_t, std::uint32_t) { return Program{}; }));
  return {"program", {{"a", 4096, 8192}, {"b", 16384, 100}}, std::move(all), {}, std::move(operations)};
}

// The host with one GPU, which takes 10 ns for kernel 0, 20 ns for kernel 1 and so on, and a driver that
// takes 1 us for a copy; links of 1 ns.
struct HostBench : Bench {
  explicit HostBench(Applications const& applications, Time end = Time::max()) {
    auto& h = system.add<Host>("host", {{}, 1, &applications});
    ResponderSpec<LaunchKernel, KernelDone> runs;
    runs.reply = [](LaunchKernel const& m) { return KernelDone{0, m.kernel}; };
    runs.delay = [this](std::uint64_t n) { return (gpu->records()[n].message.kernel + 1) * 10ns; };
    gpu = &responder<LaunchKernel, KernelDone>(runs, h.kernel_done);
    join_family(h.launch, {gpu->request});
    idle(h.counted);
    bool const has_orders = std::ranges::any_of(applications, [](Application const& a) {
      return std::ranges::any_of(a.workload->operations(), &Operation::is_of_driver);
    });
    if (has_orders) {
      ResponderSpec<MemoryOrder, MemoryOrderDone> copies;
      copies.reply = [](MemoryOrder const& m) { return MemoryOrderDone{m.stream}; };
      copies.delay = always(1us);
      driver = &responder<MemoryOrder, MemoryOrderDone>(copies, h.order_done);
      join(h.memory_order, driver->request);
    }
    for (std::uint32_t a = 0; a < applications.count(); ++a)
      system.post(h.begin, StartApplication{a}, Time{100ns});
    host = &h;
    run(end);
  }
  std::vector<std::uint32_t> launched() const {
    std::vector<std::uint32_t> kernels;
    for (auto const& r : gpu->records()) kernels.push_back(r.message.kernel);
    return kernels;
  }
  Host* host = nullptr;
  Responder<LaunchKernel, KernelDone>* gpu = nullptr;
  Responder<MemoryOrder, MemoryOrderDone>* driver = nullptr;
};

}  // namespace

TEST_CASE("operations: each violated rule is reported") {
  std::vector<Buffer> const buffers{{"a", 4096, 8192}};
  auto const broken = [&](std::vector<Operation> const& o) { return why_not(o, 2, buffers); };
  auto const k0 = Operation::launch(0), k1 = Operation::launch(1);
  CHECK(broken({k0, k1}).empty());
  CHECK(broken({k1, Operation::copy_to_gpus(4096, 8192), k0, Operation::wait_for(1, 1)}).empty());
  CHECK(broken({k0}) == "a kernel is never launched");
  CHECK(broken({k0, k1, k1}) == "operation 2 launches kernel 1, which does not exist or is launched twice");
  CHECK(broken({k0, k1, Operation::launch(2)}) ==
        "operation 2 launches kernel 2, which does not exist or is launched twice");
  CHECK(broken({k0, k1, Operation::wait_for(2, 0)}) ==
        "operation 2 waits for operation 2, which is not an earlier operation");
  CHECK(broken({k0, k1, Operation::copy_to_host(4096, 8193)}) ==
        "operation 2 copies 8193 B, but a copy must be a nonempty part of one buffer");
  CHECK(broken({k0, k1, Operation::copy_to_host(4095, 1)}) ==
        "operation 2 copies 1 B, but a copy must be a nonempty part of one buffer");
  CHECK(broken({k0, k1, Operation::copy_to_host(12287, 1)}).empty());
  CHECK(broken({k0, k1, Operation::copy_to_host(4096, 0)}) ==
        "operation 2 copies 0 B, but a copy must be a nonempty part of one buffer");
  auto const a = Operation::allocate(4096, 8192), f = Operation::free(4096, 8192);
  CHECK(broken({a, k0, f, a, k1, f}).empty());
  CHECK(broken({a, k0, k1}).empty());
  CHECK(broken({a, a, k0, k1}) == "operation 1 allocates buffer 'a', which is already allocated");
  CHECK(broken({f, k0, k1}) == "operation 0 frees buffer 'a', which is not allocated");
  CHECK(broken({a, k0, k1, f, f}) == "operation 4 frees buffer 'a', which is not allocated");
  CHECK(broken({k0, k1, Operation::allocate(4096, 4096)}) ==
        "operation 2 allocates a range that is not a whole buffer");
  CHECK(broken({k0, k1, Operation::free(8192, 8192)}) ==
        "operation 2 frees a range that is not a whole buffer");
  CHECK(broken({k0, Operation::launch(1, 2)}) == "stream numbers have a gap");
  CHECK(broken({k0, Operation::launch(1, kMaxStreams)}) ==
        "operation 1 has a stream number beyond the limit");
}

TEST_CASE("host: kernels of two streams run concurrently, kernels of one stream in order") {
  auto const w = program_of(3, {Operation::launch(0, 0), Operation::launch(1, 1), Operation::launch(2, 0)});
  Applications const applications(w);
  HostBench const b(applications);
  CHECK(b.launched() == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(b.gpu->nanoseconds() == Times{101, 101, 101 + 12});
  CHECK(b.gpu->records()[1].message.launch == 1);
  CHECK(b.gpu->records()[2].message.launch == 2);
  CHECK(b.host->has_finished(0));
  CHECK(b.host->state().runs[0].last_end == Time{144ns});
}

TEST_CASE("host: a wait blocks its stream until the operation of another stream has completed") {
  // Kernel 3, in stream 1, waits for kernel 1 in stream 0, but not for kernel 2 after it.
  auto const w = program_of(4, {Operation::launch(0, 0), Operation::launch(1, 0), Operation::launch(2, 0),
                                Operation::wait_for(1, 1), Operation::launch(3, 1)});
  Applications const applications(w);
  HostBench const b(applications);
  CHECK(b.launched() == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(b.gpu->nanoseconds() == Times{101, 113, 135, 135});
}

TEST_CASE("host: a wait for a completed operation, or for a wait, takes no time") {
  auto const w = program_of(3, {Operation::launch(0, 0), Operation::wait_for(0, 1), Operation::wait_for(1, 2),
                                Operation::launch(2, 2), Operation::launch(1, 1), Operation::wait_for(0, 0)});
  Applications const applications(w);
  HostBench const b(applications);
  CHECK(b.launched() == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(b.gpu->nanoseconds() == Times{101, 113, 113});
  CHECK(b.host->has_finished(0));
}

TEST_CASE("host: copies are sent to the driver in stream order, with their address space") {
  auto const w = program_of(
      1, {Operation::copy_to_gpus(4096, 8192), Operation::launch(0), Operation::copy_to_host(16384, 100)});
  auto const other = program_of(1, {});
  Applications const applications(
      std::vector<Application>{{"other", &other, 0, {}, {}, {}, 1}, {"copies", &w, 1, {}, {}, {}, 1}});
  HostBench const b(applications);
  REQUIRE(b.driver->records().size() == 2);
  CHECK(b.driver->nanoseconds() == Times{101, 1125});
  auto const& to_gpus = b.driver->records()[0].message;
  CHECK(to_gpus.first == first_address_of(1) + 4096);
  CHECK(to_gpus.bytes == 8192);
  CHECK(to_gpus.stream == 1);
  CHECK(to_gpus.kind == OperationKind::copy_to_gpus);
  CHECK(b.driver->records()[1].message.kind == OperationKind::copy_to_host);
  CHECK(b.driver->records()[1].message.first == first_address_of(1) + 16384);
  auto const& copies = b.host->state().orders;
  REQUIRE(copies.size() == 2);
  CHECK(copies[0].application == 1);
  CHECK(copies[0].operation == 0);
  CHECK(copies[1].operation == 2);
  CHECK(copies[1].started == Time{1124ns});
  CHECK(copies[1].finished == Time{2126ns});
  CHECK(b.host->state().stats[1].copies == 2);
  CHECK(b.host->state().stats[0].copies == 0);
}

TEST_CASE("host: allocations and frees are sent to the driver in stream order") {
  auto const w = program_of(1, {Operation::allocate(4096, 8192), Operation::launch(0),
                                Operation::free(4096, 8192), Operation::allocate(16384, 100, 1)});
  Applications const applications(std::vector<Application>{{"a", &w, 2, {}, {}, {}, 2}});
  HostBench const b(applications);
  CHECK(b.driver->nanoseconds() == Times{101, 101, 1115, 2117, 2117, 3131});
  auto const& orders = b.driver->records();
  CHECK(orders[0].message.kind == OperationKind::allocate);
  CHECK(orders[0].message.first == first_address_of(2) + 4096);
  CHECK(orders[0].message.bytes == 8192);
  CHECK(orders[1].message.stream == 1);
  CHECK(orders[2].message.kind == OperationKind::free);
  CHECK(b.host->state().stats[0].allocations == 4);
  CHECK(b.host->state().stats[0].frees == 2);
  CHECK(b.host->state().stats[0].copies == 0);
  CHECK(b.host->state().orders.size() == 6);
  std::vector<std::string> names;
  for (auto const& t : b.host->tables()) names.emplace_back(t.name);
  CHECK(names == std::vector<std::string>{"kernels", "allocations", "outstanding"});
  CHECK(b.host->has_finished(0));
}

TEST_CASE("host: only unfinished operations have a row when a run is stopped, stream by stream") {
  auto const w = program_of(3, {Operation::launch(0, 0), Operation::copy_to_host(4096, 8192, 0),
                                Operation::launch(1, 0), Operation::launch(2, 1)});
  using Rows = std::vector<std::vector<Cell>>;
  auto const rows_at = [&](Time end, std::uint32_t repeats) {
    Applications const applications(std::vector<Application>{{"a", &w, 0, {}, {}, {}, repeats}});
    HostBench const b(applications, end);
    TableRows rows;
    rows.begin(b.host->id());
    b.host->final_rows(rows);
    Rows all;
    TableRows::read(rows.bytes(), [&](std::uint32_t, std::uint32_t table, std::vector<Cell> const& cells) {
      CHECK(b.host->tables()[table].name == "outstanding");
      CHECK(b.host->tables()[table].columns.size() == cells.size());
      all.push_back(cells);
    });
    return all;
  };
  auto const row = [](std::uint64_t stream, char const* operation, char const* name, std::uint64_t began) {
    return std::vector<Cell>{stream, std::string(operation), std::string(name), began, began + 5'400'000};
  };
  // Kernel 0 runs until 112, the copy until 1114; kernel 2 runs concurrently until 132.
  CHECK(rows_at(Time{105ns}, 1) == Rows{row(0, "kernel", "k", 100'000), row(1, "kernel", "k", 100'000)});
  CHECK(rows_at(Time{115ns}, 1) == Rows{row(0, "to_host", "", 112'000), row(1, "kernel", "k", 100'000)});
  CHECK(rows_at(Time{200ns}, 1) == Rows{row(0, "to_host", "", 112'000)});
  CHECK(rows_at(Time{50ns}, 1).empty());
  CHECK(rows_at(Time::max(), 1).empty());
  CHECK(rows_at(Time{200ns}, 2)[0][0] == Cell{std::string("a")});
}

TEST_CASE("host: an application repeats when all its streams have completed, including waits") {
  auto w = program_of(2, {Operation::launch(1, 0), Operation::wait_for(0, 1), Operation::launch(0, 1)});
  Applications const applications(std::vector<Application>{{"a", &w, 0, {}, {}, {}, 2}});
  HostBench const b(applications);
  CHECK(b.launched() == std::vector<std::uint32_t>{1, 0, 1, 0});
  CHECK(b.gpu->nanoseconds() == Times{101, 123, 135, 157});
  CHECK(b.gpu->records()[3].message.launch == 3);
  CHECK(b.host->has_finished(0));
  CHECK(b.host->waiting_for().empty());
}

TEST_CASE("pages in ranges: a page of several ranges counts once, in any order of ranges") {
  HostPages pages({{100, 4}, {10, 2}, {102, 3}, {12, 1}, {200, 1}}, 7);
  std::vector<std::uint64_t> order;
  pages.each([&](std::uint64_t page, std::uint64_t& frame) {
    CHECK(frame == 7);
    order.push_back(page);
    frame = 1000 + order.size();
  });
  CHECK(order == std::vector<std::uint64_t>{10, 11, 12, 100, 101, 102, 103, 104, 200});
  CHECK(pages.pages() == 9);
  CHECK(*pages.find(10) == 1001);
  CHECK(*pages.find(12) == 1003);
  CHECK(*pages.find(100) == 1004);
  CHECK(*pages.find(104) == 1008);
  CHECK(*pages.find(200) == 1009);
  for (std::uint64_t const outside : {0U, 9U, 13U, 99U, 105U, 199U, 201U})
    CHECK(pages.find(outside) == nullptr);
  CHECK(HostPages().empty());
  CHECK(HostPages().find(0) == nullptr);
}

}  // namespace program_test
