// SPDX-License-Identifier: Apache-2.0
// The importers on real files: the expected counts were read from the files by hand.
#include <doctest/doctest.h>

#include <algorithm>

#include "data.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/topologies/routing.hpp"

namespace real_files_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

struct Counts {
  std::uint64_t gpu = 0, cpu = 0, pcie_switch = 0, nvswitch = 0, nic = 0;
  std::uint64_t pcie = 0, nvlink = 0, xgmi = 0, cpu_interconnect = 0;
};

void check(std::string const& file, std::string const& format, Counts const& want) {
  auto const path = data_file("topologies/" + file);
  if (!path) return;
  CAPTURE(file);
  CHECK(looks_like_machine(*path));
  auto const m = load_machine(*path);
  CHECK(m.format == format);
  CHECK(m.count(NodeKind::gpu) == want.gpu);
  CHECK(m.count(NodeKind::cpu) == want.cpu);
  CHECK(m.count(NodeKind::pcie_switch) == want.pcie_switch);
  CHECK(m.count(NodeKind::nvswitch) == want.nvswitch);
  CHECK(m.count(NodeKind::nic) == want.nic);
  CHECK(m.count(NodeKind::network_switch) == 0);
  CHECK(m.count(LinkKind::pcie) == want.pcie);
  CHECK(m.count(LinkKind::nvlink) == want.nvlink);
  CHECK(m.count(LinkKind::xgmi) == want.xgmi);
  CHECK(m.count(LinkKind::cpu_interconnect) == want.cpu_interconnect);
  CHECK(m.count(LinkKind::network) == 0);
  Routes const routes(m);
  auto const gpus = m.nodes_of(NodeKind::gpu);
  for (auto a : gpus)
    for (auto b : gpus) CHECK(routes.path(a, b).empty() == (a == b));
}

bool assumes(Machine const& m, std::string const& words) {
  return std::ranges::any_of(m.assumed, [&](auto const& s) { return s.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("ndv2-topo.xml: 8 GPUs and a NIC directly below two CPUs") {
  check("ndv2-topo.xml", "nccl-xml", {.gpu = 8, .cpu = 2, .nic = 1, .pcie = 9, .cpu_interconnect = 1});
}

TEST_CASE("ndv4-topo.xml: two GPUs and two NICs on each of four switches, one per CPU") {
  check("ndv4-topo.xml", "nccl-xml",
        {.gpu = 8, .cpu = 4, .pcie_switch = 4, .nic = 8, .pcie = 20, .cpu_interconnect = 6});
}

TEST_CASE("ncv4-topo.xml: 4 GPUs with NVLinks to themselves, and a NIC without a PCI slot") {
  check("ncv4-topo.xml", "nccl-xml", {.gpu = 4, .cpu = 4, .nic = 1, .pcie = 5, .cpu_interconnect = 6});
  auto const path = data_file("topologies/ncv4-topo.xml");
  if (!path) return;
  auto const m = load_machine(*path);
  CHECK(assumes(
      m, "links that lead to the GPU itself (a virtual machine hides the peer) are ignored: 'gpu0' (12 to "));
  CHECK(assumes(m, " and 3 more"));
  CHECK(assumes(
      m, "NICs without a PCI slot in the file are joined to their CPU by an assumed PCIe link: 'eth0'"));
  CHECK(
      assumes(m, "the bandwidth of 5 pcie links is not in the file: " + to_text(Bandwidth{16'000'000'000})));
  CHECK(m.nodes[m.find("gpu0").value()].model == "sm_80");
  CHECK(m.nodes[m.find("gpu0").value()].sm_count == 0);
}

TEST_CASE(
    "p4d-24xl-topo.xml: 8 GPUs, 4 NICs and 4 switches at PCIe 3.0 speed, with a message about missing "
    "NVLinks") {
  check("p4d-24xl-topo.xml", "nccl-xml",
        {.gpu = 8, .cpu = 2, .pcie_switch = 4, .nic = 4, .pcie = 16, .cpu_interconnect = 1});
  auto const path = data_file("topologies/p4d-24xl-topo.xml");
  if (!path) return;
  auto const m = load_machine(*path);
  CHECK(assumes(m, "the file lists no NVLink or xGMI link"));
  for (auto const& link : m.links)
    if (link.kind == LinkKind::pcie) CHECK(link.forward == Bandwidth{15'753'846'153});
}

TEST_CASE("topo_3p_pcie.xml: 3 GPUs, each on a separate switch") {
  check("topo_3p_pcie.xml", "nccl-xml",
        {.gpu = 3, .cpu = 2, .pcie_switch = 3, .nic = 1, .pcie = 7, .cpu_interconnect = 1});
}

TEST_CASE("topo_4p_940.xml: four MI300A, every two connected by xGMI") {
  check("topo_4p_940.xml", "nccl-xml",
        {.gpu = 4, .cpu = 4, .nic = 4, .pcie = 8, .xgmi = 6, .cpu_interconnect = 6});
  auto const path = data_file("topologies/topo_4p_940.xml");
  if (!path) return;
  auto const m = load_machine(*path);
  CHECK(m.nodes[m.find("gpu0").value()].sm_count == 228);
  CHECK(m.nodes[m.find("gpu0").value()].numa == 2);
  Routes const routes(m);
  auto const path01 = routes.path(m.find("gpu0").value(), m.find("gpu1").value());
  CHECK(summarize(m, path01) == PathSummary{1, 100ns, Bandwidth{64'000'000'000}});
}

TEST_CASE("topo_8p6l.xml: 8 GPUs with six xGMI links each have 24 links") {
  check("topo_8p6l.xml", "nccl-xml",
        {.gpu = 8, .cpu = 2, .pcie_switch = 8, .nic = 1, .pcie = 17, .xgmi = 24, .cpu_interconnect = 1});
}

TEST_CASE("topo_8p_940.xml: 8 MI300X, every two connected, each behind three switches with a NIC") {
  check("topo_8p_940.xml", "nccl-xml",
        {.gpu = 8, .cpu = 2, .pcie_switch = 24, .nic = 8, .pcie = 40, .xgmi = 28, .cpu_interconnect = 1});
}

TEST_CASE("topo_8p_rome_4n_1.xml: two hives of four MI100 below four CPUs") {
  check("topo_8p_rome_4n_1.xml", "nccl-xml",
        {.gpu = 8, .cpu = 4, .pcie_switch = 20, .nic = 4, .pcie = 32, .xgmi = 12, .cpu_interconnect = 6});
  auto const path = data_file("topologies/topo_8p_rome_4n_1.xml");
  if (!path) return;
  auto const m = load_machine(*path);
  for (auto const& link : m.links)
    if (link.kind == LinkKind::xgmi) CHECK(link.forward == Bandwidth{46'000'000'000});
}

TEST_CASE("nvidiaDGX2.xml: 16 V100 with six NVLinks each to the 12 NVSwitches, below 12 PCIe switches") {
  check("nvidiaDGX2.xml", "hwloc-xml",
        {.gpu = 16,
         .cpu = 2,
         .pcie_switch = 12,
         .nvswitch = 12,
         .pcie = 28,
         .nvlink = 96,
         .cpu_interconnect = 1});
  auto const path = data_file("topologies/nvidiaDGX2.xml");
  if (!path) return;
  auto const m = load_machine(*path);
  CHECK(m.nodes[m.find("gpu0").value()].model == "Tesla V100-SXM3-32GB-H");
  CHECK(assumes(m, "no NVLink between NVSwitches"));
  CHECK(assumes(m, "PCIe links of 12 NVSwitches"));
  Routes const routes(m);
  auto const way = [&](char const* a, char const* b) {
    return summarize(m, routes.path(m.find(a).value(), m.find(b).value()));
  };
  CHECK(way("gpu0", "gpu7") == PathSummary{2, 200ns, Bandwidth{25'000'000'000}});
  CHECK(routes.next_links(m.find("gpu0").value(), m.find("gpu7").value()).size() == 6);
  CHECK(way("gpu0", "gpu8").bottleneck == Bandwidth{15'753'846'000});
}

TEST_CASE("ibnetdiscover-example.out: 40 switches and 542 adapters, without the 40 aggregation nodes") {
  auto const path = data_file("topologies/ibnetdiscover-example.out");
  if (!path) return;
  CHECK(looks_like_machine(*path));
  auto const m = load_machine(*path);
  CHECK(m.format == "ibnetdiscover");
  CHECK(m.count(NodeKind::network_switch) == 40);
  CHECK(m.count(NodeKind::nic) == 542);
  CHECK(m.count(NodeKind::gpu) == 542);
  auto const leaf = m.find("S-2c5eab0300b87b40").value();
  std::uint32_t down = 0;
  for (auto const& link : m.links) {
    if (link.kind != LinkKind::network) continue;
    CHECK(link.forward.bytes_per_second == 50'000'000'000U * link.count);
    if ((link.a == leaf || link.b == leaf) && m.nodes[link.a == leaf ? link.b : link.a].kind == NodeKind::nic)
      ++down;
  }
  CHECK(down == 17);
}

TEST_CASE("topograph models: switch trees, nodes and NVLink domains") {
  auto const medium = data_file("topologies/topograph-medium.yaml");
  auto const nvl72 = data_file("topologies/topograph-nvl72.yaml");
  if (!medium || !nvl72) return;
  auto const m = load_machine(*medium);
  CHECK(m.format == "topograph-yaml");
  CHECK(m.count(NodeKind::network_switch) == 7);
  CHECK(m.count(NodeKind::cpu) == 8);
  CHECK(m.count(NodeKind::nvswitch) == 4);
  CHECK(m.count(NodeKind::gpu) == 32);
  CHECK(m.count(LinkKind::network) == 6 + 8);
  CHECK(m.find("1402.gpu3").has_value());
  auto const big = load_machine(*nvl72);
  CHECK(big.count(NodeKind::network_switch) == 7);
  CHECK(big.count(NodeKind::cpu) == 72);
  CHECK(big.count(NodeKind::gpu) == 288);
  CHECK(big.count(LinkKind::nvlink) == 288 * 18);
  CHECK(big.find("node2218.gpu0").has_value());
}

}  // namespace real_files_test
