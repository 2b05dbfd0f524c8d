// SPDX-License-Identifier: Apache-2.0
// A small result that exercises every part of the layout.
#pragma once

#include <string>
#include <vector>

#include "farfault/results/writer.hpp"

namespace farfault::results::sample {

inline RunHeader header() {
  RunHeader h;
  h.resolved_config = "[gpu.l2_tlb]\nentries = 512\nlatency = \"10 ns\"\n";
  h.command_line = "farfault run a.toml";
  h.seed = 7;
  h.inputs = {{"workload.bfs.graph", "graphs/power.graph", 1234, "00ff"}};
  h.unused = {{"links.nvlink_bandwidth", "a machine with NVLinks", ""},
              {"links.pcie_latency", "a PCIe link without a stated latency", "links.scale.pcie.latency"}};
  h.nodes = {{"gpu0", "gpu"}, {"gpu1", "gpu"}, {"cpu0", "cpu"}};
  h.links = {{.a = 0,
              .b = 2,
              .kind = "pcie",
              .latency_ps = 500'000,
              .forward_bytes_per_s = 16'000'000'000,
              .backward_bytes_per_s = 16'000'000'000},
             {.a = 1,
              .b = 2,
              .kind = "pcie",
              .latency_ps = 500'000,
              .forward_bytes_per_s = 16'000'000'000,
              .backward_bytes_per_s = 8'000'000'000}};
  h.series = {
      {"l2_tlb",
       {"gpu0.l2_tlb", "gpu1.l2_tlb"},
       {{"hits", "count", "Lookups that hit.", StatKind::counter, 1},
        {"occupancy", "entries", "Valid entries.", StatKind::level, 1},
        {"latency", "ps", "Time of a lookup.", StatKind::histogram, 4}}},
      {"driver", {"cpu0.driver"}, {{"batches", "count", "Fault batches served.", StatKind::counter, 1}}},
      {"driver.by_application",
       {"cpu0.driver/fir", "cpu0.driver/bfs"},
       {{"batches", "count", "Fault batches served.", StatKind::counter, 1}},
       {"fir", "bfs"}}};
  h.tables = {
      {"kernels",
       "One row for each kernel.",
       {{"name", "text", "Name of the kernel.", ColumnType::text},
        {"start_ps", "ps", "Start.", ColumnType::u64},
        {"balance", "count", "Blocks more than the average.", ColumnType::i64}}},
      {"fault_batches", "One row for each fault batch.", {{"faults", "count", "Faults.", ColumnType::u64}}}};
  return h;
}

constexpr std::size_t kValues = 2 + 2 + 8 + 1 + 2;

inline std::vector<std::uint64_t> values(std::uint64_t sample) {
  std::vector<std::uint64_t> v(kValues);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = sample * 100 + i;
  return v;
}

inline void append(ResultWriter& writer, std::uint64_t from, std::uint64_t to) {
  for (auto sample = from; sample < to; ++sample) {
    writer.append_sample(Time{Duration{static_cast<std::int64_t>(sample) * 1000}}, values(sample));
    if (sample % 3 == 0)
      writer.append_row(0, std::vector<Cell>{"kernel " + std::to_string(sample), sample * 1000,
                                             1 - static_cast<std::int64_t>(sample)});
    writer.append_row(1, std::vector<Cell>{sample * 2});
  }
}

inline void end(ResultWriter& writer) {
  writer.summary({{"machine", "machine", "instructions", "count", "Warp instructions executed.", 42},
                  {"gpu", "gpu0", "instructions", "count", "Warp instructions executed.", 30},
                  {"gpu", "gpu1", "instructions", "count", "Warp instructions executed.", 12},
                  {"gpu", "gpu0", "faults", "count", "Page faults.", 3}});
  writer.engine(
      {{"wall_time", "s", "Wall-clock time of the run.", 1.5},
       {"events", "count", "Events executed.", std::uint64_t{99}},
       {"host", "text", "Name of the host.", std::string("node7")},
       {"partition_load", "1", "Share of the events of each partition.", std::vector<double>{0.25, 0.75}}});
}

// Returns the digest.
inline std::string write(std::string const& path, std::uint64_t samples = 10, RunHeader const& h = header()) {
  ResultWriter writer(path, h);
  append(writer, 0, samples);
  end(writer);
  return writer.finish("completed");
}

}  // namespace farfault::results::sample
