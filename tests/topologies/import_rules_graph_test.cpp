// SPDX-License-Identifier: Apache-2.0
#include "import_case.hpp"

namespace farfault::topologies::import_rules_graph_test {
namespace {

std::string graph(std::string const& inside, std::string const& attributes = "edgedefault=\"undirected\"",
                  std::string const& keys = "") {
  return "<graphml>" + keys + "<graph " + attributes + ">" + inside + "</graph></graphml>";
}
std::string node(std::string const& id, std::string const& kind, std::string const& more = "") {
  return "<node id=\"" + id + "\"><data key=\"kind\">" + kind + "</data><data key=\"numa\">0</data>" + more +
         "</node>";
}
std::string edge(std::string const& a, std::string const& b, std::string const& kind,
                 std::string const& more = "") {
  return "<edge source=\"" + a + "\" target=\"" + b + "\" " + more + "><data key=\"kind\">" + kind +
         "</data></edge>";
}
// A GPU and a second node of any kind, connected by PCIe.
std::string with(std::string const& kind) {
  return graph(node("g", "gpu") + node("c", "cpu") + node("x", kind) + edge("g", "c", "pcie") +
               edge("x", "c", "pcie"));
}
std::string joined(std::string const& kind) {
  return graph(node("g", "gpu") + node("c", "cpu") + edge("g", "c", kind));
}

std::string toml_node(std::string const& name, std::string const& kind,
                      std::string const& more = "numa = 0\n") {
  return "[[node]]\nname = \"" + name + "\"\nkind = \"" + kind + "\"\n" + more;
}
std::string toml_link(std::string const& a, std::string const& b, std::string const& kind) {
  return "[[link]]\na = \"" + a + "\"\nb = \"" + b + "\"\nkind = \"" + kind + "\"\n";
}
std::string toml_with(std::string const& kind) {
  return toml_node("g", "gpu") + toml_node("c", "cpu") + toml_node("x", kind) + toml_link("g", "c", "pcie") +
         toml_link("x", "c", "pcie");
}
std::string toml_joined(std::string const& kind) {
  return toml_node("g", "gpu") + toml_node("c", "cpu") + toml_link("g", "c", kind);
}

}  // namespace

std::vector<ImportCase> cases() {
  std::string const two_gpus = "2 gpu, 1 cpu | 2 pcie";
  std::string const two_cpus = "1 gpu, 2 cpu | 2 pcie";
  std::string const g_c = node("g", "gpu") + node("c", "cpu");
  auto const third = [](std::string const& kind) { return "1 gpu, 1 cpu, 1 " + kind + " | 2 pcie"; };
  auto const link = [](std::string const& kind) { return "1 gpu, 1 cpu | 1 " + kind; };
  std::string const no_kind = "gpu, cpu, pcie_switch, nvswitch, nic or network_switch";
  return {
      {"graphml:gpu", with("GPU"), two_gpus},
      {"graphml:cpu", with("cpu"), two_cpus},
      {"graphml:pcie-switch", with("PCIe_Switch"), third("pcie_switch")},
      {"graphml:nvswitch", with("NVSwitch"), third("nvswitch")},
      {"graphml:nic", with("NIC"), third("nic")},
      {"graphml:network-switch", with("network_switch"), third("network_switch")},
      {"graphml:gpu-word", with("gcd"), two_gpus,
       "nodes of kind 'accelerator', 'gpgpu' or 'gcd' are taken as GPUs: 'x'"},
      {"graphml:cpu-word", with("socket"), two_cpus,
       "nodes of kind 'socket', 'package', 'numa' or 'host' are taken as CPUs: 'x'"},
      {"graphml:pcie-switch-word", with("plx"), third("pcie_switch"),
       "nodes of kind 'pci', 'plx' or 'bridge' are taken as PCIe switches: 'x'"},
      {"graphml:nvswitch-word", with("nvs"), third("nvswitch"),
       "nodes of kind 'nvs' or 'nvlink_switch' are taken as NVSwitches: 'x'"},
      {"graphml:nic-word", with("hca"), third("nic"),
       "nodes of kind 'hca', 'ca', 'net' or 'dpu' are taken as NICs: 'x'"},
      {"graphml:network-switch-word", with("tor"), third("network_switch"),
       "nodes of kind 'switch', 'tor', 'leaf', 'spine', 'core' or 'router' are taken as network switches: "
       "'x'"},
      {"graphml:node-open", with("gizmo"), "f: node 'x': its kind is 'gizmo'; expected " + no_kind},
      {"graphml:pcie", joined("PCIe"), link("pcie")},
      {"graphml:nvlink", joined("NVLink"), link("nvlink")},
      {"graphml:xgmi", joined("xGMI"), link("xgmi")},
      {"graphml:cpu-interconnect", joined("cpu_interconnect"), link("cpu_interconnect")},
      {"graphml:network", joined("network"), link("network")},
      {"graphml:pcie-word", joined("PIX"), link("pcie"),
       "edges of kind 'pci', 'pix', 'pxb' or 'phb' are taken as PCIe links: edge 'g' - 'c'"},
      {"graphml:nvlink-word", joined("NVL"), link("nvlink"),
       "edges of kind 'nvl', 'nv' or 'c2c' are taken as NVLinks: edge 'g' - 'c'"},
      {"graphml:xgmi-word", joined("infinity_fabric"), link("xgmi"),
       "edges of kind 'infinity_fabric' or 'xelink' are taken as xGMI links: edge 'g' - 'c'"},
      {"graphml:cpu-interconnect-word", joined("UPI"), link("cpu_interconnect"),
       "edges of kind 'qpi', 'upi', 'sys' or 'xbus' are taken as links between CPUs: edge 'g' - 'c'"},
      {"graphml:network-word", joined("infiniband"), link("network"),
       "edges of kind 'net', 'ethernet', 'infiniband', 'ib' or 'roce' are taken as network links: edge 'g' - "
       "'c'"},
      {"graphml:edge-open", joined("string"),
       "f: edge 'g' - 'c': its kind is 'string'; expected pcie, nvlink, xgmi, cpu_interconnect or "
       "network"},
      {"graphml:end-self", graph(g_c + edge("g", "g", "pcie")),
       "f: edge 'g' - 'g': its source and target are the same node"},
      {"graphml:end", joined("pcie"), link("pcie")},
      {"graphml:end-missing", graph(g_c + edge("g", "d", "pcie")),
       "f: edge 'g' - 'd': its target is not a node of the graph"},
      {"graphml:half", graph(g_c + edge("g", "c", "pcie"), "edgedefault=\"directed\""), link("pcie"),
       "directed edges without a reverse edge are assumed to have the same bandwidth in both directions: 'g' "
       "- 'c'"},
      {"graphml:whole",
       graph(g_c + edge("g", "c", "pcie", "directed=\"true\"") + edge("c", "g", "pcie", "directed=\"true\"")),
       link("pcie")},
      {"graphml:direction-open", graph(g_c + edge("g", "c", "pcie"), ""), link("pcie"),
       "the file does not state whether its edges are directed: undirected edges are assumed"},
      {"graphml:direction", joined("pcie"), link("pcie")},
      {"graphml:hyperedge", graph(g_c + "<hyperedge/>" + edge("g", "c", "pcie")),
       "f: <hyperedge> is not supported: a link joins two nodes"},
      {"graphml:nested", graph(node("g", "gpu", "<graph/>")),
       "f: node 'g': a nested <graph> is not supported"},
      {"graphml:second-graph", "<graphml><graph/><graph/></graphml>",
       "f: a second <graph> is not supported: a machine is one graph"},
      {"graphml:first-graph", joined("pcie"), link("pcie")},
      {"toml:gpu", toml_with("gpu"), two_gpus},
      {"toml:cpu", toml_with("cpu"), two_cpus},
      {"toml:pcie-switch", toml_with("pcie_switch"), third("pcie_switch")},
      {"toml:nvswitch", toml_with("nvswitch"), third("nvswitch")},
      {"toml:nic", toml_with("nic"), third("nic")},
      {"toml:network-switch", toml_with("network_switch"), third("network_switch")},
      {"toml:node-open", toml_with("GPU"), "f:11: 'GPU' is not a kind of node: " + no_kind},
      {"toml:pcie", toml_joined("pcie"), link("pcie")},
      {"toml:nvlink", toml_joined("nvlink"), link("nvlink")},
      {"toml:xgmi", toml_joined("xgmi"), link("xgmi")},
      {"toml:cpu-interconnect", toml_joined("cpu_interconnect"), link("cpu_interconnect")},
      {"toml:network", toml_joined("network"), link("network")},
      {"toml:link-open", toml_joined("upi"),
       "f:12: 'upi' is not a kind of link: pcie, nvlink, xgmi, cpu_interconnect or network"},
      {"toml:end-self", toml_node("g", "gpu") + toml_link("g", "g", "pcie"),
       "f:5: the link joins 'g' to itself"},
      {"toml:end", toml_joined("pcie"), link("pcie")},
      {"toml:end-missing", toml_node("g", "gpu") + toml_link("g", "d", "pcie"),
       "f:7: 'b' is 'd', but no node has this name"},
      {"any:numa-open",
       graph("<node id=\"g\"><data key=\"kind\">gpu</data></node><node id=\"c\"><data "
             "key=\"kind\">cpu</data></node>" +
             edge("g", "c", "pcie")),
       link("pcie"), "the NUMA node of GPUs, CPUs and NICs is not in the file: 'g' and 1 more"},
      {"any:numa", joined("pcie"), link("pcie")},
  };
}

}  // namespace farfault::topologies::import_rules_graph_test
