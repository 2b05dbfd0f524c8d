// SPDX-License-Identifier: Apache-2.0
// NICs of a cluster as devices: a copy engine's packets to them arrive and are answered.
#include "farfault/fabric/nic.hpp"

#include <doctest/doctest.h>

#include "../components/mock.hpp"
#include "farfault/topologies/assembly.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/workloads/registry.hpp"

namespace nic_test {

using namespace farfault;
using topologies::NodeKind;

namespace {

// Two idle machines of four GPUs and two NICs each, and orders for gpu0's copy engine. The driver did not
// issue the orders; reports would reach it after 1 s.
struct Cluster {
  topologies::MachineConfig config;
  topologies::Machine machine;
  Workload workload = workloads::make("pointer_chase")->build({64, 4096, "", 1});
  Applications applications;
  std::unique_ptr<topologies::Assembly> assembly;

  explicit Cluster(std::string const& more = {}) {
    Config file(topologies::find_preset);
    file.read_text(
        "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"generic\"\ngpu.sms = 1\n"
        "machine.generic.nics_per_switch = 1\nmachine.cluster.machines = 2\ndriver.notify_latency = "
        "\"1s\"\n" +
            more,
        "test");
    config.bind(file);
    config.check(file);
    file.reject_errors();
    machine = topologies::generate_cluster(topologies::generate_generic(config.generic, config.links),
                                           config.cluster, config.links);
    Application late;
    late.name = "late";
    late.workload = &workload;
    late.start = Time{1s};
    applications = Applications({late});
    assembly = std::make_unique<topologies::Assembly>(machine, config, applications,
                                                      *config.memory.placement.make({}));
  }
  template <class C>
  C& find(std::string const& path) {
    auto& system = assembly->system();
    for (ComponentId id = 0; id < system.component_count(); ++id)
      if (system.component(id).path() == path) return dynamic_cast<C&>(system.component(id));
    throw UserError("no component " + path);
  }
  // Runs until 900 us or until `orders_done` orders are complete. Returns the time in nanoseconds.
  Time run(std::vector<mock::Record<CopyOrder>> orders, std::uint64_t orders_done = ~std::uint64_t{0}) {
    auto& system = assembly->system();
    auto& source = system.add<mock::Source<CopyOrder>>("source", mock::SourceSpec<CopyOrder>{orders});
    system.connect(source.out_port, find<CopyEngine>("m0.gpu0.copy_engine").copy, Latency{1ns});
    for (std::uint64_t i = 0; i < orders.size(); ++i)
      system.post(source.next, mock::Step{i}, orders[i].at - 1ns);
    auto const transport = make_single_transport();
    Engine engine(system, Placement{}, EngineOptions{}, *transport);
    auto const& copies = find<CopyEngine>("m0.gpu0.copy_engine");
    if (orders_done > orders.size()) engine.run_until(Time{900us});
    auto now = Time{};
    for (; orders_done <= orders.size() && copies.state().orders < orders_done; now += 1ns)
      engine.run_until(now);
    return now;
  }
};

constexpr std::uint32_t kBytes = 4096;
constexpr std::uint64_t kLines = kBytes / 64;

}  // namespace

TEST_CASE("a NIC's memory serves as many concurrent requests as its port, whatever the limit for L2 slices") {
  Cluster cluster("fabric.memory_credits = 1\n");
  auto const& nic = cluster.find<Nic>("m1.nic1.port");
  CHECK(nic.spec().inbound > 100);
  CHECK(nic.spec().memory_credits == nic.spec().inbound);
}

TEST_CASE("NICs of a cluster are numbered in node order, and each has the location of all") {
  Cluster cluster;
  auto const nodes = cluster.machine.nodes_of(NodeKind::nic);
  REQUIRE(nodes.size() == 4);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    auto const& nic = cluster.find<Nic>(cluster.machine.nodes[nodes[n]].name + ".port");
    CHECK(nic.kind() == "nic");
    CHECK(nic.spec().device == kFirstNic + n);
    for (std::size_t other = 0; other < nodes.size(); ++other)
      CHECK(nic.spec().nodes->of(static_cast<DeviceId>(kFirstNic + other)) == nodes[other]);
    CHECK(nic.spec().nodes->of(7) == cluster.machine.nodes_of(NodeKind::gpu)[7]);
    CHECK(nic.spec().nodes->of(kFirstCpu + 1) == cluster.machine.nodes_of(NodeKind::cpu)[1]);
  }
}

TEST_CASE("a copy engine writes to and reads from every NIC of its machine and of another one") {
  Cluster cluster;
  std::vector<mock::Record<CopyOrder>> orders;
  for (std::uint16_t n = 0; n < 4; ++n) {
    auto const nic = physical(static_cast<DeviceId>(kFirstNic + n), 0x1000);
    orders.push_back({Time{1us} + 2 * n * 50us, {physical(0, 0x10000), nic, kBytes, 2U * n}});
    orders.push_back({Time{1us} + (2 * n + 1) * 50us, {nic, physical(0, 0x20000), kBytes, 2U * n + 1}});
  }
  cluster.run(orders);
  std::uint64_t passed = 0;
  for (std::string const name : {"m0.nic0", "m0.nic1", "m1.nic0", "m1.nic1"}) {
    INFO(name);
    auto const& nic = cluster.find<Nic>(name + ".port");
    CHECK(nic.state().stats.writes_received == kLines);
    CHECK(nic.state().stats.reads_received == kLines);
    CHECK(nic.waiting_for().empty());
    std::uint64_t sent = 0;
    for (auto const& link : nic.state().egress) sent += link.stats().packets;
    passed += sent - 2 * kLines;
  }
  auto const& engine = cluster.find<CopyEngine>("m0.gpu0.copy_engine");
  CHECK(engine.waiting_for().empty());
  CHECK(engine.state().orders == 8);
  // The other machine's NICs: through a NIC of this machine, both ways.
  CHECK(passed == 2 * 4 * kLines);
  std::uint64_t network = 0;
  for (auto const& node : cluster.machine.nodes)
    for (std::size_t i = 0; node.kind == NodeKind::network_switch && i < 4; ++i)
      network += cluster.find<SwitchOutput>(node.name + ".output" + std::to_string(i))
                     .state()
                     .egress.stats()
                     .packets;
  CHECK(network == 2 * 4 * kLines);
}

TEST_CASE(
    "an access to a NIC's memory takes nic.latency in both directions, in addition to the other stages") {
  auto const ended = [](std::string const& more) {
    Cluster cluster(more);
    return cluster.run({{Time{1us}, {physical(0, 0x10000), physical(kFirstNic + 1, 0), 64, 1}}}, 1);
  };
  auto const by_default = ended("");
  CHECK(by_default > Time{1us} + 2 * 50ns);
  CHECK(ended("nic.latency = \"150 ns\"\n") == by_default + 2 * 100ns);
}

}  // namespace nic_test
