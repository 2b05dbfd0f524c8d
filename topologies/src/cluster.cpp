// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "farfault/engine/error.hpp"
#include "farfault/protocols/facts.hpp"
#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/machine_builder.hpp"

namespace farfault::topologies {
namespace {

std::string where() {
  return "generated cluster";
}

std::uint64_t quotient_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

[[noreturn]] void refuse(std::string const& name, std::uint64_t value, std::string const& rule) {
  throw UserError(where() + ": " + name + " is " + std::to_string(value) + ", but " + rule);
}

class Cluster {
 public:
  Cluster(Machine const& machine, ClusterSpec const& spec, LinkDefaults const& defaults)
      : machine_(with_nic(machine, defaults)), spec_(spec), defaults_(defaults) {}

  Machine build() {
    check();
    copy_machines();
    switch (spec_.shape) {
      case ClusterShape::fat_tree:
        fat_tree();
        break;
      case ClusterShape::rail_optimized:
        rails();
        break;
      case ClusterShape::dragonfly:
        dragonfly();
        break;
      case ClusterShape::torus:
        torus();
        break;
    }
    assume_network();
    return builder_.finish(where());
  }

 private:
  using Nodes = std::vector<std::uint32_t>;

  static Machine with_nic(Machine machine, LinkDefaults const& defaults) {
    if (machine.count(NodeKind::nic) > 0) return machine;
    if (machine.nodes.empty()) throw UserError(where() + ": the machine to copy has no nodes");
    auto const cpus = machine.nodes_of(NodeKind::cpu);
    auto const host = cpus.empty() ? 0U : cpus.front();
    auto const nic = static_cast<std::uint32_t>(machine.nodes.size());
    machine.nodes.push_back({"nic0", NodeKind::nic, machine.nodes[host].numa, 0, ""});
    machine.links.push_back({.a = host,
                             .b = nic,
                             .kind = LinkKind::pcie,
                             .latency = defaults.pcie_latency,
                             .forward = defaults.pcie_bandwidth,
                             .backward = defaults.pcie_bandwidth,
                             .count = 1});
    machine.assumed.push_back("the machine has no NIC: one on a PCIe link of '" +
                              shown(machine.nodes[host].name) + "' is assumed");
    return machine;
  }

  void check() const {
    auto const n = static_cast<std::uint64_t>(spec_.machines);
    if (n == 0) refuse("machines", n, "a cluster needs at least 1");
    if (machine_.machines() > 1)
      refuse("machines", n,
             "the machine is already a cluster of " + std::to_string(machine_.machines()) + " machines");
    if (n * machine_.nodes.size() > kMaxNodes / 2) {
      refuse("machines", n,
             "that many copies of " + std::to_string(machine_.nodes.size()) + " nodes exceed " +
                 std::to_string(kMaxNodes / 2) + " nodes");
    }
    if (n * machine_.links.size() > kMaxLinks / 2) {
      refuse("machines", n,
             "that many copies of " + std::to_string(machine_.links.size()) + " links exceed " +
                 std::to_string(kMaxLinks / 2) + " links");
    }
    if (spec_.switch_bandwidth != Bandwidth{} && spec_.switch_bandwidth < kLowestBandwidth)
      throw UserError(where() + ": switch_bandwidth is " + to_text(spec_.switch_bandwidth) +
                      ", but it must be 0 or at least " + to_text(kLowestBandwidth));
    if (spec_.radix < 2 || spec_.radix % 2 != 0 || spec_.radix > 4096) {
      refuse("radix", spec_.radix, "it must be even and from 2 to 4096");
    }
  }

  void copy_machines() {
    for (auto const& sentence : machine_.assumed) builder_.assume(sentence);
    for (std::uint32_t m = 0; m < spec_.machines; ++m) {
      auto const base = static_cast<std::uint32_t>(builder_.machine().nodes.size());
      auto& nics = nics_.emplace_back();
      for (auto node : machine_.nodes) {
        node.machine = static_cast<int>(m);
        node.name = machine_name(node.machine) + "." + node.name;
        auto const is_nic = node.kind == NodeKind::nic;
        auto const index = builder_.add_node(std::move(node));
        if (is_nic) nics.push_back(index);
      }
      for (auto link : machine_.links) {
        link.a += base;
        link.b += base;
        builder_.machine().links.push_back(link);
      }
    }
  }

  Nodes switches(std::string const& name, std::uint64_t count) {
    Nodes result;
    for (std::uint64_t i = 0; i < count; ++i) {
      MachineNode node;
      node.name = "net." + name + std::to_string(i);
      node.kind = NodeKind::network_switch;
      node.machine = kShared;
      result.push_back(builder_.add_node(std::move(node)));
    }
    return result;
  }

  // Connects a NIC to a switch.
  void attach(std::uint32_t nic, std::uint32_t to) {
    auto const stated = builder_.machine().nic_bandwidth(nic, to);
    if (!stated) ++open_nics_;
    auto const bandwidth = stated.value_or(defaults_.network_bandwidth);
    builder_.add_link(nic, to, LinkKind::network, defaults_.network_latency, bandwidth, bandwidth);
  }

  // Connects two switches.
  void join(std::uint32_t a, std::uint32_t b, std::uint32_t count = 1) {
    ++between_switches_;
    auto const bandwidth = switch_bandwidth();
    builder_.add_link(a, b, LinkKind::network, defaults_.network_latency, bandwidth, bandwidth, count);
  }

  Bandwidth switch_bandwidth() const {
    if (spec_.switch_bandwidth != Bandwidth{}) return spec_.switch_bandwidth;
    Bandwidth fastest;
    for (auto const& node : machine_.nodes)
      if (node.kind == NodeKind::nic)
        fastest = std::max(
            fastest, node.bandwidth == Bandwidth{} ? defaults_.network_bandwidth.take() : node.bandwidth);
    return fastest;
  }

  void assume_network() {
    auto const nics = open_nics_ == 1 ? std::string("a NIC") : std::to_string(open_nics_) + " NICs";
    std::string text = "the network is generated: its latencies are the link defaults";
    if (open_nics_ > 0)
      text += ", the links of " + nics + " of unknown bandwidth have " +
              to_text(defaults_.network_bandwidth.shown());
    if (between_switches_ > 0 && spec_.switch_bandwidth == Bandwidth{})
      text +=
          ", links between switches have the bandwidth of the fastest NIC, " + to_text(switch_bandwidth());
    builder_.assume(text);
  }

  Nodes all_nics() const {
    Nodes all;
    for (auto const& nics : nics_) all.insert(all.end(), nics.begin(), nics.end());
    return all;
  }

  // Every leaf has radix / 2 ports up, spread evenly over the minimum number of spines.
  void spines_above(Nodes const& leaves) {
    if (leaves.size() < 2) return;
    std::uint32_t const up = spec_.radix / 2;
    std::uint32_t count = static_cast<std::uint32_t>(quotient_up(leaves.size(), 2));
    while (up % count != 0) ++count;
    auto const spines = switches("spine", count);
    for (auto leaf : leaves)
      for (auto spine : spines) join(leaf, spine, up / count);
  }

  void fat_tree() {
    auto const nics = all_nics();
    std::uint64_t const radix = spec_.radix;
    std::uint64_t const down = radix / 2;
    if (nics.size() <= radix) {
      auto const only = switches("leaf", 1).front();
      for (auto nic : nics) attach(nic, only);
      return;
    }
    if (nics.size() > radix * radix * radix / 4) {
      refuse("radix", radix,
             "a three-level fat tree then holds " + std::to_string(radix * radix * radix / 4) +
                 " NICs, not " + std::to_string(nics.size()));
    }
    auto const leaves = switches("leaf", quotient_up(nics.size(), down));
    for (std::size_t i = 0; i < nics.size(); ++i) attach(nics[i], leaves[i / down]);
    if (leaves.size() <= radix) {
      spines_above(leaves);
      return;
    }
    auto const aggregation = switches("aggregation", quotient_up(leaves.size(), down) * down);
    auto const core = switches("core", down * down);
    for (std::size_t i = 0; i < leaves.size(); ++i)
      for (std::size_t j = 0; j < down; ++j) join(leaves[i], aggregation[i / down * down + j]);
    for (std::size_t i = 0; i < aggregation.size(); ++i)
      for (std::size_t j = 0; j < down; ++j) join(aggregation[i], core[i % down * down + j]);
  }

  void rails() {
    std::uint64_t const down = spec_.radix / 2;
    auto const rails = nics_.front().size();
    auto const per_rail = quotient_up(spec_.machines, down);
    if (per_rail * rails > spec_.radix) {
      refuse("radix", spec_.radix,
             std::to_string(rails) + " rails of " + std::to_string(spec_.machines) + " machines need " +
                 std::to_string(per_rail * rails) + " leaves, more than a spine has ports");
    }
    auto const leaves = switches("leaf", per_rail * rails);
    for (std::size_t m = 0; m < nics_.size(); ++m)
      for (std::size_t rail = 0; rail < rails; ++rail)
        attach(nics_[m][rail], leaves[rail * per_rail + m / down]);
    spines_above(leaves);
  }

  void dragonfly() {
    std::uint64_t const in_group = spec_.routers_per_group;
    std::uint64_t const per_router = spec_.nics_per_router;
    std::uint64_t const global = spec_.global_links_per_router;
    if (in_group == 0 || in_group > 1024) refuse("routers_per_group", in_group, "it must be 1 to 1024");
    if (per_router == 0) refuse("nics_per_router", per_router, "it must be at least 1");
    auto const nics = all_nics();
    auto const groups = quotient_up(nics.size(), in_group * per_router);
    if (groups > in_group * global + 1) {
      refuse("global_links_per_router", global,
             std::to_string(groups) + " groups need " + std::to_string(groups - 1) +
                 " global links from each group of " + std::to_string(in_group) + " routers");
    }
    if (groups * (in_group + groups) * (in_group + groups) > kMaxLinks) {
      refuse("routers_per_group", in_group,
             std::to_string(groups) + " groups of this size have too many links");
    }
    auto const routers = switches("router", groups * in_group);
    for (std::size_t i = 0; i < nics.size(); ++i) attach(nics[i], routers[i / per_router]);
    for (std::uint64_t g = 0; g < groups; ++g)
      for (std::uint64_t i = 0; i < in_group; ++i)
        for (std::uint64_t j = i + 1; j < in_group; ++j)
          join(routers[g * in_group + i], routers[g * in_group + j]);
    // Port number d of group g leads to group g + 1 + d; its routers take the ports round-robin.
    for (std::uint64_t g = 0; g < groups; ++g)
      for (std::uint64_t h = g + 1; h < groups; ++h) {
        auto const there = (h - g - 1) / global;
        auto const back = (groups + g - h - 1) / global;
        join(routers[g * in_group + there], routers[h * in_group + back]);
      }
  }

  void torus() {
    std::uint64_t const n = spec_.machines;
    std::uint64_t size[3] = {spec_.x, spec_.y, spec_.z};
    if (size[0] == 0 && size[1] == 0 && size[2] == 0) {
      while (size[0] * size[0] * size[0] < n) ++size[0];
      while (size[0] * size[1] * size[1] < n) ++size[1];
      size[2] = quotient_up(n, size[0] * size[1]);
    }
    for (std::size_t d = 0; d < 3; ++d)
      if (size[d] == 0 || size[d] > 4096)
        refuse(std::string(1, "xyz"[d]), size[d], "x, y and z must all be 1 to 4096, or all be 0");
    auto const places = size[0] * size[1] * size[2];
    if (places < n || places > kMaxNodes / 2) {
      refuse("machines", n,
             "the torus has " + std::to_string(places) + " places and must have one per machine, at most " +
                 std::to_string(kMaxNodes / 2) + " in total");
    }
    auto const routers = switches("router", places);
    for (std::size_t m = 0; m < nics_.size(); ++m)
      for (auto nic : nics_[m]) attach(nic, routers[m]);
    std::uint64_t const step[3] = {1, size[0], size[0] * size[1]};
    for (std::uint64_t i = 0; i < places; ++i)
      for (std::size_t d = 0; d < 3; ++d) {
        auto const at = i / step[d] % size[d];
        // In a ring of two, forward and backward are the same link.
        if (size[d] == 1 || (size[d] == 2 && at == 1)) continue;
        join(routers[i],
             routers[i + (at + 1 < size[d] ? step[d] : 0) - (at + 1 < size[d] ? 0 : at * step[d])]);
      }
  }

  Machine machine_;
  ClusterSpec const& spec_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_{"cluster", "generated"};
  std::vector<Nodes> nics_;             // by machine
  std::uint64_t open_nics_ = 0;         // NICs of unknown bandwidth
  std::uint64_t between_switches_ = 0;  // number of links
};

}  // namespace

void ClusterSpec::describe(ParamTable& t) {
  t.choice(
       "shape", shape,
       {{"fat_tree", ClusterShape::fat_tree, "fat tree (folded Clos) of one to three levels of switches"},
        {"rail_optimized", ClusterShape::rail_optimized,
         "one leaf switch per rail (NICs of one number in all machines), or several; spine switches above"},
        {"dragonfly", ClusterShape::dragonfly,
         "groups of fully connected routers, one link between every two groups"},
        {"torus", ClusterShape::torus, "three-dimensional torus with one router per machine"}},
       "Network topology of the cluster", "assumed")
      .only_when(sibling("machines").is_above(1));
  t.count("machines", machines, {1, kMaxNodes}, "Number of copies of the machine", "assumed");
  auto const if_several = t.only_when(sibling("machines").is_above(1));
  t.count("radix", radix, {2, 4096}, "Ports per network switch", "NVIDIA Quantum-2: 64 ports of 400 Gbit/s")
      .only_when(sibling("shape").is_one_of({"fat_tree", "rail_optimized"}));
  t.bandwidth("switch_bandwidth", switch_bandwidth, {Bandwidth{0}, kHighestBandwidth},
              "Bandwidth per direction of a link between two network switches. 0: that of the fastest NIC",
              "NVIDIA DGX H100 SuperPOD: compute fabric of one speed, 400 Gbit/s")
      .only_when(facts::kSwitches);
  auto const is_dragonfly = sibling("shape").is("dragonfly");
  t.count("routers_per_group", routers_per_group, {1, 1024}, "Routers per dragonfly group",
          "balanced dragonfly (Kim et al., ISCA 2008): twice the NICs per router")
      .only_when(is_dragonfly);
  t.count("nics_per_router", nics_per_router, {1, 1024}, "NICs per dragonfly router", "assumed")
      .only_when(is_dragonfly);
  t.count("global_links_per_router", global_links_per_router, {1, 1024}, "Global links per dragonfly router",
          "balanced dragonfly (Kim et al., ISCA 2008): as many as NICs per router")
      .only_when(is_dragonfly);
  auto const if_torus = t.only_when(sibling("shape").is("torus"));
  t.count("x", x, {0, 4096}, "Machines along the first axis of a torus. 0 for all axes: nearly cubic",
          "assumed");
  t.count("y", y, {0, 4096}, "Machines along the second axis of a torus", "assumed");
  t.count("z", z, {0, 4096}, "Machines along the third axis of a torus", "assumed");
}

Machine generate_cluster(Machine const& machine, ClusterSpec const& spec, LinkDefaults const& defaults) {
  return Cluster(machine, spec, defaults).build();
}

}  // namespace farfault::topologies
