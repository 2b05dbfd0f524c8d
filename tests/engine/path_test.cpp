// SPDX-License-Identifier: Apache-2.0
// Critical path and greedy schedules of event graphs: computed by hand, for random graphs compared with a
// simple slow scheduler, and for PHOLD.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "farfault/engine/path_recorder.hpp"
#include "free_cores.hpp"
#include "phold_model.hpp"

namespace path_test {

using namespace farfault;

namespace {

struct Node {
  std::uint32_t partition;
  std::optional<std::size_t> sender;  // an earlier node
};
using Graph = std::vector<Node>;  // in execution order

// One component per partition.
PathProfile recorded(Graph const& graph, std::uint32_t partitions) {
  std::vector<std::uint32_t> partition_of;
  for (std::uint32_t p = 0; p < partitions; ++p) partition_of.push_back(p);
  PathRecorder recorder(partitions, partition_of);
  recorder.restart(static_cast<std::uint64_t>(
      std::count_if(graph.begin(), graph.end(), [](Node const& n) { return !n.sender; })));
  std::vector<std::vector<std::size_t>> sends(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (graph[i].sender) sends[*graph[i].sender].push_back(i);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    auto const from = graph[i].sender ? graph[*graph[i].sender].partition : 0;
    recorder.begin({.when = Time{}, .sequence = i, .to = graph[i].partition, .from = from, .payload = {}},
                   graph[i].partition);
    for (auto const to : sends[i]) recorder.sent(graph[i].partition, to);
    recorder.end();
  }
  return recorder.profile();
}

// Steps of a greedy schedule: each step runs up to `cores` ready events, in execution order.
std::uint64_t greedy_steps(Graph const& graph, std::uint32_t partitions, std::uint32_t cores) {
  constexpr auto kNotYet = ~std::uint64_t{0};
  std::vector<std::optional<std::size_t>> last(partitions);
  std::vector<std::optional<std::size_t>> before(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) before[i] = std::exchange(last[graph[i].partition], i);
  std::vector<std::uint64_t> done(graph.size(), kNotYet);
  std::uint64_t step = 0;
  for (std::size_t left = graph.size(); left != 0; ++step) {
    auto const is_done = [&](std::optional<std::size_t> const& i) { return !i || done[*i] <= step; };
    std::uint32_t running = 0;
    for (std::size_t i = 0; i < graph.size() && running < cores; ++i) {
      if (done[i] != kNotYet || !is_done(before[i]) || !is_done(graph[i].sender)) continue;
      done[i] = step + 1;
      ++running;
      --left;
    }
  }
  return step;
}

// Bounds that hold for any greedy schedule on any number of cores.
void check_graham(PathProfile const& p) {
  for (std::size_t i = 0; i < PathProfile::kCores.size(); ++i) {
    std::uint64_t const cores = PathProfile::kCores[i];
    auto const steps = p.list_schedule[i];
    CAPTURE(cores);
    CHECK(steps >= std::max(p.path, (p.events + cores - 1) / cores));
    CHECK(steps * cores <= p.events + (cores - 1) * p.path);
  }
}

Graph random_graph(std::uint32_t seed, std::uint32_t partitions, std::size_t events) {
  std::mt19937 random(seed);
  Graph graph;
  for (std::size_t i = 0; i < events; ++i) {
    Node node{static_cast<std::uint32_t>(random() % partitions), std::nullopt};
    if (i != 0 && random() % 8 != 0) node.sender = i - 1 - random() % std::min<std::size_t>(i, 40);
    graph.push_back(node);
  }
  return graph;
}

}  // namespace

TEST_CASE("an event that is ready early uses an idle core before a later event") {
  // A chain of three events, followed in execution order by three independent events.
  Graph const graph = {{0, {}}, {0, 0}, {0, 1}, {1, {}}, {2, {}}, {3, {}}};
  auto const p = recorded(graph, 4);
  CHECK(p.events == 6);
  CHECK(p.path == 3);
  for (auto const steps : p.list_schedule) CHECK(steps == 3);
}

TEST_CASE(
    "a fork of eight takes steps according to the cores, and its join of eight in one partition takes "
    "eight") {
  Graph graph = {{0, {}}};
  for (std::uint32_t i = 1; i <= 8; ++i) graph.push_back({i, 0});
  for (std::uint32_t i = 1; i <= 8; ++i) graph.push_back({9, i});  // one partition, so in sequence
  auto const p = recorded(graph, 10);
  CHECK(p.path == 10);
  CHECK(p.list_schedule[0] == 1 + 4 + 8);  // on 2 cores
  CHECK(p.list_schedule[1] == 1 + 2 + 8);  // on 4
  for (std::size_t i = 2; i < p.list_schedule.size(); ++i) CHECK(p.list_schedule[i] == 1 + 1 + 8);
  CHECK(p.busiest_partition == 9);
  CHECK(p.busiest == 8);
}

TEST_CASE("events of one partition run in order, on any number of cores") {
  Graph const graph(100, Node{0, {}});
  auto const p = recorded(graph, 1);
  CHECK(p.path == 100);
  for (auto const steps : p.list_schedule) CHECK(steps == 100);
}

TEST_CASE("the schedule of any graph matches a step-by-step scheduler and is within Graham's bound") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    auto const partitions = 1 + seed * seed;
    auto const graph = random_graph(seed, partitions, 600);
    auto const p = recorded(graph, partitions);
    CAPTURE(seed);
    check_graham(p);
    for (std::size_t i = 0; i < PathProfile::kCores.size(); ++i)
      CHECK(p.list_schedule[i] == greedy_steps(graph, partitions, PathProfile::kCores[i]));
  }
}

TEST_CASE("the schedules of PHOLD are within Graham's bound") {
  for (std::uint32_t const partitions : {4U, 64U, 256U}) {
    phold::Parameters const p{
        .processes = 256, .start_events = 2, .remote = 0.5, .lookahead = 0.1, .skew = 0.3};
    phold::Model model(p);
    auto const transport = make_single_transport();
    Engine engine(model.system, model.placement(partitions), {.record_path = true}, *transport);
    engine.run_until(Time{40us});
    auto const path = engine.critical_path();
    REQUIRE(path.has_value());
    CHECK(path->events > 20'000);
    check_graham(*path);
  }
}

TEST_CASE("steps that no event can fill take no memory, and forgetting them does not change the schedule") {
  FreeCores remembers(3);
  FreeCores forgets(3);
  std::mt19937 random(5);
  std::uint64_t most = 0;
  std::uint64_t same = 0;
  constexpr std::uint64_t kEvents = 300'000;
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    auto const ready = i / 2 + random() % 1000;
    same += remembers.take(ready) == forgets.take(ready) ? 1 : 0;
    if (i % 1000 == 0) forgets.forget(i / 2);
    most = std::max(most, forgets.chunks_kept());
  }
  CHECK(same == kEvents);
  CHECK(most <= 2);
  CHECK(remembers.chunks_kept() > 30);
}

TEST_CASE("steps without a free core take no memory") {
  FreeCores cores(2);
  for (std::uint64_t i = 0; i < 200'000; ++i) CHECK(cores.take(0) == i / 2);
  CHECK(cores.chunks_kept() <= 1);
}

}  // namespace path_test
