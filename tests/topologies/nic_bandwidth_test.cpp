// SPDX-License-Identifier: Apache-2.0
// NIC bandwidth: which sources specify it, and which links use it.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/description.hpp"
#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/graphml.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/topologies/machine_config.hpp"
#include "unused.hpp"

namespace nic_bandwidth_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

constexpr Bandwidth kDefault{25'000'000'000};
constexpr Bandwidth kNdr{50'000'000'000};

// Two machines with a CPU, a GPU and a NIC each; a switch connects the NICs. `nic` and `link`: additional
// lines of NIC 0 and of its link.
std::string two_machines(std::string const& nic, std::string const& link = {}) {
  std::string text;
  for (std::string const m : {"0", "1"}) {
    for (std::string const kind : {"cpu", "gpu", "nic"})
      text += "[[node]]\nname = \"" + kind + m + "\"\nkind = \"" + kind + "\"\nmachine = " + m + "\n" +
              (kind + m == "nic0" ? nic : "");
    for (std::string const other : {"gpu", "nic"})
      text += "[[link]]\na = \"cpu" + m + "\"\nb = \"" + other + m +
              "\"\nkind = \"pcie\"\nlatency = \"70ns\"\nbandwidth = \"16GB/s\"\n";
  }
  text += "[[node]]\nname = \"net\"\nkind = \"network_switch\"\nmachine = -1\n";
  for (std::string const m : {"0", "1"})
    text += "[[link]]\na = \"net\"\nb = \"nic" + m + "\"\nkind = \"network\"\nlatency = \"500ns\"\n" +
            (m == "0" ? link : "");
  return text;
}

std::string refusal(std::string const& text) {
  try {
    parse_machine(text, "f");
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

bool assumes(Machine const& m, std::string_view sentence) {
  return std::ranges::find(m.assumed, sentence) != m.assumed.end();
}

// Bandwidths of the network links between two kinds of nodes, in each direction, ascending.
std::vector<Bandwidth> rates(Machine const& m, NodeKind a, NodeKind b = NodeKind::network_switch) {
  std::vector<Bandwidth> found;
  for (auto const& link : m.links) {
    auto const from = m.nodes[link.a].kind, to = m.nodes[link.b].kind;
    if (link.kind != LinkKind::network || std::minmax(from, to) != std::minmax(a, b)) continue;
    for (auto const rate : {link.forward, link.backward})
      found.push_back({rate.bytes_per_second / link.count});
  }
  std::ranges::sort(found);
  return found;
}

using Rates = std::vector<Bandwidth>;

std::string nccl_host(std::string const& host, std::string const& speeds) {
  return "<cpu numaid=\"0\" host_hash=\"" + host +
         "\"><pci busid=\"1\" class=\"0x030200\"><gpu sm=\"90\"/></pci><pci busid=\"2\" "
         "class=\"0x020700\"><nic>" +
         speeds + "</nic></pci></cpu>";
}

ClusterSpec cluster_of(std::uint32_t machines, std::uint32_t radix = 64) {
  ClusterSpec spec;
  spec.machines = machines;
  spec.radix = radix;
  return spec;
}

}  // namespace

TEST_CASE("a network link of a TOML file has the bandwidth of its NIC, unless it has its own") {
  auto const of_nic = parse_machine(two_machines("bandwidth = \"400 Gbit/s\"\n"), "f");
  CHECK(of_nic.nodes[of_nic.find("nic0").value()].bandwidth == kNdr);
  CHECK(of_nic.states_nic_bandwidth());
  CHECK(rates(of_nic, NodeKind::nic) == Rates{kDefault, kDefault, kNdr, kNdr});
  CHECK(assumes(of_nic,
                "the bandwidth of 1 network link is not in the file: 25 GB/s per physical link and direction "
                "assumed"));
  auto const own = parse_machine(
      two_machines("bandwidth = \"50GB/s\"\n", "forward = \"1GB/s\"\nbackward = \"2GB/s\"\n"), "f");
  CHECK(rates(own, NodeKind::nic) ==
        Rates{Bandwidth{1'000'000'000}, Bandwidth{2'000'000'000}, kDefault, kDefault});
  auto const open = parse_machine(two_machines(""), "f");
  CHECK_FALSE(open.states_nic_bandwidth());
  CHECK(rates(open, NodeKind::nic) == Rates(4, kDefault));
}

TEST_CASE("a link between two NICs has the bandwidth of the slower one; PCIe links of a NIC keep theirs") {
  auto const m =
      parse_machine(two_machines("bandwidth = \"50GB/s\"\n") +
                        "[[node]]\nname = \"nic2\"\nkind = \"nic\"\nmachine = 1\nbandwidth = \"12.5GB/s\"\n"
                        "[[link]]\na = \"nic0\"\nb = \"nic2\"\nkind = \"network\"\n"
                        "[[link]]\na = \"cpu1\"\nb = \"nic2\"\nkind = \"pcie\"\n",
                    "f");
  CHECK(rates(m, NodeKind::nic, NodeKind::nic) == Rates(2, Bandwidth{12'500'000'000}));
  CHECK(m.links.back().forward == Bandwidth{16'000'000'000});
}

TEST_CASE("a bandwidth of a node that is not a NIC, of 0 or without a unit is rejected") {
  auto const node = [](std::string const& kind, std::string const& value) {
    return "[[node]]\nname = \"x\"\nkind = \"" + kind + "\"\nbandwidth = \"" + value + "\"\n";
  };
  CHECK(refusal(node("gpu", "50GB/s")) == "f:4: 'bandwidth' applies to NICs and links, but 'x' is a gpu");
  CHECK(refusal(node("nic", "0 B/s")) == "f:4: 'bandwidth' is 0 B/s, but it must be 1 MB/s to 1000000 TB/s");
  CHECK(refusal(node("nic", "400")) ==
        "f:4: 'bandwidth' is '400': '400' has no unit; write a bandwidth such as '64 GB/s'");
  Machine m = load_machine("single-gpu");
  m.nodes[0].bandwidth = kNdr;
  CHECK_THROWS_AS(validate(m, "made"), UserError);
}

TEST_CASE("GraphML keeps the bandwidth of NICs, and its network links use it") {
  auto const m = parse_machine(two_machines("bandwidth = \"50GB/s\"\n"), "f");
  auto const again = parse_machine(write_graphml(m), "g");
  CHECK(again.nodes[again.find("nic0").value()].bandwidth == kNdr);
  CHECK(again.nodes[again.find("nic1").value()].bandwidth == Bandwidth{});
  auto const node = [](std::string const& name, std::string const& kind, std::string const& more = {}) {
    return "<node id=\"" + name + "\"><data key=\"kind\">" + kind + "</data>" + more + "</node>";
  };
  auto const edge = [](std::string const& a, std::string const& b, std::string const& kind) {
    return "<edge source=\"" + a + "\" target=\"" + b + "\"><data key=\"kind\">" + kind + "</data></edge>";
  };
  auto const read = parse_machine(
      "<graphml><graph edgedefault=\"undirected\">" + node("g", "gpu") + node("c", "cpu") +
          node("n", "hca", "<data key=\"bandwidth\">50 GB/s</data>") +
          node("s", "switch", "<data key=\"bandwidth\">of no meaning here</data>") + edge("g", "c", "pcie") +
          edge("c", "n", "pcie") + edge("n", "s", "network") + "</graph></graphml>",
      "g");
  CHECK(rates(read, NodeKind::nic) == Rates(2, kNdr));
}

TEST_CASE("a NIC of an NCCL file has the total speed of its ports, and so has its link to other hosts") {
  auto const port = [](std::string const& name, std::string const& speed) {
    return "<net name=\"" + name + "\" dev=\"0\" port=\"1\" speed=\"" + speed + "\"/>";
  };
  auto const m =
      parse_machine("<system version=\"1\">" + nccl_host("0xa", port("a", "200000") + port("b", "200000")) +
                        nccl_host("0xb", port("a", "-1")) + "</system>",
                    "f");
  CHECK(rates(m, NodeKind::nic) == Rates{kDefault, kDefault, kNdr, kNdr});
  CHECK(assumes(m,
                "the bandwidth of 1 network link is not in the file: 25 GB/s per physical link and direction "
                "assumed"));
  auto const alone =
      parse_machine("<system version=\"1\">" + nccl_host("0xa", port("a", "400000")) + "</system>", "f");
  CHECK(rates(generate_cluster(alone, cluster_of(2)), NodeKind::nic) == Rates(4, kNdr));
}

TEST_CASE("an adapter of ibnetdiscover has the total bandwidth of its links") {
  std::string const rows =
      "[1]\t\"H-0001\"[1](1)\t# \"node1 mlx5_0\" lid 1 4xNDR\n"
      "[2]\t\"H-0001\"[2](2)\t# \"node1 mlx5_0\" lid 2 4xHDR\n"
      "[3]\t\"H-0002\"[1](3)\t# \"node2 mlx5_0\" lid 3 4x???\n";
  auto const m =
      parse_machine("Switch\t36 \"S-0001\"\t# \"leaf\"\n" + rows +
                        "Ca\t2 \"H-0001\"\t# \"node1 mlx5_0\"\nCa\t1 \"H-0002\"\t# \"node2 mlx5_0\"\n",
                    "f");
  CHECK(m.nodes[m.find("H-0001").value()].bandwidth == Bandwidth{75'000'000'000});
  CHECK(m.nodes[m.find("H-0002").value()].bandwidth == Bandwidth{});
}

TEST_CASE("hwloc and topograph files have no bandwidth of a NIC, and inspect shows the assumed one") {
  auto const hwloc = parse_machine(
      "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"Package\" gp_index=\"1\"><object "
      "type=\"PCIDev\" gp_index=\"2\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:2330] [0000:0000] "
      "00\"/><object type=\"PCIDev\" gp_index=\"3\" pci_busid=\"0000:02:00.0\" pci_type=\"0207 [15b3:1021] "
      "[0000:0000] 00\"/></object></object></topology>",
      "f");
  CHECK(
      assumes(hwloc, "the bandwidth of 1 NIC is not in the file: 25 GB/s on the link to a network assumed"));
  CHECK(rates(generate_cluster(hwloc, cluster_of(2)), NodeKind::nic) == Rates(4, kDefault));
  auto const topograph =
      parse_machine("switches:\n  leaf:\n    nodes: [a, b]\nnodes:\n  a: {}\n  b: {}\n", "f");
  CHECK(assumes(topograph, "no latency or bandwidth is in the file: the link defaults are assumed"));
  CHECK(rates(topograph, NodeKind::nic) == Rates(4, kDefault));
}

TEST_CASE(
    "in a generated cluster, links at NICs have the NIC's bandwidth, links between switches their own") {
  auto const m = generate_cluster(load_machine("dgx-h100"), cluster_of(2, 8));  // 4 leaves, 2 spines
  CHECK(rates(m, NodeKind::nic) == Rates(32, kNdr));
  CHECK(rates(m, NodeKind::network_switch) == Rates(16, kNdr));
  CHECK(m.assumed.back() ==
        "the network is generated: its latencies are the link defaults, links between switches have the "
        "bandwidth of the fastest NIC, 50 GB/s");
  auto spec = cluster_of(2, 8);
  spec.switch_bandwidth = Bandwidth{100'000'000'000};
  auto const faster = generate_cluster(load_machine("dgx-h100"), spec);
  CHECK(rates(faster, NodeKind::nic) == Rates(32, kNdr));
  CHECK(rates(faster, NodeKind::network_switch) == Rates(16, Bandwidth{100'000'000'000}));
  CHECK(faster.assumed.back() == "the network is generated: its latencies are the link defaults");
  auto const assumed = generate_cluster(load_machine("two-gpu"), cluster_of(16, 8));
  CHECK(rates(assumed, NodeKind::nic) == Rates(32, kDefault));
  CHECK(rates(assumed, NodeKind::network_switch) == Rates(16, kDefault));
  CHECK(assumed.assumed.back() ==
        "the network is generated: its latencies are the link defaults, the links of 16 NICs of unknown "
        "bandwidth have 25 GB/s, links between switches have the bandwidth of the fastest NIC, 25 GB/s");
  CHECK(generate_cluster(load_machine("two-gpu"), cluster_of(2)).assumed.back() ==
        "the network is generated: its latencies are the link defaults, the links of 2 NICs of unknown "
        "bandwidth have 25 GB/s");
  spec.switch_bandwidth = Bandwidth{1};
  CHECK_THROWS_WITH_AS(generate_cluster(load_machine("dgx-h100"), spec),
                       "generated cluster: switch_bandwidth is 1 B/s, but it must be 0 or at least 1 MB/s",
                       UserError);
}

TEST_CASE("machine.cluster.switch_bandwidth is reported as unused if the cluster has one switch") {
  auto const unused = [](std::string const& radix) {
    Config config(find_preset);
    config.read_text("machine.cluster.machines = 2\nmachine.cluster.switch_bandwidth = \"50GB/s\"\n" +
                         ("machine.cluster.radix = " + radix),
                     "f");
    MachineConfig machine;
    machine.bind(config);
    machine.fit_to(generate_cluster(load_machine("dgx-h100"), machine.cluster), config);
    config.reject_errors();
    return test::unused_in(config);
  };
  CHECK(unused("64") ==
        std::vector<std::string>{"machine.cluster.switch_bandwidth (f:2; only with a cluster of "
                                 "several switches)"});
  CHECK(unused("8").empty());
}

TEST_CASE("a torus and a dragonfly distinguish links at NICs from links between their routers") {
  for (auto const shape : {ClusterShape::torus, ClusterShape::dragonfly, ClusterShape::rail_optimized}) {
    auto spec = cluster_of(16);
    spec.shape = shape;
    spec.switch_bandwidth = Bandwidth{200'000'000'000};
    auto const m = generate_cluster(load_machine("dgx1"), spec);
    CHECK(rates(m, NodeKind::nic) == Rates(128, Bandwidth{12'500'000'000}));
    auto const between = rates(m, NodeKind::network_switch);
    CHECK_FALSE(between.empty());
    CHECK(between.front() == Bandwidth{200'000'000'000});
    CHECK(between.back() == Bandwidth{200'000'000'000});
  }
}

TEST_CASE("the built-in machines have the bandwidth of their NICs, and inspect shows it") {
  auto const of_nics = [](std::string const& name) {
    auto const m = load_machine(name);
    CHECK(m.count(NodeKind::nic) > 0);
    auto const first = m.nodes[m.nodes_of(NodeKind::nic).front()].bandwidth;
    for (auto const nic : m.nodes_of(NodeKind::nic)) CHECK(m.nodes[nic].bandwidth == first);
    for (auto const& sentence : m.assumed) CHECK(sentence.find("NIC") == std::string::npos);
    return first;
  };
  CHECK(of_nics("dgx1") == Bandwidth{12'500'000'000});
  CHECK(of_nics("dgx2") == Bandwidth{12'500'000'000});
  CHECK(of_nics("dgx-a100") == kDefault);
  CHECK(of_nics("dgx-h100") == kNdr);
  CHECK(of_nics("mi300x-8") == kNdr);
  CHECK(describe_text(load_machine("dgx-h100")).find("    nic0 (nic, NUMA node 0, 50 GB/s, ConnectX-7)\n") !=
        std::string::npos);
}

}  // namespace nic_bandwidth_test
