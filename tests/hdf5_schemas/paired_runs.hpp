// SPDX-License-Identifier: Apache-2.0
// Results of small runs with hand-written kernels and figures of SMs, for explanations of two results.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "farfault/results/writer.hpp"

namespace paired_runs {

using Figures = std::map<std::string, std::uint64_t>;  // without "sm_": "time_in_links"

struct Kernel {
  std::string name;
  std::uint64_t reached = 0;
  std::uint64_t left = 0;
  Figures figures = {};  // of the table
  std::string application = {};
  std::uint64_t launched = 0;
  std::uint64_t finished = 0;  // 0: `left`
};

struct Operation {
  std::string what;  // "to_gpus", "allocate", or of an incomplete one: "kernel"
  std::uint64_t started = 0;
  std::uint64_t ended = 0;  // of an incomplete one: its arrival
  std::string name = {};
};

struct Run {
  std::uint64_t end = 0;
  std::vector<Kernel> kernels = {};
  std::vector<std::pair<std::string, Figures>> gpus = {};
  std::vector<Operation> copies = {};
  std::vector<Operation> allocations = {};
  std::vector<Operation> incomplete = {};
  std::string config = "[gpu.sm]\nmax_warps = 64\n";
  std::string end_reason = "completed";
  // Busy time of the page walkers of gpu0's GMMU.
  std::uint64_t walkers_busy = 0;
};

inline std::vector<std::string> const& columns() {
  static std::vector<std::string> const all{"instructions",
                                            "transactions",
                                            "l1_tlb_hits",
                                            "l1_tlb_misses",
                                            "l2_tlb_hits",
                                            "gmmu_translations",
                                            "iommu_translations",
                                            "fault_translations",
                                            "l2_hits",
                                            "l2_misses",
                                            "remote_accesses",
                                            "access_time",
                                            "time_in_load_store",
                                            "time_in_l2_tlb",
                                            "time_in_walk_queue",
                                            "time_in_walk",
                                            "time_in_iommu",
                                            "time_in_fault",
                                            "time_in_dram_queue",
                                            "time_in_dram",
                                            "time_in_links",
                                            "time_in_remote_memory",
                                            "resident_active_time",
                                            "resident_memory_stall_time"};
  return all;
}

inline std::string write(std::string const& path, Run const& run) {
  using namespace farfault;
  using namespace farfault::results;
  auto const number = [](std::string const& name) {
    return ColumnInfo{name, "ps", "A number.", ColumnType::u64};
  };
  auto const text = [](std::string const& name) {
    return ColumnInfo{name, "text", "A text.", ColumnType::text};
  };
  bool applications = false;
  for (auto const& k : run.kernels) applications = applications || !k.application.empty();
  RunHeader header;
  header.resolved_config = run.config;
  header.nodes = {{"gpu0", "gpu"}};
  header.series = {{"gmmu", {"gpu0.gmmu"}, {{"walker_busy_time", "ps", "Time.", StatKind::counter, 1}}}};
  TableInfo kernels{"kernels", "Kernels.", {}};
  if (applications) kernels.columns.push_back(text("application"));
  kernels.columns.push_back(text("name"));
  for (auto const* column : {"launched", "reached_gpus", "left_gpus", "finished"})
    kernels.columns.push_back(number(column));
  for (auto const& column : columns()) kernels.columns.push_back(number(column));
  header.tables = {
      kernels,
      {"copies", "Copies.", {text("direction"), number("started"), number("finished")}},
      {"allocations", "Allocations.", {text("operation"), number("started"), number("finished")}},
      {.name = "outstanding",
       .text = "Operations.",
       .columns = {number("stream"), text("operation"), text("name"), number("started"), number("reached")}}};
  ResultWriter writer(path, header);
  auto const end_time = Time{Duration{static_cast<std::int64_t>(run.end)}};
  writer.append_sample(end_time, std::vector{run.walkers_busy});
  for (auto const& k : run.kernels) {
    std::vector<Cell> cells;
    if (applications) cells.emplace_back(k.application);
    cells.emplace_back(k.name);
    for (auto const ps : {k.launched, k.reached, k.left, k.finished == 0 ? k.left : k.finished})
      cells.emplace_back(ps);
    for (auto const& column : columns()) {
      auto const found = k.figures.find(column);
      cells.emplace_back(found == k.figures.end() ? std::uint64_t{0} : found->second);
    }
    writer.append_row(0, cells);
  }
  for (auto const& o : run.copies) writer.append_row(1, std::vector<Cell>{o.what, o.started, o.ended});
  for (auto const& o : run.allocations) writer.append_row(2, std::vector<Cell>{o.what, o.started, o.ended});
  for (auto const& o : run.incomplete)
    writer.append_row(3, std::vector<Cell>{std::uint64_t{0}, o.what, o.name, o.started, o.ended});
  std::vector<SummaryRow> rows{{"machine", "machine", "end", "ps", "End.", run.end},
                               {"machine", "machine", "sm_access_time", "ps", "Time.", 0}};
  Figures machine;
  for (auto const& [name, figures] : run.gpus)
    for (auto const& [metric, value] : figures) {
      rows.push_back({"gpu", name, "sm_" + metric, "ps", "A figure.", value});
      machine[metric] += value;
    }
  rows[1].value = machine["access_time"];
  for (auto const& [metric, value] : machine)
    if (metric != "access_time")
      rows.push_back({"machine", "machine", "sm_" + metric, "ps", "A figure.", value});
  writer.summary(rows);
  writer.finish(run.end_reason);
  return path;
}

}  // namespace paired_runs
