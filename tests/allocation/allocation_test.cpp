// SPDX-License-Identifier: Apache-2.0
// No allocation per event: operator new is not called between two points of simulated time in a run whose
// queues have reached their final length.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "counter.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/topologies/assembly.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/workloads/registry.hpp"
#include "phold_model.hpp"

using namespace farfault;
using farfault::test::start_counting;
using farfault::test::stop_counting;

namespace {

struct Mark {
  std::uint64_t number;
};
struct MarkSpec {
  std::vector<std::uint64_t>* counts = nullptr;
};
struct MarkState {
  std::uint64_t marks = 0;
};

// Counts between its own events, i.e. inside the run: the engine's start and end do not count.
class Marker final : public Component<MarkSpec, MarkState> {
 public:
  using Component::Component;
  Self<Mark> mark = timer<&Marker::on_mark>("mark");
  std::string_view kind() const override { return "marker"; }
  void on_mark(Mark const& m, Cx& cx) const {
    ++cx.state().marks;
    if (m.number != 0) (*spec().counts)[m.number - 1] = stop_counting();
    start_counting();
  }
};

// Queues and tables grow only when they exceed their largest size so far, which is rare. Most windows count 0
// allocations, and no window counts nearly as many as it has events, rounds or kernels.
constexpr std::uint64_t kWindows = 32;

struct Outcome {
  std::vector<std::uint64_t> allocations = std::vector<std::uint64_t>(kWindows, ~std::uint64_t{0});
  std::uint64_t events = 0;
  Time end{};

  std::uint64_t windows_without() const {
    return static_cast<std::uint64_t>(std::count(allocations.begin(), allocations.end(), 0U));
  }
  std::uint64_t sum() const {
    return std::accumulate(allocations.begin(), allocations.end(), std::uint64_t{0});
  }
};

// Runs a system, counting in windows from `from` to `to` if these are given.
Outcome run(System& system, Placement placement, EngineOptions options, Time from, Time to, Time end) {
  Outcome outcome;
  if (to != Time{}) {
    auto& marker = system.add<Marker>("marker", {&outcome.allocations});
    if (!placement.partition_of.empty()) placement.partition_of.push_back(0);
    for (std::uint64_t i = 0; i <= kWindows; ++i)
      system.post(marker.mark, Mark{i}, from + static_cast<std::int64_t>(i) * (to - from) / kWindows);
  }
  auto const transport = make_single_transport();
  Engine engine(system, std::move(placement), options, *transport);
  engine.run_until(end);
  stop_counting();
  outcome.events = engine.profile().events;
  outcome.end = engine.last_event();
  return outcome;
}

Outcome run_machine(std::string const& toml, EngineOptions options, Time from = {}, Time to = {}) {
  Config config(topologies::find_preset);
  config.read_text(toml, "test");
  topologies::MachineConfig machine_config;
  auto const name = config.take("workload.name");
  machine_config.bind(config);
  auto const builder = workloads::make(name->value);
  ParamTable table;
  builder->describe(table);
  config.bind("workload." + name->value, table);
  machine_config.check(config);
  config.reject_errors();
  auto const machine = topologies::load_machine(machine_config.machine.topology, machine_config.links);
  auto const workload =
      builder->build({machine_config.gpu.warp_width, machine_config.memory.page_size.bytes, "", 1});
  auto const placement = machine_config.memory.placement.make({});
  Applications const applications(workload);
  topologies::Assembly assembly(machine, machine_config, applications, *placement);
  auto const granularity =
      options.threads == 1 ? topologies::Granularity::one : topologies::Granularity::device;
  return run(assembly.system(), assembly.placement(granularity, 1), options, from, to, Time::max());
}

std::string const kMachine = R"(
[machine]
topology = "two-gpu"
[gpu]
sms = 4
[gpu.l2_cache]
slices = 4
size = "256 KiB"
)";
std::string const kStream = kMachine + R"(
[workload]
name = "stream"
[workload.stream]
bytes = "4 MiB"
write_fraction = 0.3
passes = 8
)";
std::string const kBfs = kMachine + R"(
[workload]
name = "bfs"
[workload.bfs.rmat]
scale = 12
)";

// Clang omits allocations of memory that nothing uses.
void use(void const* memory) {
  static std::atomic<void const*> used;
  used = memory;
}

}  // namespace

TEST_CASE("the counter counts the allocations between its two calls") {
  start_counting();
  auto const one = std::make_unique<int>(1);
  use(one.get());
  std::vector<int> const two(100, *one);
  use(two.data());
  auto const aligned = std::make_unique<Event>();
  use(aligned.get());
  CHECK(stop_counting() == 3);
  auto const three = std::make_unique<int>(3);
  use(three.get());
  CHECK(stop_counting() == 3);
}

TEST_CASE("simulating a machine allocates nothing per event, for stream and for a search of an R-MAT graph") {
  for (auto const* workload : {&kStream, &kBfs}) {
    for (std::uint32_t const threads : {1U, 2U}) {
      EngineOptions options;
      options.threads = threads;
      auto const whole = run_machine(*workload, options);
      auto const tenth = whole.end.time_since_epoch() / 10;
      auto const counted = run_machine(*workload, options, Time{5 * tenth}, Time{9 * tenth});
      CHECK(counted.end == whole.end);
      CHECK(counted.events > 200'000);
      CHECK(counted.windows_without() >= kWindows / 2);
      // The largest level of the search grows some queues and tables once.
      CHECK(counted.sum() <= counted.events / 500);
    }
  }
}

TEST_CASE("PHOLD allocates nothing per event") {
  for (std::uint32_t const threads : {1U, 2U}) {
    phold::Model model({.processes = 256, .start_events = 16});
    EngineOptions options;
    options.threads = threads;
    options.run_sparse_merged = false;
    auto const counted = run(model.system, model.placement(threads == 1 ? 1 : 4), options, Time{200us},
                             Time{360us}, Time{361us});
    CHECK(counted.events > 1'000'000);
    CHECK(counted.windows_without() >= kWindows / 2);
    CHECK(counted.sum() <= 8);
  }
}
