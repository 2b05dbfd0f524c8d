// SPDX-License-Identifier: Apache-2.0
#include "run_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "process/counted.hpp"

namespace farfault::cli {

namespace {

void add_topology(Model const& model, results::RunHeader& header) {
  auto const instances = model.assembly->instances();
  auto const instance_of = model.assembly->instances_of_nodes();
  header.cluster = model.machine.machines() > 1;
  for (std::size_t i = 0; i < model.machine.nodes.size(); ++i) {
    auto const& n = model.machine.nodes[i];
    auto& row = header.nodes.emplace_back();
    row.name = n.name;
    row.kind = topologies::name_of(n.kind);
    row.machine = topologies::machine_name(n.machine);
    if (instance_of[i] == topologies::Assembly::kNone) continue;
    row.host = instances[instance_of[i]].host->path();
    row.driver = instances[instance_of[i]].driver->path();
  }
  for (auto const& l : model.machine.links)
    header.links.push_back({.a = l.a,
                            .b = l.b,
                            .kind = std::string(topologies::name_of(l.kind)),
                            .latency_ps = static_cast<std::uint64_t>(picoseconds(l.latency)),
                            .forward_bytes_per_s = l.forward.bytes_per_second,
                            .backward_bytes_per_s = l.backward.bytes_per_second});
}

// "Farfault run: fir and bfs on 8 GPUs of 2 machines". Names of files would make the digest depend on them.
std::string title_of(Model const& model) {
  constexpr std::size_t kMax = 4;
  auto const& all = model.applications.all();
  std::string workloads;
  for (std::size_t i = 0; i < std::min(all.size(), kMax); ++i)
    workloads += (i == 0 ? "" : ", ") + all[i].params.workload;
  if (all.size() > kMax) workloads += fmt::format(" and {} more", all.size() - kMax);
  auto const machines = model.machine.machines();
  return fmt::format("Farfault run: {} on {}{}", workloads, counted(model.assembly->gpus(), "GPU"),
                     machines > 1 ? " of " + counted(machines, "machine") : std::string());
}

}  // namespace

results::RunHeader header_of(Model const& model, RunOptions const& options, Sampler const& sampler,
                             Tables const& tables) {
  results::RunHeader header;
  header.title = title_of(model);
  header.resolved_config = model.result_config();
  header.command_line = options.command_line;
  header.seed = model.run.seed;
  for (auto const& f : model.inputs)
    header.inputs.push_back({f.parameter, std::filesystem::path(f.path).filename().string(), f.bytes,
                             fmt::format("{:016x}", f.hash)});
  for (auto const& u : model.config.unused()) header.unused.push_back({u.key, u.only_with, u.instead});
  add_topology(model, header);
  header.series = sampler.series();
  header.tables = tables.infos();
  return header;
}

}  // namespace farfault::cli
