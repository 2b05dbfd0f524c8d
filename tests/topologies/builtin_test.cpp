// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/graphml.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/topologies/routing.hpp"

namespace builtin_test {

using namespace farfault;
using namespace farfault::topologies;

TEST_CASE("the list of built-in machines") {
  CHECK(builtin_machines() == std::vector<std::string>{"dgx-a100", "dgx-h100", "dgx1", "dgx2", "mi300x-8",
                                                       "paper-batch-aware", "paper-gmmu-bypass", "single-gpu",
                                                       "two-gpu"});
}

TEST_CASE("dgx1: 8 V100 with six NVLinks each, 24 in 16 pairs, 4 switches, 2 CPUs, 4 NICs") {
  auto const m = load_machine("dgx1");
  CHECK(m.format == "builtin");
  CHECK(m.count(NodeKind::gpu) == 8);
  CHECK(m.count(NodeKind::cpu) == 2);
  CHECK(m.count(NodeKind::pcie_switch) == 4);
  CHECK(m.count(NodeKind::nic) == 4);
  CHECK(m.count(LinkKind::nvlink) == 24);
  CHECK(m.pairs(LinkKind::nvlink) == 16);
  CHECK(m.count(LinkKind::pcie) == 16);
  Routes const routes(m);
  auto const way = [&](char const* a, char const* b) {
    return summarize(m, routes.path(m.find(a).value(), m.find(b).value()));
  };
  CHECK(way("gpu0", "gpu3") == PathSummary{1, 100ns, Bandwidth{50'000'000'000}});
  CHECK(way("gpu0", "gpu1") == PathSummary{1, 100ns, Bandwidth{25'000'000'000}});
  // No NVLink connects them, and GPUs do not forward: the route leads over the CPUs.
  CHECK(way("gpu0", "gpu7").hops == 5);
  CHECK(way("gpu0", "gpu7").bottleneck == Bandwidth{16'000'000'000});
}

TEST_CASE("dgx2: 16 V100, 12 NVSwitches, 96 + 48 NVLinks, two hops on one board and three across") {
  auto const m = load_machine("dgx2");
  CHECK(m.count(NodeKind::gpu) == 16);
  CHECK(m.count(NodeKind::nvswitch) == 12);
  CHECK(m.count(LinkKind::nvlink) == 144);
  Routes const routes(m);
  auto const gpu = [&](int i) { return m.find("gpu" + std::to_string(i)).value(); };
  CHECK(routes.path(gpu(0), gpu(1)).size() == 2);
  CHECK(routes.path(gpu(0), gpu(15)).size() == 3);
  CHECK(routes.next_links(gpu(0), gpu(15)).size() == 6);
}

TEST_CASE("dgx-a100: 8 A100 of 108 SMs with twelve NVLinks each to 6 NVSwitches, 8 NICs") {
  auto const m = load_machine("dgx-a100");
  CHECK(m.count(NodeKind::gpu) == 8);
  CHECK(m.count(NodeKind::nvswitch) == 6);
  CHECK(m.count(NodeKind::nic) == 8);
  CHECK(m.count(LinkKind::nvlink) == 96);
  CHECK(m.pairs(LinkKind::nvlink) == 48);
  CHECK(m.nodes[m.find("gpu0").value()].sm_count == 108);
  Routes const routes(m);
  CHECK(summarize(m, routes.path(m.find("gpu0").value(), m.find("gpu7").value())) ==
        PathSummary{2, 200ns, Bandwidth{50'000'000'000}});
}

TEST_CASE("dgx-h100: 8 H100 of 132 SMs with eighteen NVLinks each to 4 NVSwitches, 8 NICs") {
  auto const m = load_machine("dgx-h100");
  CHECK(m.count(NodeKind::gpu) == 8);
  CHECK(m.count(NodeKind::nvswitch) == 4);
  CHECK(m.count(NodeKind::nic) == 8);
  CHECK(m.count(LinkKind::nvlink) == 144);
  CHECK(m.pairs(LinkKind::nvlink) == 32);
  CHECK(m.nodes[m.find("gpu0").value()].sm_count == 132);
  CHECK(Routes(m).path(m.find("gpu0").value(), m.find("gpu7").value()).size() == 2);
}

TEST_CASE("mi300x-8: 8 GPUs, every two connected by one xGMI link") {
  auto const m = load_machine("mi300x-8");
  CHECK(m.count(NodeKind::gpu) == 8);
  CHECK(m.count(LinkKind::xgmi) == 28);
  CHECK(m.count(LinkKind::pcie) == 24);
}

TEST_CASE("single-gpu and two-gpu are connected to one root complex") {
  CHECK(load_machine("single-gpu").count(NodeKind::gpu) == 1);
  auto const m = load_machine("two-gpu");
  CHECK(m.count(NodeKind::gpu) == 2);
  CHECK(Routes(m).path(m.find("gpu0").value(), m.find("gpu1").value()).size() == 2);
}

TEST_CASE("an unknown name is answered with the nearest one") {
  CHECK_THROWS_WITH_AS(
      load_machine("dgx-1"),
      "dgx-1: neither a file nor a built-in machine (dgx-a100, dgx-h100, dgx1, dgx2, mi300x-8, "
      "paper-batch-aware, paper-gmmu-bypass, single-gpu, two-gpu); did you mean 'dgx1'?",
      UserError);
}

TEST_CASE("every built-in machine is unchanged after conversion to GraphML and back") {
  for (auto const& name : builtin_machines()) {
    CAPTURE(name);
    auto const m = load_machine(name);
    auto const back = parse_machine(write_graphml(m), "back");
    CHECK(back.format == "graphml");
    CHECK(back.name == name);
    REQUIRE(back.nodes.size() == m.nodes.size());
    REQUIRE(back.links.size() == m.links.size());
    for (std::size_t i = 0; i < m.nodes.size(); ++i) {
      CHECK(back.nodes[i].name == m.nodes[i].name);
      CHECK(back.nodes[i].kind == m.nodes[i].kind);
      CHECK(back.nodes[i].numa == m.nodes[i].numa);
      CHECK(back.nodes[i].sm_count == m.nodes[i].sm_count);
      CHECK(back.nodes[i].model == m.nodes[i].model);
    }
    for (std::size_t i = 0; i < m.links.size(); ++i) {
      CHECK(back.links[i].a == m.links[i].a);
      CHECK(back.links[i].b == m.links[i].b);
      CHECK(back.links[i].kind == m.links[i].kind);
      CHECK(back.links[i].latency == m.links[i].latency);
      CHECK(back.links[i].forward == m.links[i].forward);
      CHECK(back.links[i].backward == m.links[i].backward);
      CHECK(back.links[i].count == m.links[i].count);
    }
  }
}

}  // namespace builtin_test
