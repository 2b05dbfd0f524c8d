// SPDX-License-Identifier: Apache-2.0
// Link bandwidth that GPUs achieve: the workload `exchange` on every machine with several GPUs, pair by pair
// and all to all.
//
// Bound of a pair: maximum flow over the graph of its shortest routes (Boost.Graph). Bound of all to all: the
// most loaded link when every GPU sends the same amount to every other one and each node splits it evenly
// over its equal next links, as packets are striped. A link's capacity counts the bytes of lines only: header
// + line per line for a pair; twice the header + line for all to all, where requests or acknowledgements of
// the opposite flow share the wire.
//
// Measured from the dispatch of the first block to the end of the last one. Pages are 2 MiB, and a first
// kernel warms up the translations. DRAM and L2 caches have more bandwidth than the links of every machine.
// The number of SMs suffices to saturate the links and keeps the machines small.
#include <doctest/doctest.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace bandwidth_test {

using namespace farfault;
using test::ModelRun;
using topologies::LinkKind;
using topologies::Machine;
using topologies::NodeKind;
using topologies::Routes;

namespace {

struct Graph {
  topologies::MachineConfig config;
  Machine machine;
  Routes routes;
  std::vector<std::uint32_t> gpus;

  static topologies::MachineConfig read(std::string const& preset) {
    Config config(topologies::find_preset);
    config.read_text("include = [\"" + preset + "\"]\n", "test");
    topologies::MachineConfig result;
    result.bind(config);
    return result;
  }
  explicit Graph(std::string const& preset)
      : config(read(preset)),
        machine(topologies::load_machine(config.machine.topology, config.links)),
        routes(machine),
        gpus(machine.nodes_of(NodeKind::gpu)) {}

  // Bytes of lines per second that a link can carry from `node`, with `headers` headers per line.
  double capacity(std::uint32_t link, std::uint32_t node, std::uint32_t headers) const {
    auto const& l = machine.links[link];
    auto const format = config.fabric.format(l.kind == LinkKind::nvlink);
    auto const line = config.gpu.line_bytes;
    auto const bandwidth = l.a == node ? l.forward : l.backward;
    return static_cast<double>(bandwidth.bytes_per_second) * line /
           (format.bytes(line) + (headers - 1) * format.bytes(0));
  }

  double max_flow(std::uint32_t from, std::uint32_t to) const {
    using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
    struct Edge {
      long capacity = 0;
      long residual = 0;
      Traits::edge_descriptor reverse;
    };
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge> g(
        machine.nodes.size());
    std::vector<bool> seen(machine.nodes.size(), false);
    std::vector<std::uint32_t> open{from};
    seen[from] = true;
    while (!open.empty()) {
      auto const v = open.back();
      open.pop_back();
      if (v == to) continue;
      for (auto const link : routes.next_links(v, to)) {
        auto const u = routes.other_end(link, v);
        auto const there = boost::add_edge(v, u, g).first;
        auto const back = boost::add_edge(u, v, g).first;
        g[there] = {static_cast<long>(capacity(link, v, 1)), 0, back};
        g[back] = {0, 0, there};
        if (!seen[u]) open.push_back(u);
        seen[u] = true;
      }
    }
    return static_cast<double>(
        boost::push_relabel_max_flow(g, from, to,
                                     boost::capacity_map(boost::get(&Edge::capacity, g))
                                         .residual_capacity_map(boost::get(&Edge::residual, g))
                                         .reverse_edge_map(boost::get(&Edge::reverse, g))
                                         .vertex_index_map(boost::get(boost::vertex_index, g))));
  }

  // Total of all pairs.
  double all_to_all() const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> load;  // by (link, sending node)
    for (auto const to : gpus)
      for (auto const from : gpus)
        if (from != to) spread(from, to, 1.0, load);
    double each = 1e18;
    for (auto const& [where, share] : load)
      each = std::min(each, capacity(where.first, where.second, 2) / share);
    return each * static_cast<double>(gpus.size() * (gpus.size() - 1));
  }

  // One partner of GPU 0 for each kind of pair (bound, number of links), widest first.
  std::vector<std::uint32_t> partners() const {
    std::map<std::pair<double, std::size_t>, std::uint32_t> kinds;
    for (std::uint32_t g = 1; g < gpus.size(); ++g)
      kinds.try_emplace({-max_flow(gpus[0], gpus[g]), routes.path(gpus[0], gpus[g]).size()}, g);
    std::vector<std::uint32_t> first;
    for (auto const& [kind, gpu] : kinds) first.push_back(gpu);
    return first;
  }

 private:
  void spread(std::uint32_t at, std::uint32_t to, double share,
              std::map<std::pair<std::uint32_t, std::uint32_t>, double>& load) const {
    if (at == to) return;
    auto const links = routes.next_links(at, to);
    for (auto const link : links) {
      auto const part = share / static_cast<double>(links.size());
      load[{link, at}] += part;
      spread(routes.other_end(link, at), to, part, load);
    }
  }
};

// Bytes per second between the launch of the second kernel and its end.
double measured(std::string const& preset, std::size_t gpus, std::uint64_t bytes_of_part,
                std::string const& pattern) {
  auto const bytes = gpus * bytes_of_part;
  ModelRun run("include = [\"" + preset +
               "\"]\ngpu.sms = 64\nmemory.page_size = \"2MiB\"\nmemory.placement = \"contiguous\"\n"
               "host.block_order = \"contiguous\"\nworkload.name = \"exchange\"\nworkload.exchange.parts = " +
               std::to_string(gpus) + "\nworkload.exchange.bytes = \"" + std::to_string(bytes) + " B\"\n" +
               pattern);
  run.run();
  auto const record = run.kernel(1);
  auto const& host = run.config().host;
  auto const words = run.config().writes_back_at_kernel_end() ? 3 : 1;  // one message to the host, or three
  auto const time = record.finished - record.launched - host.launch_latency - words * host.done_latency;
  auto const moved = pattern.find("\"pair\"") == std::string::npos ? bytes : bytes_of_part;
  auto const lines = run.total("rdma", "reads_received") + run.total("rdma", "writes_received");
  CHECK(lines >= moved / run.config().gpu.line_bytes);  // includes the first kernel's
  return static_cast<double>(moved) * 1e12 / static_cast<double>(picoseconds(time));
}

void check(std::string const& preset) {
  Graph const graph(preset);
  auto const n = graph.gpus.size();
  auto const row = [&](std::string const& name, std::string const& pattern, std::uint64_t bytes,
                       double bound) {
    auto const read = measured(preset, n, bytes, pattern + "workload.exchange.access = \"read\"\n");
    auto const write = measured(preset, n, bytes, pattern + "workload.exchange.access = \"write\"\n");
    std::printf("  %-36s read %.4g GB/s, write %.4g GB/s, of %.4g GB/s\n", (preset + ", " + name).c_str(),
                read / 1e9, write / 1e9, bound / 1e9);
    CHECK_MESSAGE(read >= 0.75 * bound, preset << ", " << name);
    CHECK_MESSAGE(write >= 0.75 * bound, preset << ", " << name);
    CHECK_MESSAGE(std::max(read, write) <= bound, preset << ", " << name << ": more than its links carry");
  };
  constexpr std::uint64_t kMiB = 1U << 20U;
  for (auto const to : graph.partners()) {
    auto const bound = graph.max_flow(graph.gpus[0], graph.gpus[to]);
    row("GPU 0 and GPU " + std::to_string(to),
        "workload.exchange.pattern = \"pair\"\nworkload.exchange.to = " + std::to_string(to) + "\n",
        (bound > 100e9  ? 8
         : bound > 30e9 ? 4
                        : 2) *
            kMiB,
        bound);
  }
  row("all to all", "workload.exchange.pattern = \"all_to_all\"\n",
      (n > 8   ? 2
       : n > 4 ? 4
               : 2) *
          kMiB,
      graph.all_to_all());
}

}  // namespace

TEST_CASE("bandwidth: the GPUs of every preset of a machine get at least 75% of their links' bandwidth") {
  int machines = 0;
  for (auto const& preset : topologies::preset_names()) {
    if (Graph::read(preset).machine.topology == "generic") continue;  // without a file
    if (Graph(preset).gpus.size() < 2) continue;
    check(preset);
    ++machines;
  }
  CHECK(machines >= 5);
}

}  // namespace bandwidth_test
