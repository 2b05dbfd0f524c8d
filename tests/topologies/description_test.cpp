// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/description.hpp"

#include <doctest/doctest.h>

#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/link_scale.hpp"
#include "farfault/topologies/load.hpp"

namespace description_test {

using namespace farfault;
using namespace farfault::topologies;

TEST_CASE("JSON counts physical links and pairs, and lists every kind") {
  auto m = load_machine("dgx1");
  m.assumed = {"a \"quoted\"\n\\ thing", "another"};
  CHECK(describe_json(m) ==
        R"({"kind":"topology","format":"builtin","name":"dgx1",)"
        R"("nodes":{"gpu":8,"cpu":2,"pcie_switch":4,"nvswitch":0,"nic":4,"network_switch":0},)"
        R"("links":{"pcie":16,"nvlink":24,"xgmi":0,"cpu_interconnect":2,"network":0},)"
        R"("pairs":{"pcie":16,"nvlink":16,"xgmi":0,"cpu_interconnect":1,"network":0},)"
        R"("assumed":["a \"quoted\"\n\\ thing","another"]})");
}

TEST_CASE("JSON is valid for any names in a file") {
  auto m = load_machine("single-gpu");
  m.name = "a\xff\"\\\x1b[31m\n\xed\xa0\x80";
  m.assumed = {"\xc3"};
  auto const json = describe_json(m);
  CHECK(json.find(R"("name":"a\ufffd\"\\\u001b[31m\n)") == std::string::npos);  // not as an escape sequence
  CHECK(json.find("\"name\":\"a\ufffd\\\"\\\\\\u001b[31m\\n\ufffd") != std::string::npos);  // but literally
  CHECK(json.find("\"assumed\":[\"\ufffd\"]") != std::string::npos);
}

TEST_CASE("text output shows names of a file on one line and truncates long ones") {
  auto m = load_machine("single-gpu");
  m.name = "one\ntwo\x1b[2J";
  m.nodes[0].name = std::string(1000, 'n');
  m.nodes[0].model = "\xff\r";
  m.assumed = {"three\nfour"};
  auto const text = describe_text(m);
  CHECK(text.find("machine one two [2J (builtin)") == 0);
  CHECK(text.find("    " + std::string(80, 'n') + "... (") != std::string::npos);
  CHECK(text.find(", \ufffd )\n") != std::string::npos);
  CHECK(text.find("  three four\n") != std::string::npos);
}

TEST_CASE("text lists nodes, kinds of links, classes of routes and assumptions") {
  auto const text = describe_text(load_machine("paper-gmmu-bypass"));
  CHECK(text.find("machine paper-gmmu-bypass (builtin): 8 nodes, 7 links\n") == 0);
  CHECK(text.find("  4 gpu\n") != std::string::npos);
  CHECK(text.find("    cpu0 (cpu, NUMA node 0)\n") != std::string::npos);
  auto const gbs = to_text(Bandwidth{16'000'000'000});
  CHECK(text.find("  5 pcie: " + to_text(Duration{70ns}) + ", " + gbs + "\n") != std::string::npos);
  CHECK(text.find("  2 pcie: " + to_text(Duration{140ns}) + ", " + gbs + "\n") != std::string::npos);
  CHECK(text.find("  4 of 2 links, " + to_text(Duration{140ns}) + ", bottleneck " + gbs + "\n") !=
        std::string::npos);
  CHECK(text.find("  8 of 4 links, " + to_text(Duration{420ns}) + ", bottleneck " + gbs + "\n") !=
        std::string::npos);
  CHECK(text.find("assumed: nothing\n") != std::string::npos);
  CHECK(describe_text(load_machine("dgx-a100")).find("assumed:\n  the latency of") != std::string::npos);
}

TEST_CASE("text of one GPU and of 512 GPUs is limited to a summary") {
  CHECK(describe_text(load_machine("single-gpu")).find("none (one GPU)") != std::string::npos);
  ClusterSpec spec;
  spec.machines = 64;
  auto const text = describe_text(generate_cluster(load_machine("mi300x-8"), spec));
  CHECK(text.find("  512 gpu\n") != std::string::npos);
  CHECK(text.find("m0.gpu0") == std::string::npos);
  CHECK(text.find("routes from the first GPU to the others:\n  7 of 1 link, ") != std::string::npos);
}

TEST_CASE("dot names every node once and every link once") {
  auto const m = load_machine("dgx1");
  auto const dot = describe_dot(m);
  CHECK(dot.find("graph \"dgx1\" {\n") == 0);
  std::size_t edges = 0;
  for (auto at = dot.find(" -- "); at != std::string::npos; at = dot.find(" -- ", at + 1)) ++edges;
  CHECK(edges == m.links.size());
  std::size_t nodes = 0;
  for (auto at = dot.find("[shape="); at != std::string::npos; at = dot.find("[shape=", at + 1)) ++nodes;
  CHECK(nodes == m.nodes.size());
  CHECK(dot.find("(2 links)") != std::string::npos);
}

TEST_CASE("every parameter of defaults, routing and generators has a source") {
  ParamTable table;
  LinkDefaults defaults;
  LinkScale scale;
  GenericSpec generic;
  ClusterSpec cluster;
  table.section("links", defaults);
  table.section("scale", scale);
  table.section("generic", generic);
  table.section("cluster", cluster);
  CHECK(table.all().size() == 16 + 11 + 5 + 10);
  for (auto const& p : table.all()) {
    CAPTURE(p.name);
    CHECK_FALSE(p.source.empty());
    CHECK_FALSE(p.text.empty());
    p.set(p.default_value);
    CHECK(p.get() == p.default_value);
  }
}

}  // namespace description_test
