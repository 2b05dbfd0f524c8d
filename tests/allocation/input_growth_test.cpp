// SPDX-License-Identifier: Apache-2.0
// Reading an input takes time proportional to what it describes, measured at two sizes as calls of operator
// new.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "counter.hpp"
#include "farfault/topologies/assembly.hpp"
#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/load.hpp"
#include "machine_texts.hpp"

using namespace farfault;
using namespace farfault::topologies;
using farfault::test::start_counting;
using farfault::test::stop_counting;

namespace {

std::uint64_t allocations(std::function<void()> const& body) {
  start_counting();
  body();
  return stop_counting();
}

std::uint64_t parsing(std::string const& text) {
  return allocations([&] { parse_machine(text, "f"); });
}

std::string topograph(int nodes) {
  return "switches:\nblocks:\n- switch: leaf\n  nodes: [\"n[1-" + std::to_string(nodes) + "]\"]\n";
}

std::string blocks_without_switches(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += "blocks:\n";
  return text;
}

}  // namespace

TEST_CASE("a machine file with twice the devices takes at most twice the allocations") {
  CHECK(parsing(test::nccl_nics(400)) <= 2 * parsing(test::nccl_nics(200)) + 100);
  CHECK(parsing(topograph(400)) <= 2 * parsing(topograph(200)) + 100);
}

TEST_CASE("a bandwidth matrix takes at most two allocations per link, at any size") {
  for (int const gpus : {40, 80, 160}) {
    CAPTURE(gpus);
    auto const links = static_cast<std::uint64_t>(gpus) * static_cast<std::uint64_t>(gpus - 1) / 2;
    CHECK(parsing(test::hwloc_matrix(gpus)) <= 3 * links + 40 * static_cast<std::uint64_t>(gpus) + 200);
  }
}

TEST_CASE("an invalid machine file is rejected with the same number of allocations at any length") {
  auto const refusing = [](int lines) {
    auto const text = blocks_without_switches(lines);
    return allocations([&] { CHECK_THROWS_AS(parse_machine(text, "f"), UserError); });
  };
  refusing(10);
  CHECK(refusing(100'000) == refusing(1000));
}

TEST_CASE("a torus of twice the machines is assembled with at most 2.2 times the allocations") {
  Workload const nothing("nothing", {}, {});
  Applications const applications(nothing);
  MachineConfig config;
  config.gpu.sms = 1;
  auto const placement = config.memory.placement.make({});
  auto const assembling = [&](std::uint32_t x) {
    ClusterSpec cluster;
    cluster.shape = ClusterShape::torus;
    cluster.x = x;
    cluster.y = cluster.z = 4;
    cluster.machines = 16 * x;
    auto const machine = generate_cluster(load_machine("single-gpu"), cluster);
    return allocations([&] { Assembly const assembly(machine, config, applications, *placement); });
  };
  auto const few = assembling(4);
  CHECK(assembling(8) * 10 <= few * 22);
}
