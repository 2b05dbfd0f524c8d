// SPDX-License-Identifier: Apache-2.0
#include "import_case.hpp"

namespace farfault::topologies::import_rules_cluster_test {
namespace {

// Two adapters on one switch.
std::string fabric(std::string const& first = "node1 HCA-1", std::string const& second = "node2 mlx5_0",
                   std::string const& more = "", std::string const& rate = "4xHDR") {
  auto const port = [&](std::string const& n, std::string const& name) {
    return "[" + n + "]\t\"H-000" + n + "\"[1](000" + n + ") \t\t# \"" + name + "\" lid " + n + " " + rate +
           "\n";
  };
  return "#\n# Topology file: generated on Fri\n#\nswitchguid=0x1(1)\nSwitch\t36 \"S-0001\"\t\t# \"leaf\" "
         "base port 0\n" +
         port("1", first) + port("2", second) + more + "\nCa\t1 \"H-0001\"\t\t# \"" + first +
         "\"\n[1](0001) \t\"S-0001\"[1]\t\t# lid 1 lmc 0 \"leaf\" lid 9 " + rate +
         "\n\nCa\t1 \"H-0002\"\t\t# \"" + second + "\"\n";
}
std::string switch_alone(std::string const& ports) {
  return "Switch\t36 \"S-0001\"\t# \"leaf\"\n[1]\t\"H-0001\"[1](1)\t# \"node1 HCA-1\" lid 1 4xEDR\n" + ports +
         "Ca\t1 \"H-0001\"\t# \"node1 HCA-1\"\n";
}

std::string const kSwitches = "switches:\n  spine:\n    switches: [leaf]\n";
std::string model(std::string const& more = "", std::string const& switches = kSwitches) {
  return switches + "blocks:\n- switch: leaf\n  nodes: [\"n[1-2]\"]\n" + more;
}

}  // namespace

std::vector<ImportCase> cases() {
  std::string const pair = "2 gpu, 2 cpu, 2 nic, 1 network_switch | 4 pcie, 2 network";
  std::string const one_host = "2 gpu, 1 cpu, 2 nic, 1 network_switch | 4 pcie, 2 network";
  std::string const one = "1 gpu, 1 cpu, 1 nic, 1 network_switch | 2 pcie, 1 network";
  std::string const two = "1 gpu, 1 cpu, 1 nic, 2 network_switch | 2 pcie, 2 network";
  std::string const nodes = "8 gpu, 2 cpu, 2 nic, 2 network_switch | 10 pcie, 3 network";
  std::string const domain =
      "8 gpu, 2 cpu, 1 nvswitch, 2 nic, 2 network_switch | 10 pcie, 144 nvlink, 3 network";
  return {
      {"ib:switch", fabric(), pair},
      {"ib:aggregation",
       switch_alone("[2]\t\"H-0009\"[1](9)\t# \"Mellanox Technologies Aggregation Node\" lid 9 4xHDR\n") +
           "Ca\t1 \"H-0009\"\t# \"Mellanox Technologies Aggregation Node\"\n",
       one, "aggregation nodes (SHARP) of switches are ignored: 'H-0009'"},
      {"ib:adapter", fabric(), pair},
      {"ib:router",
       switch_alone("[2]\t\"R-0009\"[1](9)\t# \"router\" lid 9 4xHDR\n") + "Rt\t2 \"R-0009\"\t# \"router\"\n",
       two, "InfiniBand routers are taken as network switches: 'R-0009'"},
      {"ib:end", fabric(), pair},
      {"ib:end-switch", switch_alone("[2]\t\"S-0009\"[1]\t# \"spine\" lid 9 4xHDR\n"), two,
       "switches without a record are known only by links to them: 'S-0009'"},
      {"ib:end-router", switch_alone("[2]\t\"R-0009\"[1](9)\t# \"router\" lid 9 4xHDR\n"), two,
       "routers without a record are taken as network switches: 'R-0009'"},
      {"ib:end-aggregation",
       switch_alone("[2]\t\"H-0009\"[1](9)\t# \"Mellanox Technologies Aggregation Node\" lid 9 4xHDR\n"), one,
       "aggregation nodes (SHARP) without a record are ignored: 'H-0009'"},
      {"ib:end-adapter", switch_alone("[2]\t\"H-0009\"[1](9)\t# \"node9 HCA-1\" lid 9 4xHDR\n"), pair,
       "adapters without a record are known only by links to them: 'H-0009'"},
      {"ib:end-missing", switch_alone("[2]\t\"X-0009\"[1](9)\t# \"what\" lid 9 4xHDR\n"),
       "f: 'S-0001' has a link to 'X-0009', but the file has no record of it"},
      {"ib:link-self", switch_alone("[2]\t\"S-0001\"[3]\t# \"leaf\" lid 9 4xHDR\n"), one,
       "cables from a device to itself are ignored: 'S-0001'"},
      {"ib:link", fabric(), pair},
      {"ib:adapter-unlinked", fabric() + "Ca\t1 \"H-0003\"\t# \"node3 HCA-1\"\n", pair,
       "adapters and switches without a link are ignored: 'H-0003'"},
      {"ib:adapter-linked", fabric(), pair},
      {"ib:host-local", fabric("localhost mlx5_0", "localhost mlx5_0"), pair,
       "adapters whose description names no host are separate hosts: 'localhost mlx5_0' and 1 more"},
      {"ib:host-device", fabric("node1 mlx5_0", "node1 mlx5_1"), one_host,
       "adapters whose description begins with the same host name are assumed to share a CPU"},
      {"ib:host-word", fabric("node1", "node1"), one_host,
       "adapters with a one-word description belong to the host of that name: 'node1' and 1 more"},
      {"ib:host-open", fabric("MT4123 ConnectX6 Mellanox", "MT4123 ConnectX6 Mellanox"), pair,
       "adapters described only by their model are separate hosts: 'MT4123 ConnectX6 Mellanox' and 1 more"},
      {"ib:rate",
       fabric("a HCA-1", "b HCA-1", "", "4xNDR s=4 w=2 v=4"),
       pair,
       {},
       "2 network: 500 ns, 50 GB/s"},
      {"ib:rate-open", fabric("a HCA-1", "b HCA-1", "", "4x???"), pair, {}, "2 network: 500 ns, 25 GB/s"},
      {"ib:insides", fabric(), pair,
       "the file lists no GPUs: one per channel adapter (2) is assumed, on PCIe links with the link "
       "defaults"},
      {"topograph:switch", model(), nodes},
      {"topograph:switch-listed", model("", "switches:\n- name: spine\n  switches: [leaf]\n"), nodes},
      {"topograph:switch-below", model(), nodes},
      {"topograph:node",
       "switches:\n  leaf:\n    nodes: [\"n[1,3-4]\"]\ncapacity_blocks:\n  b:\n    nodes: [\"n[1,3-4]\"]\n",
       "12 gpu, 3 cpu, 3 nic, 1 network_switch | 15 pcie, 3 network"},
      {"topograph:domain", model("  annotations: {accelerator.topology.test/domain: d}\n"), domain},
      {"topograph:sub-domain", model("  annotations: {x/domain: d, x/sub-domain: e}\n"), domain,
       "sub-domains of NVLink domains are not read: 'x/sub-domain'"},
      {"topograph:other", model("  labels: {region: west}\n"), nodes},
      {"topograph:end-missing", model("- switch: other\n  nodes: [m]\n"),
       "12 gpu, 3 cpu, 3 nic, 4 network_switch | 15 pcie, 6 network",
       "switches named only by a block have no links to other switches: 'other'"},
      {"topograph:end", model(), nodes},
      {"topograph:no-leaf", "blocks:\n- nodes: [a, b]\n",
       "8 gpu, 2 cpu, 2 nic, 1 network_switch | 10 pcie, 2 network",
       "nodes on no switch are joined by an assumed network switch: 'a' and 1 more"},
      {"topograph:leaf", model(), nodes},
      {"topograph:apart", model("", "switches:\n  s1: {switches: [leaf]}\n  s2: {switches: [l2]}\n"),
       "8 gpu, 2 cpu, 2 nic, 5 network_switch | 10 pcie, 6 network",
       "a network switch is assumed above switches that the file does not link to others: 's1'"},
      {"topograph:together", model(), nodes},
      {"topograph:gpus-listed",
       "switches:\n  leaf: {nodes: [a]}\nnodes:\n  a:\n    attributes:\n      gpus:\n      - {index: 0, "
       "model: GB300}\n"
       "      - {index: 1, model: GB300}\n",
       "2 gpu, 1 cpu, 1 nic, 1 network_switch | 3 pcie, 1 network"},
      {"topograph:gpus-open", model(), nodes,
       "the devices of the 2 nodes are not in the file: one CPU, one NIC and 4 GPUs per node are assumed"},
      {"topograph:nvswitch-open", model("  annotations: {x/domain: d}\n"), domain,
       "an NVLink domain is assumed to be one NVSwitch with 18 NVLinks of 50 GB/s to each of its GPUs",
       "8 nvlink of 18 in parallel: 100 ns, 900 GB/s"},
      {"topograph:gpu-hopper",
       "switches:\n- name: leaf\n  capacity_blocks: [b]\ncapacity_blocks:\n- name: b\n  type: H100\n  "
       "nvlink: d\n  nodes: [a]\n",
       "4 gpu, 1 cpu, 1 nvswitch, 1 nic, 1 network_switch | 5 pcie, 72 nvlink, 1 network",
       {},
       "4 nvlink of 18 in parallel: 100 ns, 450 GB/s"},
      {"topograph:gpu-other", model(), nodes},
      {"topograph:rates-open", model(), nodes,
       "no latency or bandwidth is in the file: the link defaults are assumed"},
  };
}

}  // namespace farfault::topologies::import_rules_cluster_test
