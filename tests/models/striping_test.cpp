// SPDX-License-Identifier: Apache-2.0
// Distribution of packets over equal routes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace striping_test {

using namespace farfault;
using test::ModelRun;

namespace {

// Packets forwarded by each output of the switches of a kind, while GPU 0 reads 2 MiB from GPU 1.
std::map<std::string, std::uint64_t> by_output(std::string const& settings, std::string_view kind, int gpus) {
  ModelRun run(
      "include = [\"dgx-a100\"]\ngpu.sms = 8\nmemory.placement = \"contiguous\"\nhost.block_order = "
      "\"contiguous\"\nworkload.name = \"exchange\"\nworkload.exchange.pattern = \"pair\"\n"
      "workload.exchange.parts = " +
      std::to_string(gpus) + "\nworkload.exchange.bytes = \"" + std::to_string(2 * gpus) + " MiB\"\n" +
      settings);
  run.run();
  std::map<std::string, std::uint64_t> packets;
  for (ComponentId id = 0; id < run.system().component_count(); ++id) {
    auto const* output = dynamic_cast<SwitchOutput const*>(&run.system().component(id));
    if (output != nullptr && output->kind() == kind)
      packets[output->path()] = output->state().egress.stats().packets;
  }
  return packets;
}

// Packets per switch, in ascending order.
std::vector<std::uint64_t> forwarded(std::string const& settings, std::string_view kind, int gpus) {
  std::map<std::string, std::uint64_t> by_switch;
  for (auto const& [output, packets] : by_output(settings, kind, gpus))
    by_switch[output.substr(0, output.find('.'))] += packets;
  std::vector<std::uint64_t> counts;
  for (auto const& [name, packets] : by_switch) counts.push_back(packets);
  std::ranges::sort(counts);
  return counts;
}

// Two GPUs connected by network switches: four in parallel, or three rows of two.
std::string network_machine(bool rows) {
  auto const folder = std::filesystem::path(FARFAULT_BINARY_DIR) / "striping_test";
  std::filesystem::create_directories(folder);
  auto const file = (folder / (rows ? "rows.toml" : "network.toml")).string();
  std::ofstream out(file);
  out << "name = \"network\"\n";
  auto const node = [&](std::string const& name, char const* kind) {
    out << "[[node]]\nname = \"" << name << "\"\nkind = \"" << kind << "\"\n";
  };
  auto const link = [&](std::string const& a, std::string const& b, char const* kind, char const* latency) {
    out << "[[link]]\na = \"" << a << "\"\nb = \"" << b << "\"\nkind = \"" << kind << "\"\nlatency = \""
        << latency << "\"\nbandwidth = \"25GB/s\"\n";
  };
  node("cpu0", "cpu");
  for (auto const* gpu : {"gpu0", "gpu1"}) {
    node(gpu, "gpu");
    link("cpu0", gpu, "pcie", "1us");
  }
  for (int i = 0; i < (rows ? 6 : 4); ++i) {
    auto const name = "s" + std::to_string(i);
    node(name, "network_switch");
    if (!rows || i < 2) link("gpu0", name, "network", "100ns");
    if (!rows || i >= 4) link("gpu1", name, "network", "100ns");
  }
  for (int i = 0; rows && i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      link("s" + std::to_string(i), "s" + std::to_string(i / 2 * 2 + 2 + j), "network", "100ns");
  return "machine.topology = \"" + file + "\"\n";
}

}  // namespace

TEST_CASE("striping: each of the six NVSwitches between two A100 forwards a sixth of the packets") {
  auto const counts = forwarded("", "nvswitch", 8);
  REQUIRE(counts.size() == 6);
  auto const train = 2;  // lines of 128 bytes in a block of 256
  CHECK(counts.front() >= 2 * 2 * 1024 * 1024 / 128 / 6 - train);
  CHECK(counts.back() - counts.front() <= 2 * train);  // one request and one response
}

TEST_CASE(
    "striping: network links carry packets round-robin, or all packets of a pair of GPUs over one of them") {
  auto const machine = network_machine(false);
  auto const packets = forwarded(machine, "network_switch", 2);
  REQUIRE(packets.size() == 4);
  CHECK(packets.back() - packets.front() <= 2 * 2);
  auto const flows = forwarded(machine + "fabric.network_spread = \"flow\"\n", "network_switch", 2);
  REQUIRE(flows.size() == 4);
  auto const all = flows[2] + flows[3];  // requests over one switch, responses over one, possibly the same
  CHECK(flows[1] == 0);
  CHECK(all == packets[0] + packets[1] + packets[2] + packets[3]);
}

TEST_CASE("striping: over three rows of switches, each link between rows carries a quarter of the packets") {
  auto least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  std::size_t links = 0;
  for (auto const& [output, packets] : by_output(network_machine(true), "network_switch", 2)) {
    auto const outer_row = output[1] != '2' && output[1] != '3';
    if (outer_row && output.ends_with(".output0")) continue;  // to a GPU
    least = std::min(least, packets);
    most = std::max(most, packets);
    ++links;
  }
  CHECK(links == 2 * 2 * 4);
  CHECK(least >= 2 * 1024 * 1024 / 128 / 4 - 2);
  // Two of eight consecutive flows use the same link from the second row to the third; trains have two lines.
  CHECK(most - least <= 2 * 2);
}

}  // namespace striping_test
