// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/routing.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>

#include "farfault/topologies/load.hpp"

namespace routing_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

std::string node(std::string const& name, std::string const& kind) {
  return "[[node]]\nname = \"" + name + "\"\nkind = \"" + kind + "\"\n";
}

std::string link(std::string const& a, std::string const& b, std::string const& rest,
                 std::string const& kind = "pcie") {
  return "[[link]]\na = \"" + a + "\"\nb = \"" + b + "\"\nkind = \"" + kind + "\"\n" + rest + "\n";
}

std::string const kFast = "latency = \"10ns\"\nbandwidth = \"16GB/s\"";
std::string const kSlow = "latency = \"500ns\"\nbandwidth = \"16GB/s\"";

// Reference: all shortest costs from every node to `to` by Bellman-Ford, (forwards, ps, hops), over NVLink
// and xGMI only, or over all links.
struct Cost {
  std::uint64_t forwards;
  std::int64_t ps;
  std::uint32_t hops;
  auto operator<=>(Cost const&) const = default;
};
bool between_gpus(MachineLink const& l) {
  return l.kind == LinkKind::nvlink || l.kind == LinkKind::xgmi;
}
std::vector<Cost> slow_costs(Machine const& m, std::uint32_t to, std::uint64_t bytes, bool all) {
  std::vector<Cost> best(m.nodes.size(), Cost{1000, 0, 0});
  best[to] = {0, 0, 0};
  for (std::size_t round = 0; round < m.nodes.size(); ++round) {
    for (auto const& l : m.links) {
      if (!all && !between_gpus(l)) continue;
      auto const relax = [&](std::uint32_t v, std::uint32_t u, Bandwidth b) {
        auto const kind = m.nodes[u].kind;
        auto const pays = u != to && (kind == NodeKind::gpu || kind == NodeKind::nic);
        Cost const way{best[u].forwards + (pays ? 1 : 0),
                       best[u].ps + (l.latency + b.time_for(bytes)).count(), best[u].hops + 1};
        best[v] = std::min(best[v], way);
      };
      relax(l.a, l.b, l.forward);
      relax(l.b, l.a, l.backward);
    }
  }
  return best;
}

}  // namespace

TEST_CASE("the GMMU Bypass machine has 4 GPUs, a CPU, 3 switches and 7 links of 16 GB/s each way") {
  auto const m = load_machine("paper-gmmu-bypass");
  CHECK(m.count(NodeKind::gpu) == 4);
  CHECK(m.count(NodeKind::cpu) == 1);
  CHECK(m.count(NodeKind::pcie_switch) == 3);
  CHECK(m.links.size() == 7);
  CHECK(m.count(LinkKind::pcie) == 7);
  for (auto const& l : m.links) {
    CHECK(l.forward == Bandwidth{16'000'000'000});
    CHECK(l.backward == Bandwidth{16'000'000'000});
  }
  CHECK(m.assumed.empty());
}

TEST_CASE("paths of the GMMU Bypass machine take 140, 280 and 420 ns") {
  auto const m = load_machine("paper-gmmu-bypass");
  Routes const routes(m);
  auto const way = [&](char const* a, char const* b) {
    return summarize(m, routes.path(m.find(a).value(), m.find(b).value()));
  };
  Bandwidth const pcie{16'000'000'000};
  CHECK(way("gpu0", "gpu1") == PathSummary{2, 140ns, pcie});
  CHECK(way("gpu0", "gpu2") == PathSummary{4, 420ns, pcie});
  CHECK(way("gpu3", "cpu0") == PathSummary{3, 280ns, pcie});
  CHECK(way("cpu0", "gpu0") == PathSummary{3, 280ns, pcie});
  CHECK(routes.path(0, 0).empty());
  CHECK(routes.destinations().size() == 5);
  CHECK_FALSE(routes.is_destination(m.find("root").value()));
}

TEST_CASE("a GPU forwards for others only if no other path exists") {
  // a - b - c over fast links, and a - s - c over slow ones: the detour over the switch wins.
  auto text = node("a", "gpu") + node("b", "gpu") + node("c", "gpu") + node("s", "pcie_switch") +
              link("a", "b", kFast) + link("b", "c", kFast) + link("a", "s", kSlow) + link("s", "c", kSlow);
  auto const with_switch = parse_machine(text, "test");
  auto const path = Routes(with_switch).path(0, 2);
  REQUIRE(path.size() == 2);
  CHECK(path[0] == Hop{2, 0, 3});
  CHECK(path[1] == Hop{3, 3, 2});
  auto const chain = parse_machine(
      node("a", "gpu") + node("b", "gpu") + node("c", "gpu") + link("a", "b", kFast) + link("b", "c", kFast),
      "test");
  auto const only = Routes(chain).path(0, 2);
  REQUIRE(only.size() == 2);
  CHECK(only[0].to == 1);
}

TEST_CASE("all equal paths are kept, flow 0 takes the lowest neighbour, and flows are spread round-robin") {
  std::string text = node("a", "gpu") + node("b", "gpu");
  for (int i = 0; i < 4; ++i) {
    auto const s = "s" + std::to_string(i);
    text += node(s, "pcie_switch") + link(s, "b", kFast) + link("a", s, kFast);
  }
  auto const m = parse_machine(text, "test");
  Routes const routes(m);
  auto const links = routes.next_links(0, 1);
  REQUIRE(links.size() == 4);
  CHECK(routes.other_end(links[0], 0) == m.find("s0").value());
  CHECK(routes.other_end(links[3], 0) == m.find("s3").value());
  CHECK(routes.next_link(0, 1) == links[0]);
  std::vector<int> taken(m.links.size(), 0);
  for (std::uint64_t flow = 0; flow < 4000; ++flow) ++taken[routes.next_link(0, 1, flow)];
  for (auto l : links) CHECK(taken[l] == 1000);
}

TEST_CASE("consecutive flows use every route of a two-stage network equally often") {
  // a to three switches, each of them to two more switches, these to b: six routes.
  std::string text = node("a", "gpu") + node("b", "gpu");
  for (int i = 0; i < 2; ++i)
    text += node("t" + std::to_string(i), "pcie_switch") + link("t" + std::to_string(i), "b", kFast);
  for (int i = 0; i < 3; ++i) {
    auto const s = "s" + std::to_string(i);
    text += node(s, "pcie_switch") + link("a", s, kFast) + link(s, "t0", kFast) + link(s, "t1", kFast);
  }
  auto const m = parse_machine(text, "test");
  Routes const routes(m);
  std::map<std::vector<std::uint32_t>, int> visits;
  for (std::uint64_t flow = 0; flow < 60; ++flow) {
    std::vector<std::uint32_t> way;
    for (auto const& hop : routes.path(0, 1, flow)) way.push_back(hop.link);
    CHECK(way.size() == 3);
    ++visits[way];
  }
  CHECK(visits.size() == 6);
  for (auto const& [way, count] : visits) CHECK(count == 10);
}

TEST_CASE("the message size selects a wide or a short path") {
  // Direct: 10 ns at 1 GB/s. Over the switch: 2 x 100 ns at 100 GB/s.
  auto const m = parse_machine(node("a", "gpu") + node("b", "gpu") + node("s", "nvswitch") +
                                   link("a", "b", "latency = \"10ns\"\nbandwidth = \"1GB/s\"", "nvlink") +
                                   link("a", "s", "latency = \"100ns\"\nbandwidth = \"100GB/s\"", "nvlink") +
                                   link("s", "b", "latency = \"100ns\"\nbandwidth = \"100GB/s\"", "nvlink"),
                               "test");
  CHECK(Routes(m, {ByteSize{64}}).path(0, 1).size() == 1);
  CHECK(Routes(m, {ByteSize{4096}}).path(0, 1).size() == 2);
}

TEST_CASE("two GPUs connected by NVLink do not use a faster PCIe switch that they share") {
  auto const pcie5 = "latency = \"70ns\"\nbandwidth = \"64GB/s\"";
  auto const m = parse_machine(node("a", "gpu") + node("b", "gpu") + node("p", "pcie_switch") +
                                   node("s", "nvswitch") + link("a", "p", pcie5) + link("p", "b", pcie5) +
                                   link("a", "s", "latency = \"100ns\"\nbandwidth = \"25GB/s\"", "nvlink") +
                                   link("s", "b", "latency = \"100ns\"\nbandwidth = \"25GB/s\"", "nvlink"),
                               "test");
  Routes const routes(m);
  CHECK(routes.path(0, 1)[0].to == m.find("s").value());
  CHECK(routes.path(1, 0)[0].to == m.find("s").value());
}

TEST_CASE("the direction of travel selects the bandwidth") {
  auto const m =
      parse_machine(node("a", "gpu") + node("b", "gpu") +
                        link("a", "b", "latency = \"10ns\"\nforward = \"2GB/s\"\nbackward = \"1GB/s\""),
                    "test");
  Routes const routes(m);
  CHECK(summarize(m, routes.path(0, 1)).bottleneck == Bandwidth{2'000'000'000});
  CHECK(summarize(m, routes.path(1, 0)).bottleneck == Bandwidth{1'000'000'000});
}

TEST_CASE("routes have the cost found by Bellman-Ford, on every built-in machine") {
  for (auto const& name : builtin_machines()) {
    CAPTURE(name);
    auto const m = load_machine(name);
    Routes const routes(m);
    for (auto to : routes.destinations()) {
      auto const best = slow_costs(m, to, 4096, true);
      auto const between = slow_costs(m, to, 4096, false);
      for (std::uint32_t from = 0; from < m.nodes.size(); ++from) {
        for (std::uint64_t const flow : {0U, 1U, 77U}) {
          Cost cost{0, 0, 0};
          for (auto const& hop : routes.path(from, to, flow)) {
            auto const& l = m.links[hop.link];
            cost.ps += (l.latency + (l.a == hop.from ? l.forward : l.backward).time_for(4096)).count();
            ++cost.hops;
            auto const kind = m.nodes[hop.to].kind;
            if (hop.to != to && (kind == NodeKind::gpu || kind == NodeKind::nic)) ++cost.forwards;
          }
          REQUIRE(cost == (between[from].forwards == 0 ? between[from] : best[from]));
        }
      }
    }
  }
}

}  // namespace routing_test
