// SPDX-License-Identifier: Apache-2.0
// The host with mock GPUs; links of 1 ns.
#include "farfault/compute/host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "death.hpp"
#include "hand_kernel.hpp"
#include "mock.hpp"

namespace host_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

Workload workload_of(std::size_t kernels) {
  return hand_workload(std::vector<KernelShape>(kernels, {"k", 1, 64, 1, 0}),
                       [](std::uint64_t, std::uint32_t) { return Program{}; });
}

}  // namespace

TEST_CASE("host: an application on some GPUs is launched only there, and all GPUs are asked to write back") {
  auto const first = workload_of(1);
  auto const second = workload_of(1);
  Applications const both({{"a", &first, 0, {1}, {}, {}, 2}, {"b", &second, 1, {}, {}, {}, 1}});
  Bench b;
  auto& host = b.system.add<Host>("host", {{}, 2, &both, true});
  std::vector<In<LaunchKernel>> launches;
  std::vector<In<KernelEnd>> ends;
  std::vector<Responder<LaunchKernel, KernelDone>*> gpus;
  std::vector<Responder<KernelEnd, KernelDone>*> caches;
  for (std::uint32_t g = 0; g < 2; ++g) {
    ResponderSpec<LaunchKernel, KernelDone> runs;
    runs.reply = [g](LaunchKernel const& m) { return KernelDone{g, m.kernel}; };
    runs.delay = always(10ns);
    gpus.push_back(&b.responder<LaunchKernel, KernelDone>(runs, host.kernel_done));
    launches.push_back(gpus.back()->request);
    ResponderSpec<KernelEnd, KernelDone> writes;
    writes.reply = [g](KernelEnd const& m) { return KernelDone{g, m.kernel}; };
    writes.delay = always(20ns);
    caches.push_back(&b.responder<KernelEnd, KernelDone>(writes, host.kernel_done));
    ends.push_back(caches.back()->request);
  }
  b.idle(host.counted);
  b.join_family(host.launch, launches);
  b.join_family(host.kernel_end, ends);
  b.system.post(host.begin, StartApplication{0}, Time{100ns});
  b.system.post(host.begin, StartApplication{1}, Time{500ns});
  b.run();
  // 12 ns for the round trip, 22 ns for the write-back: the second launch begins at 134.
  CHECK(gpus[0]->nanoseconds() == Times{501});
  CHECK(gpus[1]->nanoseconds() == Times{101, 135, 501});
  CHECK(gpus[1]->records()[1].message.kernel == 0);
  CHECK(gpus[1]->records()[1].message.launch == 1);
  CHECK(gpus[1]->records()[2].message.kernel == 1);
  CHECK(caches[0]->nanoseconds() == Times{113, 147, 513});
  CHECK(caches[1]->nanoseconds() == Times{113, 147, 513});
  auto const& records = host.state().records;
  REQUIRE(records.size() == 3);
  CHECK(records[1].finished == Time{168ns});
  CHECK(records[2].finished == Time{534ns});
  CHECK(host.waiting_for().empty());
}

TEST_CASE("host: the next kernel is launched when every GPU has reported the end of the last one") {
  Bench b;
  auto const workload = workload_of(3);
  auto& host = b.system.add<Host>("host", {{}, 2, alone(workload)});
  std::vector<In<LaunchKernel>> launches;
  std::vector<Responder<LaunchKernel, KernelDone>*> gpus;
  for (std::uint32_t g = 0; g < 2; ++g) {
    ResponderSpec<LaunchKernel, KernelDone> runs;
    runs.reply = [g](LaunchKernel const& m) { return KernelDone{g, m.kernel}; };
    runs.delay = always(g == 0 ? 10ns : 20ns);
    gpus.push_back(&b.responder<LaunchKernel, KernelDone>(runs, host.kernel_done));
    launches.push_back(gpus.back()->request);
  }
  b.idle(host.counted);
  b.join_family(host.launch, launches);
  b.system.post(host.begin, StartApplication{0}, Time{100ns});
  b.run();
  CHECK(gpus[0]->nanoseconds() == Times{101, 123, 145});
  CHECK(gpus[0]->records()[2].message.kernel == 2);
  auto const& records = host.state().records;
  REQUIRE(records.size() == 3);
  CHECK(records[0].launched == Time{100ns});
  CHECK(records[0].finished == Time{122ns});
  CHECK(records[2].launched == Time{144ns});
  CHECK(records[2].finished == Time{166ns});
  CHECK(host.waiting_for().empty());
}

TEST_CASE("host: with write-back, all GPUs are asked for it after the last block of the last one") {
  Bench b;
  auto const workload = workload_of(2);
  auto& host = b.system.add<Host>("host", {{}, 2, alone(workload), true});
  std::vector<In<LaunchKernel>> launches;
  std::vector<In<KernelEnd>> ends;
  std::vector<Responder<KernelEnd, KernelDone>*> caches;
  for (std::uint32_t g = 0; g < 2; ++g) {
    ResponderSpec<LaunchKernel, KernelDone> runs;
    runs.reply = [g](LaunchKernel const& m) { return KernelDone{g, m.kernel}; };
    runs.delay = always(g == 0 ? 10ns : 20ns);
    launches.push_back(b.responder<LaunchKernel, KernelDone>(runs, host.kernel_done).request);
    ResponderSpec<KernelEnd, KernelDone> writes;
    writes.reply = [g](KernelEnd const& m) { return KernelDone{g, m.kernel}; };
    writes.delay = always(g == 0 ? 50ns : 30ns);
    caches.push_back(&b.responder<KernelEnd, KernelDone>(writes, host.kernel_done));
    ends.push_back(caches.back()->request);
  }
  b.idle(host.counted);
  b.join_family(host.launch, launches);
  b.join_family(host.kernel_end, ends);
  b.system.post(host.begin, StartApplication{0}, Time{100ns});
  b.run();
  CHECK(caches[0]->nanoseconds() == Times{123, 123 + 74});
  CHECK(caches[1]->nanoseconds() == Times{123, 123 + 74});
  auto const& records = host.state().records;
  CHECK(records[0].finished == Time{174ns});
  CHECK(records[1].launched == Time{174ns});
  CHECK(records[1].finished == Time{248ns});
  CHECK(host.waiting_for().empty());
}

namespace {

// One of the two GPUs reports at this time the kernel's transactions so far. Both GPUs end the kernel at 1000
// ns.
struct CountsBench : Bench {
  CountsBench(Workload const& workload, Time other_report, bool fetches = false)
      : host(system.add<Host>(
            "host", {.params = {}, .gpus = 2, .applications = alone(workload), .fetches = fetches})) {
    auto const report = [](std::uint32_t transactions) {
      SmStats did;
      did.transactions = transactions;
      did.vector_instructions = 1;
      KernelCounts message{};
      CHECK(report_growth(0, {}, did, [&](KernelCounts const& m) { message = m; }) == 1);
      return message;
    };
    feed(host.kernel_done, {{Time{1000ns}, {0, 0, 1}}, {Time{1000ns}, {1, 0, 1}}});
    feed(host.counted, {{Time{900ns}, report(40)}, {other_report, report(2)}});
    sinks(host.launch, 2);
    system.post(host.begin, StartApplication{0}, Time{100ns});
  }
  Host& host;
};

}  // namespace

TEST_CASE("host: a row of the table of kernels has the kernel's statistics over all GPUs, by name") {
  auto const workload = workload_of(1);
  bool fetches = false;  // the counters with a condition exist
  SUBCASE("") {}
  SUBCASE("SMs fetch instructions") {
    fetches = true;
  }
  CountsBench b(workload, Time{1000ns}, fetches);
  b.run();
  auto const columns = b.host.tables()[0].columns;
  TableRows rows;
  static_cast<AnyComponent&>(b.host).take_rows(rows);
  std::map<std::string, Cell> row;
  TableRows::read(rows.bytes(), [&](std::uint32_t, std::uint32_t table, std::vector<Cell> const& cells) {
    CHECK(table == 0);
    REQUIRE(cells.size() == columns.size());
    for (std::size_t i = 0; i < cells.size(); ++i) CHECK(row.emplace(columns[i].name, cells[i]).second);
  });
  CHECK(row.at("transactions") == Cell{std::uint64_t{42}});
  CHECK(row.at("vector_instructions") == Cell{std::uint64_t{2}});
  CHECK(row.at("instructions") == Cell{std::uint64_t{2}});
  CHECK(row.at("blocks") == Cell{std::uint64_t{1}});  // of the grid
  for (auto const& s : SmStats::list()) {
    if (s.kind != StatKind::counter) continue;  // levels count work in flight; an ended kernel has none
    CAPTURE(std::string(s.name));
    auto const column = std::ranges::find(columns, std::string(s.name), &ColumnInfo::name);
    if (s.condition != nullptr && !fetches) {
      CHECK(column == columns.end());
      continue;
    }
    REQUIRE(column != columns.end());
    CHECK(column->unit == s.unit);
    if (column->name != "blocks") CHECK(column->text == s.text);
  }
}

TEST_CASE("host: a report after its kernel's end is an internal error") {
  auto const workload = workload_of(1);
  auto const death = death_of([&] { CountsBench(workload, Time{1001ns}).run(); });
  CHECK(death.signal == SIGABRT);
  CHECK(death.printed.find("missing report of its counts") != std::string::npos);
}

}  // namespace host_test
