// SPDX-License-Identifier: Apache-2.0
// A result of a machine that is too large to simulate in a test: 128 machines with eight GPUs each.
#pragma once

#include <string>
#include <vector>

#include "farfault/results/writer.hpp"

namespace large_result {

using namespace farfault;

constexpr std::uint32_t kMachines = 128;
constexpr std::uint32_t kGpusOfMachine = 8;
constexpr std::uint32_t kGpus = kMachines * kGpusOfMachine;
constexpr std::uint64_t kSamples = 500;
constexpr std::uint64_t kInterval = 10'000'000;  // ps
constexpr std::uint64_t kKernels = 5000;

inline std::vector<char const*> stages() {
  return {"time_in_load_store",   "time_in_l1_tlb",     "time_in_l2_tlb", "time_in_walk_queue",
          "time_in_walk",         "time_in_iommu",      "time_in_fault",  "time_in_l1_cache",
          "time_in_l2_cache",     "time_in_dram_queue", "time_in_dram",   "time_in_links",
          "time_in_remote_memory"};
}

// `names` must outlive the result.
inline std::vector<StatInfo> counters(std::vector<char const*> const& names, char const* unit) {
  std::vector<StatInfo> all;
  for (auto const* name : names)
    all.push_back({.name = name, .unit = unit, .text = "A counter.", .kind = StatKind::counter, .bins = 1});
  return all;
}

inline std::string name_of_gpu(std::uint64_t gpu) {
  return "m" + std::to_string(gpu / kGpusOfMachine) + ".gpu" + std::to_string(gpu % kGpusOfMachine);
}

inline TableInfo placement_table() {
  return {"page_placement",
          "Placement.",
          {{"application", "text", "Application.", ColumnType::text},
           {"buffer", "text", "Buffer.", ColumnType::text},
           {"device", "text", "Device.", ColumnType::text},
           {"pages", "count", "Pages.", ColumnType::u64}}};
}

inline results::LinkRow link_row(std::uint32_t a, std::uint32_t b, char const* kind) {
  return {.a = a, .b = b, .kind = kind, .latency_ps = 1, .forward_bytes_per_s = 1, .backward_bytes_per_s = 1};
}

inline results::RunHeader header() {
  results::RunHeader h;
  h.resolved_config = "[machine.cluster]\nmachines = 128\n";
  h.command_line = "farfault run large.toml";
  h.cluster = true;
  auto const spine = kMachines * (kGpusOfMachine + 3) + kMachines / 16;
  for (std::uint32_t m = 0; m < kMachines; ++m) {
    auto const name = "m" + std::to_string(m);
    auto const first = m * (kGpusOfMachine + 3);
    h.nodes.push_back({.name = name + ".cpu0",
                       .kind = "cpu",
                       .machine = name,
                       .host = name + ".host",
                       .driver = name + ".driver"});
    h.nodes.push_back({name + ".switch0", "pcie_switch", name});
    h.nodes.push_back({name + ".nic0", "nic", name});
    h.links.push_back(link_row(first, first + 1, "pcie"));
    h.links.push_back(link_row(first + 1, first + 2, "pcie"));
    h.links.push_back(link_row(first + 2, kMachines * (kGpusOfMachine + 3) + m / 16, "network"));
    for (std::uint32_t g = 0; g < kGpusOfMachine; ++g) {
      h.nodes.push_back({.name = name_of_gpu(m * kGpusOfMachine + g),
                         .kind = "gpu",
                         .machine = name,
                         .host = name + ".host",
                         .driver = ""});
      h.links.push_back(link_row(first + 1, first + 3 + g, "pcie"));
    }
  }
  for (std::uint32_t leaf = 0; leaf < kMachines / 16; ++leaf) {
    h.nodes.push_back({"net.leaf" + std::to_string(leaf), "network_switch"});
    h.links.push_back(link_row(kMachines * (kGpusOfMachine + 3) + leaf, spine, "network"));
  }
  h.nodes.push_back({"net.spine0", "network_switch"});
  std::vector<std::string> gpus, sms, tlbs, ports, walkers;
  for (std::uint32_t g = 0; g < kGpus; ++g) {
    auto const name = name_of_gpu(g);
    gpus.push_back(name);
    sms.push_back(name + ".sm0");
    tlbs.push_back(name + ".l2_tlb");
    ports.push_back(name + ".rdma");
    walkers.push_back(name + ".gmmu");
  }
  auto times = stages();
  times.insert(times.begin(), {"access_time", "active_time", "memory_stall_time"});
  h.series = {{"sm.by_gpu", gpus, counters(times, "ps")},
              {"sm", sms, counters({"instructions", "transactions"}, "count")},
              {"l2_tlb", tlbs, counters({"hits", "misses"}, "count")},
              {"rdma", ports, counters({"packets", "bytes", "busy_time"}, "count")},
              {"gmmu", walkers, {{"walk_latency", "ns", "Time of a walk.", StatKind::histogram, 24}}}};
  h.tables = {{"kernels",
               "Kernels.",
               {{"name", "text", "Name.", ColumnType::text},
                {"launched", "ps", "Time.", ColumnType::u64},
                {"finished", "ps", "Time.", ColumnType::u64},
                {"transactions", "count", "Transactions.", ColumnType::u64}}},
              {"links",
               "Links.",
               {{"link", "index", "Link.", ColumnType::u64},
                {"from", "text", "Node.", ColumnType::text},
                {"to", "text", "Node.", ColumnType::text},
                {"sender", "text", "Component.", ColumnType::text},
                {"packets", "count", "Packets.", ColumnType::u64},
                {"bytes", "bytes", "Bytes.", ColumnType::u64},
                {"busy_time", "ps", "Time.", ColumnType::u64}}},
              {"traffic",
               "Traffic.",
               {{"from", "text", "Device.", ColumnType::text},
                {"to", "text", "Device.", ColumnType::text},
                {"packets", "count", "Packets.", ColumnType::u64},
                {"bytes", "bytes", "Bytes.", ColumnType::u64}}},
              placement_table()};
  return h;
}

// Noise that compression cannot remove.
inline std::uint64_t noise(std::uint64_t seed, std::uint64_t below) {
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
  return (seed ^ (seed >> 31)) % below;
}

inline void write_tables(results::ResultWriter& writer, results::RunHeader const& h, std::uint64_t end) {
  for (std::uint64_t k = 0; k < kKernels; ++k)
    writer.append_row(0,
                      std::vector<Cell>{"kernel" + std::to_string(k % 7), k * end / kKernels,
                                        k * end / kKernels + noise(k, 3 * end / kKernels), noise(k, 1000)});
  for (std::uint64_t l = 0; l < h.links.size(); ++l)
    for (bool const forward : {true, false}) {
      auto const& from = h.nodes[forward ? h.links[l].a : h.links[l].b].name;
      auto const& to = h.nodes[forward ? h.links[l].b : h.links[l].a].name;
      writer.append_row(
          1, std::vector<Cell>{l, from, to,
                               from.find(".gpu") != std::string::npos ? from + ".rdma" : from + ".to." + to,
                               std::uint64_t{10}, noise(l, 1'000'000), noise(2 * l + forward, end)});
    }
  for (std::uint64_t buffer = 0; buffer < 12; ++buffer)
    for (std::uint64_t g = 0; g < kGpus; ++g)
      if (auto const pages = noise(buffer * kGpus + g, 100) * (g % (buffer + 1) == 0 ? 1 : 0); pages != 0)
        writer.append_row(3,
                          std::vector<Cell>{"app", "buffer" + std::to_string(buffer), name_of_gpu(g), pages});
  for (std::uint64_t g = 0; g < kGpus; ++g)
    for (std::uint64_t step = 1; step <= 64; ++step)
      writer.append_row(2, std::vector<Cell>{name_of_gpu(g), name_of_gpu((g + step * step) % kGpus),
                                             std::uint64_t{1}, noise(g * 64 + step, 1'000'000)});
}

inline std::string written(std::string const& path) {
  auto const h = header();
  auto const end = kSamples * kInterval;
  results::ResultWriter writer(path, h);
  std::size_t width = 0;
  for (auto const& group : h.series)
    for (auto const& stat : group.stats) width += group.instances.size() * stat.bins;
  std::vector<std::uint64_t> values(width, 0);
  for (std::uint64_t sample = 1; sample <= kSamples; ++sample) {
    for (std::size_t i = 0; i < width; ++i) values[i] += noise(sample * width + i, kInterval / 16);
    writer.append_sample(Time{Duration{static_cast<std::int64_t>(sample * kInterval)}}, values);
  }
  write_tables(writer, h, end);
  std::vector<results::SummaryRow> rows{
      {"machine", "machine", "end", "ps", "End.", end},
      {"machine", "machine", "sm_time", "ps", "Time.", end * kGpus},
      {"machine", "machine", "sm_active_time", "ps", "Time.", end * kGpus / 4},
      {"machine", "machine", "sm_idle_time", "ps", "Time.", 3 * end * kGpus / 4},
      {"machine", "machine", "sm_transactions", "count", "Transactions.", 1'000'000},
      {"machine", "machine", "sm_access_time", "ps", "Time.", 13'000'000'000}};
  for (auto const* stage : stages())
    rows.push_back({"machine", "machine", std::string("sm_") + stage, "ps", "Time.", 1'000'000'000});
  for (std::uint64_t g = 0; g < kGpus; ++g) {
    auto const name = name_of_gpu(g);
    rows.push_back({"gpu", name, "sm_access_time", "ps", "Time.", 1'000'000 + g});
    for (auto const* stage : stages())
      rows.push_back({"gpu", name, std::string("sm_") + stage, "ps", "Time.", noise(g, 100'000)});
  }
  writer.summary(rows);
  writer.finish("completed");
  return path;
}

}  // namespace large_result
