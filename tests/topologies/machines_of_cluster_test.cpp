// SPDX-License-Identifier: Apache-2.0
// The machine of each node in a cluster: in generated clusters, files and descriptions.
#include <doctest/doctest.h>

#include "data.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/topologies/description.hpp"
#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/graphml.hpp"
#include "farfault/topologies/host_gpus.hpp"
#include "farfault/topologies/load.hpp"

namespace machines_of_cluster_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

Machine two_machines() {
  ClusterSpec spec;
  spec.machines = 2;
  return generate_cluster(load_machine("paper-gmmu-bypass"), spec);
}

std::string node(std::string const& name, std::string const& kind, std::string const& more = "") {
  return "[[node]]\nname = \"" + name + "\"\nkind = \"" + kind + "\"\n" + more;
}
std::string cable(std::string const& a, std::string const& b) {
  return "[[link]]\na = \"" + a + "\"\nb = \"" + b + "\"\nkind = \"pcie\"\n";
}

std::string refusal(std::string const& text) {
  try {
    parse_machine(text, "f");
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<int> machines_of(Machine const& m) {
  std::vector<int> machines;
  for (auto const& n : m.nodes) machines.push_back(n.machine);
  return machines;
}

}  // namespace

TEST_CASE("nodes of a generated cluster belong to their copy, and the switches between copies to none") {
  for (auto const shape : {ClusterShape::fat_tree, ClusterShape::dragonfly, ClusterShape::torus}) {
    ClusterSpec spec;
    spec.shape = shape;
    spec.machines = 3;
    auto const m = generate_cluster(load_machine("dgx1"), spec);
    CHECK(m.machines() == 3);
    for (auto const& n : m.nodes) {
      INFO(n.name);
      CHECK(machine_name(n.machine) == (n.name.starts_with("net.") ? "" : n.name.substr(0, 2)));
    }
  }
}

TEST_CASE("a machine that is already a cluster is not copied into another") {
  ClusterSpec spec;
  spec.machines = 3;
  try {
    generate_cluster(two_machines(), spec);
    FAIL("accepted");
  } catch (UserError const& error) {
    CHECK(std::string(error.what()).find("the machine is already a cluster of 2 machines") !=
          std::string::npos);
  }
}

TEST_CASE("a machine that is not a cluster is one machine") {
  for (auto const* name : {"dgx1", "paper-gmmu-bypass", "mi300x-8"}) {
    auto const m = load_machine(name);
    CHECK(m.machines() == 1);
    for (auto const& n : m.nodes) CHECK(n.machine == 0);
  }
}

TEST_CASE("GraphML and TOML keep the machine of each node") {
  auto const m = two_machines();
  auto const again = parse_machine(write_graphml(m), "f");
  CHECK(again.machines() == 2);
  CHECK(machines_of(again) == machines_of(m));
  auto const toml =
      parse_machine(node("g", "gpu", "machine = 1\n") + node("c", "cpu") +
                        node("s", "network_switch", "machine = -1\n") + cable("g", "s") + cable("c", "s"),
                    "f");
  CHECK(machines_of(toml) == std::vector<int>{1, 0, kShared});
}

TEST_CASE("machines are numbered without gaps, and every GPU and CPU belongs to one") {
  auto const rest = node("c", "cpu") + cable("g", "c");
  CHECK(refusal(node("g", "gpu", "machine = 1\n") + rest) == "accepted");
  CHECK(refusal(node("g", "gpu", "machine = -1\n") + rest) ==
        "f: 'g' belongs to no machine, but every GPU and CPU must");
  CHECK(refusal(node("g", "gpu", "machine = 2\n") + rest) ==
        "f: 'g' belongs to machine 2, but machines are numbered from 0 without gaps");
  CHECK(refusal(node("g", "gpu", "machine = 2\n") + node("h", "gpu") + rest + cable("h", "c")) ==
        "f: no node belongs to machine 1, but machines are numbered from 0 without gaps");
  CHECK(refusal(node("g", "gpu", "machine = -2\n") + rest).find("'machine' must be a whole number from -1") !=
        std::string::npos);
}

TEST_CASE("a host has the GPUs of the machines that share its memory, the minimum over different hosts") {
  constexpr MemoryScope::Facts kApart{.machines = 1};
  constexpr MemoryScope::Facts kTogether{.machines = MemoryScope::kAllMachines};
  CHECK(gpus_of_host(load_machine("dgx1"), kApart) == 8);
  CHECK(gpus_of_host(two_machines(), kApart) == 4);
  CHECK(gpus_of_host(two_machines(), kTogether) == 8);
  auto uneven = two_machines();
  for (auto& n : uneven.nodes)
    if (n.name == "m1.gpu0") n.machine = 0;
  CHECK(gpus_of_host(uneven, kApart) == 3);
}

TEST_CASE("hosts of an NCCL file and nodes of a topograph model are machines") {
  auto const nccl = parse_machine(
      "<system version=\"1\"><cpu host_hash=\"0x1\" numaid=\"0\"><pci busid=\"0\" class=\"0x030200\"/></cpu>"
      "<cpu host_hash=\"0x2\" numaid=\"0\"><pci busid=\"0\" class=\"0x030200\"/></cpu>"
      "<cpu host_hash=\"0x2\" numaid=\"1\"/></system>",
      "f");
  // The order continues with a NIC of each machine, and the network.
  CHECK(machines_of(nccl) == std::vector<int>{0, 0, 1, 1, 1, 0, 1, kShared});
  auto const path = data_file("topologies/topograph-nvl72.yaml");
  if (!path) return;
  auto const big = load_machine(*path);
  CHECK(big.machines() == 72);
  for (auto const& n : big.nodes)
    CHECK((n.machine == kShared) == (n.kind == NodeKind::network_switch || n.kind == NodeKind::nvswitch));
  CHECK(big.nodes[*big.find("node2218.gpu0")].machine == big.nodes[*big.find("node2218")].machine);
}

TEST_CASE("a description lists the contents of each machine and the machine of each node") {
  auto const text = describe_text(two_machines());
  CHECK(text.find("  in 2 machines, each with a host and a driver unless memory.scope joins them:\n"
                  "    m0 to m1: 4 gpu, 1 cpu, 3 pcie_switch, 1 nic\n") != std::string::npos);
  CHECK(text.find("    m1.gpu3 (gpu, machine m1)\n") != std::string::npos);
  CHECK(text.find("    net.leaf0 (network_switch)\n") != std::string::npos);
  CHECK(describe_json(two_machines()).find("\"machines\":2}") != std::string::npos);
  CHECK(describe_text(load_machine("dgx1")).find("machine m0") == std::string::npos);
}

}  // namespace machines_of_cluster_test
