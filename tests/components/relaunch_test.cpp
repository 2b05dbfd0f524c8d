// SPDX-License-Identifier: Apache-2.0
// The host with relaunched applications: launches, stops, and the table of runs. One mock GPU; links of 1 ns,
// so that a kernel of 10 ns takes 12 ns.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "farfault/compute/host.hpp"
#include "hand_kernel.hpp"
#include "mock.hpp"

namespace relaunch_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Numbers = std::vector<std::uint64_t>;

Workload program_of(std::size_t kernels, std::vector<Operation> operations = {}) {
  std::vector<std::unique_ptr<Kernel const>> all;
  for (std::size_t i = 0; i < kernels; ++i)
    all.push_back(std::make_unique<HandKernel>(KernelShape{"k", 1, 64, 1, 0},
                                               [](std::uint64_t, std::uint32_t) { return Program{}; }));
  return {"program", {{"a", 4096, 8192}}, std::move(all), {}, std::move(operations)};
}

Application app(std::string name, Workload const& w, bool relaunch, std::uint32_t repeats = 1) {
  Application a;
  a.name = std::move(name);
  a.workload = &w;
  a.repeats = repeats;
  a.relaunch = relaunch;
  return a;
}

// Counters of a launch of a kernel.
SmStats work_of(LaunchKernel const& m) {
  SmStats did;
  did.vector_instructions = 100 * (m.kernel + std::uint64_t{1});
  did.memory_instructions = 5;
  did.l1_tlb_hits = 7 + m.launch;
  did.l1_tlb_misses = 3;
  did.l2_tlb_hits = 2;
  did.blocks = 1;
  return did;
}

struct GpuSpec {
  std::vector<std::int64_t> takes;  // nanoseconds, by kernel
  std::uint32_t hangs_at = ~0U;     // the launch of kernel 0 that never ends
};

// Ends kernels and reports their counters.
class Gpu final : public Component<GpuSpec, SinkState<LaunchKernel>> {
 public:
  using Component::Component;
  In<LaunchKernel> request = in<&Gpu::on_launch>("request");
  Self<LaunchKernel> ends = timer<&Gpu::on_end>("ends");
  Out<KernelCounts> counted = out<KernelCounts>("counted");
  Out<KernelDone> done = out<KernelDone>("done");
  std::string_view kind() const override { return "gpu"; }
  void on_launch(LaunchKernel const& m, Cx& cx) const {
    cx.state().records.push_back({cx.now(), m});
    if (m.kernel == 0 && m.launch == spec().hangs_at) return;
    cx.wake(ends, m, Latency{Duration{spec().takes[m.kernel] * 1000}});
  }
  void on_end(LaunchKernel const& m, Cx& cx) const {
    auto const reports =
        report_growth(m.kernel, {}, work_of(m), [&](KernelCounts const& c) { cx.send(counted, c); });
    cx.send(done, KernelDone{0, m.kernel, reports});
  }
};

struct RelaunchBench : Bench {
  // All start at 100 ns, except for the last one.
  RelaunchBench(std::vector<Application> all, GpuSpec const& spec, Time last_start = Time{100ns})
      : applications(std::move(all)), host(system.add<Host>("host", {{}, 1, &applications})) {
    gpu = &system.add<Gpu>("gpu", spec);
    join_family(host.launch, {gpu->request});
    join(gpu->counted, host.counted);
    join(gpu->done, host.kernel_done);
    bool const has_orders = std::ranges::any_of(applications, [](Application const& a) {
      return std::ranges::any_of(a.workload->operations(), &Operation::is_of_driver);
    });
    if (has_orders) {
      ResponderSpec<MemoryOrder, MemoryOrderDone> orders;
      orders.reply = [](MemoryOrder const& m) { return MemoryOrderDone{m.stream}; };
      orders.delay = always(8ns);
      driver = &responder<MemoryOrder, MemoryOrderDone>(orders, host.order_done);
      join(host.memory_order, driver->request);
    }
    for (std::uint32_t a = 0; a < applications.count(); ++a)
      system.post(host.begin, StartApplication{a}, a + 1 == applications.count() ? last_start : Time{100ns});
  }
  // Times in nanoseconds at which the GPU launches a kernel.
  Numbers launches_of(std::uint32_t kernel) const {
    Numbers times;
    for (auto const& r : gpu->state().records)
      if (r.message.kernel == kernel) times.push_back(count_of(r.at) / 1000);
    return times;
  }
  // Rows of the table, by column name.
  std::vector<std::map<std::string, Cell>> rows(std::string const& name) {
    auto const tables = host.tables();
    TableRows all;
    static_cast<AnyComponent&>(host).take_rows(all);
    std::vector<std::map<std::string, Cell>> found;
    TableRows::read(all.bytes(), [&](std::uint32_t, std::uint32_t table, std::vector<Cell> const& cells) {
      REQUIRE(table < tables.size());
      REQUIRE(cells.size() == tables[table].columns.size());
      if (tables[table].name != name) return;
      auto& row = found.emplace_back();
      for (std::size_t i = 0; i < cells.size(); ++i) row[tables[table].columns[i].name] = cells[i];
    });
    return found;
  }
  // "NAME RUN: START to END", in nanoseconds.
  std::vector<std::string> runs() {
    std::vector<std::string> all;
    for (auto const& row : rows("runs")) {
      auto const n = [&](char const* column) { return std::get<std::uint64_t>(row.at(column)); };
      auto const name = row.contains("application") ? std::get<std::string>(row.at("application")) : "";
      all.push_back(name + " " + std::to_string(n("run")) + ": " + std::to_string(n("started") / 1000) +
                    " to " + std::to_string(n("finished") / 1000));
    }
    return all;
  }
  Applications applications;
  Host& host;
  Gpu* gpu = nullptr;
  Responder<MemoryOrder, MemoryOrderDone>* driver = nullptr;
};

using Runs = std::vector<std::string>;

std::vector<std::string> names_of(std::vector<TableInfo> const& tables) {
  std::vector<std::string> names;
  for (auto const& t : tables) names.push_back(t.name);
  return names;
}

}  // namespace

TEST_CASE("relaunch: a short program repeats until the last other one has ended, and is then stopped") {
  auto const two = program_of(2);
  auto const one = program_of(1);
  // Kernels 0 and 1 of "short", 2 of "once", 3 and 4 of "long".
  RelaunchBench b({app("short", two, true), app("once", one, false), app("long", two, false)},
                  {.takes = {4, 5, 20, 30, 32}});
  b.run();
  CHECK(b.launches_of(2) == Numbers{101});
  CHECK(b.launches_of(3) == Numbers{101});
  CHECK(b.launches_of(4) == Numbers{133});
  // "long" ends at 166 ns, during a run of "short" whose kernel 0 ends at 171.
  CHECK(b.launches_of(0) == Numbers{101, 114, 127, 140, 153, 166});
  CHECK(b.launches_of(1) == Numbers{107, 120, 133, 146, 159});
  CHECK(b.runs() == Runs{"short 0: 100 to 113", "once 0: 100 to 122", "short 1: 113 to 126",
                         "short 2: 126 to 139", "short 3: 139 to 152", "short 4: 152 to 165",
                         "long 0: 100 to 166"});
  CHECK(b.engine->last_event() == Time{171ns});
  CHECK(b.host.waiting_for().empty());
  for (std::uint32_t a = 0; a < 3; ++a) {
    CHECK(b.host.has_finished(a));
    CHECK_FALSE(b.host.is_running(a));
  }
  CHECK(b.host.state().runs[0].times == 5);
  CHECK(b.host.state().runs[0].launches == 11);
  CHECK(b.host.state().stats[0].kernels == 11);
}

TEST_CASE("relaunch: a row of the table of runs has the statistics of that run's kernels, and no others") {
  auto const two = program_of(2);
  auto const one = program_of(1);
  RelaunchBench b({app("short", two, true), app("long", one, false)}, {{4, 4, 30}});
  b.run();
  auto const rows = b.rows("runs");
  REQUIRE(rows.size() == 4);
  // Launches 2 and 3 of "short", i.e. its second run.
  auto const& second = rows[1];
  CHECK(second.at("application") == Cell{std::string("short")});
  std::map<std::string, std::uint64_t> const expected{
      {"run", 1},         {"started", 112'000},  {"finished", 124'000}, {"kernels", 2},
      {"blocks", 2},      {"instructions", 310}, {"l1_tlb_hits", 19},   {"l1_tlb_misses", 6},
      {"l2_tlb_hits", 4}, {"stores", 0},         {"transactions", 0}};
  for (auto const& entry : expected) {
    auto const& column = entry.first;
    CAPTURE(column);
    CHECK(second.at(column) == Cell{entry.second});
  }
  CHECK(rows[2].at("application") == Cell{std::string("long")});
  CHECK(rows[2].at("instructions") == Cell{std::uint64_t{305}});
  CHECK(rows[2].at("kernels") == Cell{std::uint64_t{1}});
  // The table has a column for each counter of the SMs, with the counter's name and text.
  auto const columns = b.host.tables()[1].columns;
  auto const has_column = [](Stat<SmStats> const& s) {
    return s.kind == StatKind::counter && s.condition == nullptr;
  };
  auto const counters = std::ranges::count_if(SmStats::list(), has_column);
  CHECK(columns.size() == 5 + static_cast<std::size_t>(counters));
  for (auto const& s : SmStats::list()) {
    if (!has_column(s)) continue;
    auto const column = std::ranges::find(columns, std::string(s.name), &ColumnInfo::name);
    REQUIRE(column != columns.end());
    CHECK(column->text == s.text);
    CHECK(column->unit == s.unit);
  }
}

TEST_CASE("relaunch: the streams of a stopped program begin no operations, and none is reported as waiting") {
  // Kernel 1, in stream 1, waits for kernel 0.
  auto const waits =
      program_of(2, {Operation::launch(0, 0), Operation::wait_for(0, 1), Operation::launch(1, 1)});
  auto const one = program_of(1);
  RelaunchBench b({app("waits", waits, true), app("long", one, false)}, {{10, 10, 28}});
  b.run(Time{128ns});
  CHECK(b.host.waiting_for() ==
        "waits: stream 0, kernel 0, completed by 0 of 1 GPUs; waits: stream 1, the end of operation 0; long: "
        "kernel 2, completed by 0 of 1 GPUs");
  CHECK(b.host.has_finished(0));
  CHECK_FALSE(b.host.has_finished(1));
  b.run(Time{133ns});  // "long" ended at 130
  CHECK(b.host.is_running(0));
  CHECK(b.host.has_finished(1));
  CHECK(b.host.waiting_for() == "waits: stream 0, kernel 0, completed by 0 of 1 GPUs");
  b.run();
  CHECK(b.launches_of(0) == Numbers{101, 125});
  CHECK(b.launches_of(1) == Numbers{113});
  CHECK(b.runs() == Runs{"waits 0: 100 to 124", "long 0: 100 to 130"});
  CHECK(b.engine->last_event() == Time{136ns});
  CHECK(b.host.waiting_for().empty());
  CHECK(b.host.has_finished(0));
  CHECK_FALSE(b.host.is_running(0));
}

TEST_CASE("relaunch: a program stopped between its allocation and its free does not free") {
  auto const allocates =
      program_of(1, {Operation::allocate(4096, 8192), Operation::launch(0), Operation::free(4096, 8192)});
  auto const one = program_of(1);
  // Each operation of "allocates" takes 10 ns. "long" ends at 134, during the second allocation.
  RelaunchBench b({app("allocates", allocates, true), app("long", one, false)}, {{8, 32}});
  b.run();
  CHECK(b.driver->nanoseconds() == std::vector<std::int64_t>{101, 121, 131});
  CHECK(b.driver->records().back().message.kind == OperationKind::allocate);
  CHECK(b.launches_of(0) == Numbers{111});
  CHECK(b.host.state().stats[0].allocations == 2);
  CHECK(b.host.state().stats[0].frees == 1);
  CHECK(b.host.waiting_for().empty());
  CHECK(names_of(b.host.tables()) ==
        std::vector<std::string>{"kernels", "allocations", "runs", "outstanding"});
  CHECK(b.runs() == Runs{"allocates 0: 100 to 130", "long 0: 100 to 134"});
}

TEST_CASE("relaunch: runs are rows of the table of runs, whichever tables precede it") {
  auto const copies = program_of(1, {Operation::copy_to_gpus(4096, 8192), Operation::launch(0)});
  auto const both = program_of(1, {Operation::allocate(4096, 8192), Operation::copy_to_gpus(4096, 8192),
                                   Operation::launch(0), Operation::free(4096, 8192)});
  for (auto const* w : {&copies, &both}) {
    RelaunchBench b({app("a", *w, true)}, {{8}});
    b.run();
    CHECK(names_of(b.host.tables())[w == &both ? 3 : 2] == "runs");
    CHECK(names_of(b.host.tables()).size() == (w == &both ? 5 : 4));
    CHECK(b.runs() == Runs{w == &both ? " 0: 100 to 140" : " 0: 100 to 120"});
  }
}

TEST_CASE("relaunch: a single application runs as without relaunch, and its rows name no application") {
  auto const two = program_of(2);
  for (std::uint32_t const repeats : {1U, 3U}) {
    CAPTURE(repeats);
    RelaunchBench with({app("a", two, true, repeats)}, {{4, 6}});
    RelaunchBench without({app("a", two, false, repeats)}, {{4, 6}});
    with.run();
    without.run();
    for (std::uint32_t k = 0; k < 2; ++k) CHECK(with.launches_of(k) == without.launches_of(k));
    CHECK(with.launches_of(0).size() == repeats);
    CHECK(names_of(with.host.tables()) == std::vector<std::string>{"kernels", "runs", "outstanding"});
    CHECK(names_of(without.host.tables()) == std::vector<std::string>{"kernels", "outstanding"});
    auto const runs = with.runs();
    CHECK(runs.size() == repeats);
    CHECK(runs[0] == (repeats == 1 ? " 0: 100 to 114" : "a 0: 100 to 114"));
    CHECK(without.host.state().ended_runs.empty());
  }
}

TEST_CASE("relaunch: if all are relaunched, each runs for its number of repeats, and all stop together") {
  auto const one = program_of(1);
  RelaunchBench b({app("x", one, true), app("y", one, true, 2), app("z", one, true)}, {{8, 19, 33}});
  b.run();
  // "y" is the last to complete its second run, at 142 ns.
  CHECK(b.runs() == Runs{"x 0: 100 to 110", "x 1: 110 to 120", "y 0: 100 to 121", "x 2: 120 to 130",
                         "z 0: 100 to 135", "x 3: 130 to 140", "y 1: 121 to 142", "x 4: 140 to 150",
                         "z 1: 135 to 170"});
  CHECK(b.launches_of(1) == Numbers{101, 122});
  for (std::uint32_t a = 0; a < 3; ++a) CHECK(b.host.has_finished(a));
}

TEST_CASE("relaunch: of two that end at the same time, the first one reported is the first") {
  auto const one = program_of(1);
  // The kernel that was launched first is reported first.
  RelaunchBench stops({app("x", one, true), app("last", one, false)}, {{8, 18}});
  stops.run();
  CHECK(stops.runs() == Runs{"x 0: 100 to 110", "last 0: 100 to 120", "x 1: 110 to 120"});
  CHECK(stops.launches_of(0) == Numbers{101, 111});
  RelaunchBench goes({app("x", one, true), app("last", one, false, 2)}, {{18, 8}});
  goes.run();
  CHECK(goes.runs() ==
        Runs{"last 0: 100 to 110", "x 0: 100 to 120", "last 1: 110 to 120", "x 1: 120 to 140"});
}

TEST_CASE("relaunch: an application that has not started counts as not ended") {
  auto const one = program_of(1);
  RelaunchBench b({app("early", one, true), app("late", one, false)}, {{18, 2}}, Time{155ns});
  b.run(Time{150ns});
  CHECK(b.host.has_finished(0));
  CHECK_FALSE(b.host.has_finished(1));
  b.run();
  CHECK(b.launches_of(0) == Numbers{101, 121, 141});  // "late" ends at 159
  CHECK(b.launches_of(1) == Numbers{156});
}

TEST_CASE("relaunch: a program without operations does not keep others running and is not launched again") {
  auto const none = program_of(0);
  auto const one = program_of(1);
  RelaunchBench b({app("none", none, true), app("one", one, true)}, {{8}});
  b.run();
  CHECK(b.launches_of(0) == Numbers{101});
  CHECK(b.runs() == Runs{"one 0: 100 to 110"});
  CHECK(b.host.has_finished(0));
  CHECK(b.host.waiting_for().empty());
}

TEST_CASE("relaunch: an unfinished kernel is named, even if all programs have ended once") {
  auto const one = program_of(1);
  RelaunchBench b({app("hangs", one, true), app("long", one, false)}, {{8, 13}, 1});
  b.run();
  CHECK(b.host.has_finished(0));
  CHECK(b.host.has_finished(1));
  CHECK(b.host.waiting_for() == "hangs: kernel 0, completed by 0 of 1 GPUs");
}

TEST_CASE("relaunch: no run begins that would exceed the maximum number of launches") {
  struct Case {
    std::uint64_t left;  // launches that remain possible when the first run has ended
    std::size_t runs;
  };
  auto const two = program_of(2);
  auto const one = program_of(1);
  for (auto const& c : {Case{5, 3}, {4, 3}, {3, 2}, {1, 1}}) {
    CAPTURE(c.left);
    RelaunchBench b({app("short", two, true), app("long", one, false)}, {{4, 4, 100}});
    b.run(Time{105ns});
    auto s = b.host.state();
    s.runs[0].launches = static_cast<std::uint32_t>(Applications::kMaxLaunches - 1 - c.left) - 1;
    std::vector<std::byte> bytes;
    Saver saver(bytes);
    auto sent = b.host.messages_sent();
    saver(sent, s);
    Loader loader(bytes);
    static_cast<AnyComponent&>(b.host).archive(loader);
    b.run();
    CHECK(b.launches_of(0).size() == c.runs);
    CHECK(b.launches_of(1).size() == c.runs);
    CHECK(b.host.state().runs[0].launches < Applications::kMaxLaunches);
    CHECK(b.host.waiting_for().empty());
    CHECK(b.host.has_finished(0));
  }
}

}  // namespace relaunch_test
