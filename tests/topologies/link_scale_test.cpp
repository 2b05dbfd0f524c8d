// SPDX-License-Identifier: Apache-2.0
// Factors on the links of a machine, and settings of links without effect.
#include "farfault/topologies/link_scale.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/topologies/machine_config.hpp"
#include "unused.hpp"

namespace link_scale_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

// A configuration and its machine.
struct Built {
  Config config{find_preset};
  MachineConfig params;
  Machine machine;

  Built(std::string const& name, std::string const& toml) {
    config.read_text("machine.topology = \"" + name + "\"\n" + toml, "f");
    params.bind(config);
    machine =
        name == "generic" ? generate_generic(params.generic, params.links) : load_machine(name, params.links);
    if (params.cluster.machines > 1) machine = generate_cluster(machine, params.cluster, params.links);
    params.link_scale.apply(machine, config);
    params.fit_to(machine, config);
  }
  MachineLink const& link(std::string const& a, std::string const& b) const {
    return *std::ranges::find_if(machine.links, [&](MachineLink const& l) {
      return machine.nodes[l.a].name == a && machine.nodes[l.b].name == b;
    });
  }
};

std::string refusal(std::string const& name, std::string const& toml) {
  Built const built(name, toml);
  try {
    built.config.reject_errors();
  } catch (UserError const& e) {
    return e.what();
  }
  return "accepted";
}

std::vector<std::string> unused(std::string const& name, std::string const& toml) {
  return test::unused_in(Built(name, toml).config);
}

using Words = std::vector<std::string>;

constexpr Bandwidth operator""_MBps(unsigned long long n) {
  return {n * 1'000'000};
}

}  // namespace

TEST_CASE("factors of a kind scale every link of the kind, and no other") {
  for (std::string const name : {"dgx-a100", "mi300x-8"}) {
    Built const plain(name, "machine.cluster.machines = 2\n");
    int kinds = 0;
    for (auto const kind : kLinkKinds) {
      auto const key = "links.scale." + std::string(name_of(kind));
      CAPTURE(key);
      Built const scaled(
          name, "machine.cluster.machines = 2\n" + key + ".bandwidth = 0.5\n" + key + ".latency = 3\n");
      scaled.config.reject_errors();
      if (plain.machine.count(kind) == 0) continue;
      ++kinds;
      REQUIRE(scaled.machine.links.size() == plain.machine.links.size());
      for (std::size_t i = 0; i < plain.machine.links.size(); ++i) {
        auto const &before = plain.machine.links[i], &after = scaled.machine.links[i];
        bool const is_scaled = before.kind == kind;
        CHECK(after.latency == before.latency * (is_scaled ? 3 : 1));
        CHECK(after.forward.bytes_per_second * (is_scaled ? 2 : 1) == before.forward.bytes_per_second);
        CHECK(after.backward.bytes_per_second * (is_scaled ? 2 : 1) == before.backward.bytes_per_second);
        CHECK(after.count == before.count);
      }
    }
    CHECK(kinds == 4);  // NVLink or xGMI, PCIe, the CPUs, the network
  }
}

TEST_CASE(
    "a single link is scaled by the names of its nodes, in either order, times the factor of its kind") {
  Built const built("dgx1",
                    "links.scale.nvlink.bandwidth = 0.5\nlinks.scale.nvlink.latency = 4\n"
                    "links.scale.by_name = \"gpu0-gpu3 bandwidth=0.1 latency=0.75, gpu1-gpu0 latency=2\"\n");
  built.config.reject_errors();
  CHECK(built.link("gpu0", "gpu3").forward == 2500_MBps);
  CHECK(built.link("gpu0", "gpu3").backward == 2500_MBps);
  CHECK(built.link("gpu0", "gpu3").latency == 300ns);
  CHECK(built.link("gpu0", "gpu1").forward == 12'500_MBps);
  CHECK(built.link("gpu0", "gpu1").latency == 800ns);
  CHECK(built.link("gpu0", "gpu2").forward == 12'500_MBps);
  CHECK(built.link("gpu0", "gpu2").latency == 400ns);
}

TEST_CASE("scaled values are rounded to 1 ps and 1 B/s; factors whose product is 1 keep the exact values") {
  Built const third("two-gpu", "links.scale.pcie.bandwidth = 0.3333\nlinks.scale.pcie.latency = 0.3333\n");
  CHECK(third.link("root", "gpu0").forward == Bandwidth{5'332'800'000});
  CHECK(third.link("root", "gpu0").latency == Duration{23'331});
  Built const rounded("two-gpu", "links.scale.pcie.latency = 1.00001\n");
  CHECK(rounded.link("root", "gpu0").latency == Duration{70'001});  // 70000.7
  Built const plain("two-gpu", "");
  Built const same("two-gpu",
                   "links.scale.pcie.latency = 2\nlinks.scale.by_name = \"root-gpu0 latency=0.5\"\n");
  CHECK(same.link("root", "gpu0").latency == plain.link("root", "gpu0").latency);
  CHECK(same.link("root", "gpu1").latency == 2 * plain.link("root", "gpu1").latency);
}

TEST_CASE("a kind selects one of several links between two nodes") {
  std::string const mesh = "machine.generic.fabric = \"nvlink_mesh\"\nmachine.generic.gpus = 2\n";
  Built const built("generic", mesh + "links.scale.by_name = \"gpu0-gpu1 nvlink bandwidth=2\"\n");
  built.config.reject_errors();
  CHECK(built.link("gpu0", "gpu1").forward == 50'000_MBps);
  CHECK(refusal("generic", mesh + "links.scale.by_name = \"gpu0-gpu1 xgmi bandwidth=2\"\n") ==
        "f:4: links.scale.by_name: the machine has no xgmi link 'gpu0-gpu1'; its xgmi links are: none");
}

TEST_CASE("an invalid name of a link is refused with the names of the machine's links") {
  auto const of = [](std::string const& text) {
    return refusal("two-gpu", "links.scale.by_name = \"" + text + "\"\n");
  };
  CHECK(
      of("root-gpu2 latency=2") ==
      "f:2: links.scale.by_name: the machine has no link 'root-gpu2' (did you mean 'root-gpu0'?); its links "
      "are: cpu0-root, root-gpu0, root-gpu1");
  CHECK(of("nowhere latency=2") ==
        "f:2: links.scale.by_name: the machine has no link 'nowhere'; its links are: cpu0-root, root-gpu0, "
        "root-gpu1");
  CHECK(of("root-gpu0 latency=2, gpu0-root bandwidth=2") ==
        "f:2: links.scale.by_name: 'gpu0-root bandwidth=2' names the link root-gpu0 a second time");
  CHECK(of("gpu0-root latency=2, root-gpu0 bandwidth=2") ==
        "f:2: links.scale.by_name: 'root-gpu0 bandwidth=2' names the link root-gpu0 a second time");
  auto const form = std::string(
      " is not LINK bandwidth=FACTOR, LINK latency=FACTOR or LINK bandwidth=FACTOR latency=FACTOR, such as "
      "gpu0-gpu1 bandwidth=0.5");
  CHECK(of("root-gpu0") == "f:2: links.scale.by_name: 'root-gpu0'" + form);
  CHECK(of("latency=2") == "f:2: links.scale.by_name: 'latency=2'" + form);
  CHECK(of("root-gpu0 latency=2 latency=3") ==
        "f:2: links.scale.by_name: 'root-gpu0 latency=2 latency=3'" + form);
  CHECK(of("root-gpu0 latency=2,,root-gpu1 latency=2") == "f:2: links.scale.by_name: ''" + form);
  for (auto const* value : {"0", "-1", "nan", "x", "", "20000", "1e-9"}) {
    CAPTURE(value);
    CHECK(of("root-gpu0 latency=" + std::string(value)) ==
          "f:2: links.scale.by_name: 'latency=" + std::string(value) +
              "' is not a factor from 0.0001 to 10000");
  }
}

TEST_CASE("of many links, the first twenty names are listed") {
  auto const text = refusal("dgx-a100", "links.scale.by_name = \"gpu0-gpu1 latency=2\"\n");
  CHECK(text.starts_with("f:2: links.scale.by_name: the machine has no link 'gpu0-gpu1'"));
  CHECK(text.ends_with(" and 49 more"));
  CHECK(text.size() < 900);
}

TEST_CASE("a factor that takes a link out of its limits is refused with the key, the link and the limits") {
  CHECK(refusal("two-gpu",
                "links.scale.pcie.bandwidth = 0.0001\nlinks.scale.by_name = \"root-gpu0 "
                "bandwidth=0.1\"\n") ==
        "f:2: links.scale.pcie.bandwidth = 1e-04: scales the bandwidth of the pcie link root-gpu0, 16 GB/s, "
        "to a value outside 1 MB/s to 1000000 TB/s");
  CHECK(refusal("generic",
                "links.pcie_latency = \"4 ps\"\nlinks.scale.by_name = \"root-switch0 "
                "latency=0.01\"\n") ==
        "f:3: links.scale.by_name = root-switch0 latency=0.01: scales the latency of the pcie link "
        "root-switch0, 8 ps, to a value outside 1 ps to 1 s");
  CHECK(refusal("two-gpu", "links.scale.pcie.latency = 0\n") ==
        "f:2: links.scale.pcie.latency: '0' is outside 1e-04 to 10000");
}

TEST_CASE("a factor of a kind that the machine does not have is unused") {
  CHECK(unused("two-gpu", "links.scale.nvlink.bandwidth = 2\nlinks.scale.pcie.latency = 2\n") ==
        Words{"links.scale.nvlink.bandwidth (f:2; only with a machine with NVLinks)"});
  CHECK(unused("dgx1",
               "links.scale.xgmi.latency = 2\nlinks.scale.network.latency = 2\n"
               "links.scale.cpu_interconnect.latency = 2\n") ==
        Words{"links.scale.xgmi.latency (f:2; only with a machine with xGMI links)",
              "links.scale.network.latency (f:3; only with a machine with network links)"});
  CHECK(unused("dgx1", "links.scale.network.latency = 2\nmachine.cluster.machines = 2\n").empty());
}

TEST_CASE("a default is unused if every link states the value, and names the factor to set instead") {
  std::string const bandwidth = "links.nvlink_bandwidth = \"1 GB/s\"\n";
  for (std::string const name : {"dgx1", "dgx2", "dgx-a100", "dgx-h100"})
    CHECK(unused(name, bandwidth) ==
          Words{"links.nvlink_bandwidth (f:2; only with an NVLink 2, 3 or 4 without a stated bandwidth; use "
                "links.scale.nvlink.bandwidth)"});
  CHECK(unused("two-gpu", bandwidth) ==
        Words{"links.nvlink_bandwidth (f:2; only with a machine with NVLinks)"});
  CHECK(unused("two-gpu", "links.pcie_latency = \"1 us\"\nlinks.gpus_per_host = 2\n") ==
        Words{"links.pcie_latency (f:2; only with a PCIe link without a stated latency; use "
              "links.scale.pcie.latency)",
              "links.gpus_per_host (f:3; only with a cluster file that does not list the GPUs of a host)"});
}

TEST_CASE("a default has an effect, and remains in the resolved configuration, if a link takes it") {
  std::string const latencies =
      "links.pcie_latency = \"1 us\"\nlinks.nvlink_latency = \"1 us\"\nlinks.cpu_interconnect_latency = \"1 "
      "us\"\n";
  Built const a100("dgx-a100", latencies);
  CHECK(test::unused_in(a100.config).empty());
  for (auto const* key : {"links.pcie_latency", "links.nvlink_latency", "links.cpu_interconnect_bandwidth"})
    CHECK(a100.config.find_bound(key) != nullptr);
  for (auto const* key : {"links.pcie_bandwidth", "links.nvlink_bandwidth", "links.network_bandwidth"})
    CHECK(a100.config.find_bound(key) == nullptr);
  CHECK(unused("generic", "links.pcie_bandwidth = \"8 GB/s\"\n").empty());
  CHECK(unused("generic", "links.nvlink_bandwidth = \"8 GB/s\"\nmachine.generic.fabric = \"nvlink_mesh\"\n")
            .empty());
  std::string const network = "links.network_bandwidth = \"8 GB/s\"\nmachine.cluster.machines = 2\n";
  CHECK(unused("two-gpu", network).empty());
  CHECK(unused("dgx-h100", network) ==
        Words{"links.network_bandwidth (f:2; only with a network link without a stated bandwidth; use "
              "links.scale.network.bandwidth)"});
}

TEST_CASE("a default that is only printed is not taken, and a forgotten one must be taken again") {
  LinkDefaults defaults;
  auto const taken = [&](std::string const& text) {
    auto const facts = defaults.facts();
    return std::ranges::find_if(facts, [&](auto const& f) { return f.first.text == text; })->second;
  };
  std::string const nvlink = "an NVLink without a stated latency";
  CHECK_FALSE(taken(nvlink));
  CHECK(defaults.nvlink_latency.shown() == 100ns);
  CHECK_FALSE(taken(nvlink));
  load_machine("dgx1", defaults);
  CHECK(taken(nvlink));
  CHECK_FALSE(taken("an xGMI link without a stated latency"));
  defaults.forget();
  CHECK_FALSE(taken(nvlink));
  auto const copy = defaults.nvlink_latency;
  CHECK(copy.shown() == 100ns);
  CHECK(taken(nvlink));
}

}  // namespace link_scale_test
