// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/generators.hpp"

#include <doctest/doctest.h>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/topologies/routing.hpp"

namespace generators_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

// Two GPUs, a CPU, one NIC.
Machine small() {
  return generate_generic({.gpus = 2,
                           .gpus_per_switch = 2,
                           .nics_per_switch = 1,
                           .fabric = GenericFabric::pcie,
                           .nvlinks_per_pair = 1});
}

ClusterSpec shape(ClusterShape s, std::uint32_t machines) {
  ClusterSpec spec;
  spec.shape = s;
  spec.machines = machines;
  return spec;
}

std::string refusal(Machine const& m, ClusterSpec const& spec) {
  try {
    generate_cluster(m, spec);
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

std::size_t hops(Machine const& m, std::string const& a, std::string const& b) {
  return Routes(m).path(m.find(a).value(), m.find(b).value()).size();
}

}  // namespace

TEST_CASE("a generic machine of 4 GPUs, two per switch, is the GMMU Bypass machine") {
  auto const made = generate_generic({});
  auto const paper = load_machine("paper-gmmu-bypass");
  CHECK(made.nodes.size() == paper.nodes.size());
  REQUIRE(made.links.size() == paper.links.size());
  Routes const a(made);
  Routes const b(paper);
  for (char const* from : {"gpu0", "gpu1", "gpu2", "gpu3", "cpu0"})
    for (char const* to : {"gpu0", "gpu1", "gpu2", "gpu3", "cpu0"})
      CHECK(summarize(made, a.path(made.find(from).value(), made.find(to).value())) ==
            summarize(paper, b.path(paper.find(from).value(), paper.find(to).value())));
}

TEST_CASE("a generic NVLink mesh connects every two GPUs by the configured number of links") {
  auto const m = generate_generic({.gpus = 5,
                                   .gpus_per_switch = 2,
                                   .nics_per_switch = 1,
                                   .fabric = GenericFabric::nvlink_mesh,
                                   .nvlinks_per_pair = 3});
  CHECK(m.count(NodeKind::gpu) == 5);
  CHECK(m.count(NodeKind::pcie_switch) == 4);
  CHECK(m.count(NodeKind::nic) == 3);
  CHECK(m.count(LinkKind::nvlink) == 30);
  CHECK(m.pairs(LinkKind::nvlink) == 10);
  CHECK(hops(m, "gpu0", "gpu4") == 1);
}

TEST_CASE("sizes that do not form a machine are rejected") {
  CHECK_THROWS_AS(generate_generic({0}), UserError);
  CHECK_THROWS_AS(generate_generic({4, 0}), UserError);
  CHECK_THROWS_AS(generate_generic({100'000}), UserError);
  CHECK_THROWS_AS(generate_generic({.gpus = 3000,
                                    .gpus_per_switch = 2,
                                    .nics_per_switch = 0,
                                    .fabric = GenericFabric::nvlink_mesh,
                                    .nvlinks_per_pair = 1}),
                  UserError);
  CHECK(refusal(small(), shape(ClusterShape::fat_tree, 0)) ==
        "generated cluster: machines is 0, but a cluster needs at least 1");
  CHECK(refusal(small(), shape(ClusterShape::torus, 4'000'000)).find("machines is 4000000") !=
        std::string::npos);
  auto spec = shape(ClusterShape::fat_tree, 4);
  spec.radix = 7;
  CHECK(refusal(small(), spec) == "generated cluster: radix is 7, but it must be even and from 2 to 4096");
}

TEST_CASE("a fat tree of 4-port switches: one switch, then two levels, then the 20 switches of three") {
  auto spec = shape(ClusterShape::fat_tree, 4);
  spec.radix = 4;
  auto m = generate_cluster(small(), spec);
  CHECK(m.count(NodeKind::network_switch) == 1);
  CHECK(m.count(LinkKind::network) == 4);
  spec.machines = 8;  // 4 leaves, 2 spines
  m = generate_cluster(small(), spec);
  CHECK(m.count(NodeKind::network_switch) == 6);
  CHECK(m.count(LinkKind::network) == 8 + 8);
  CHECK(m.count(NodeKind::gpu) == 16);
  spec.machines = 16;  // 8 leaves, 8 aggregation, 4 core
  m = generate_cluster(small(), spec);
  CHECK(m.count(NodeKind::network_switch) == 20);
  CHECK(m.count(LinkKind::network) == 16 + 16 + 16);
  // GPU, switch, NIC: two links; then up and down.
  CHECK(hops(m, "m0.gpu0", "m1.gpu0") == 2 + 2 + 2);
  CHECK(hops(m, "m0.gpu0", "m2.gpu0") == 2 + 4 + 2);
  CHECK(hops(m, "m0.gpu0", "m15.gpu0") == 2 + 6 + 2);
  spec.machines = 17;
  CHECK(refusal(small(), spec).find("radix is 4, but a three-level fat tree then holds 16 NICs, not 17") !=
        std::string::npos);
}

TEST_CASE("two leaves of a wide fat tree share one spine by a bundle of links") {
  auto spec = shape(ClusterShape::fat_tree, 12);
  spec.radix = 8;
  auto const m = generate_cluster(small(), spec);  // 3 leaves, 2 spines, bundles of 2
  CHECK(m.count(NodeKind::network_switch) == 5);
  CHECK(m.count(LinkKind::network) == 12 + 12);
  CHECK(m.pairs(LinkKind::network) == 12 + 6);
}

TEST_CASE("rails connect NICs of the same number") {
  auto spec = shape(ClusterShape::rail_optimized, 4);
  auto const m = generate_cluster(load_machine("dgx-a100"), spec);  // 8 rails, one leaf each, 4 spines
  CHECK(m.count(NodeKind::gpu) == 32);
  CHECK(m.count(NodeKind::network_switch) == 8 + 4);
  auto const rail = [&](std::string const& nic) {
    auto const n = m.find(nic).value();
    for (auto const& link : m.links)
      if (link.kind == LinkKind::network && (link.a == n || link.b == n))
        return m.nodes[link.a == n ? link.b : link.a].name;
    return std::string();
  };
  CHECK(rail("m0.nic3") == "net.leaf3");
  CHECK(rail("m3.nic3") == "net.leaf3");
  CHECK(rail("m3.nic7") == "net.leaf7");
  CHECK(hops(m, "m0.gpu0", "m3.gpu0") == 6);
  spec.machines = 1000;
  CHECK(refusal(load_machine("dgx-a100"), spec).find("8 rails of 1000 machines need 256 leaves") !=
        std::string::npos);
}

TEST_CASE(
    "a dragonfly of 9 groups of 4 routers has 54 local and 36 global links, any two groups one hop apart") {
  auto spec = shape(ClusterShape::dragonfly, 72);
  spec.routers_per_group = 4;
  spec.nics_per_router = 2;
  spec.global_links_per_router = 2;
  auto const m = generate_cluster(small(), spec);
  CHECK(m.count(NodeKind::network_switch) == 36);
  CHECK(m.count(LinkKind::network) == 72 + 54 + 36);
  std::vector<int> degree(m.nodes.size(), 0);
  for (auto const& link : m.links) ++degree[link.a], ++degree[link.b];
  for (auto router : m.nodes_of(NodeKind::network_switch)) CHECK(degree[router] == 2 + 3 + 2);
  for (int other = 8; other < 72; other += 8)
    CHECK(hops(m, "m0.gpu0", "m" + std::to_string(other) + ".gpu0") <= 2 + 2 + 3 + 2);
  spec.machines = 80;
  CHECK(refusal(small(), spec).find("10 groups need 9 global links") != std::string::npos);
}

TEST_CASE("a torus wraps around, and a ring of two has one link") {
  auto spec = shape(ClusterShape::torus, 64);
  auto m = generate_cluster(small(), spec);  // 4 x 4 x 4
  CHECK(m.count(NodeKind::network_switch) == 64);
  CHECK(m.count(LinkKind::network) == 64 + 192);
  CHECK(hops(m, "m0.gpu0", "m3.gpu0") == 2 + 2 + 1 + 2);
  CHECK(hops(m, "m0.gpu0", "m42.gpu0") == 2 + 2 + 6 + 2);  // (2, 2, 2): the farthest
  spec = shape(ClusterShape::torus, 8);
  m = generate_cluster(small(), spec);
  CHECK(m.count(LinkKind::network) == 8 + 12);
  spec.x = 5;
  spec.y = 1;
  CHECK(refusal(small(), spec) ==
        "generated cluster: z is 0, but x, y and z must all be 1 to 4096, or all be 0");
  spec.z = 1;
  CHECK(refusal(small(), spec).find("the torus has 5 places") != std::string::npos);
  spec.machines = 5;
  CHECK(generate_cluster(small(), spec).count(LinkKind::network) == 5 + 5);
}

TEST_CASE("a machine without a NIC gets one, and an assumption is listed") {
  auto const m = generate_cluster(load_machine("paper-gmmu-bypass"), shape(ClusterShape::fat_tree, 3));
  CHECK(m.count(NodeKind::nic) == 3);
  CHECK(m.count(NodeKind::gpu) == 12);
  CHECK(m.assumed.front() == "the machine has no NIC: one on a PCIe link of 'cpu0' is assumed");
}

TEST_CASE("1,024 GPUs are routed in a table of two bytes per node and destination") {
  auto const m = generate_cluster(load_machine("dgx-a100"), shape(ClusterShape::fat_tree, 128));
  CHECK(m.count(NodeKind::gpu) == 1024);
  Routes const routes(m);
  CHECK(routes.destinations().size() == 1024 + 256 + 1024);
  auto const path = routes.path(m.find("m0.gpu0").value(), m.find("m127.gpu7").value());
  CHECK(path.size() == 8);
  CHECK(routes.path(m.find("m5.gpu1").value(), m.find("m5.gpu2").value()).size() == 2);
}

}  // namespace generators_test
