// SPDX-License-Identifier: Apache-2.0
#include "common_kernels.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace farfault::analysis {
namespace {

// Idle time of SMs in trillionths of their time.
Amount idle_share(SmFigures const& gpu) {
  constexpr std::int64_t kWhole = 1'000'000'000'000;
  return scaled(Amount(kWhole), {gpu.at("idle_time"), gpu.at("time")});
}

std::optional<std::size_t> busiest_gpu(RunFigures const& run) {
  std::optional<std::size_t> busiest;
  for (std::size_t gpu = 0; gpu < run.gpus.size(); ++gpu)
    if (run.gpus[gpu].at("time").sign() > 0 &&
        (!busiest || idle_share(run.gpus[gpu]) < idle_share(run.gpus[*busiest])))
      busiest = gpu;
  return busiest;
}

SmFigures const& figures_of(RunFigures const& run, std::string const& gpu) {
  if (gpu.empty()) return run.machine;
  auto const known = std::ranges::find(run.gpu_names, gpu);
  if (known != run.gpu_names.end()) return run.gpus[static_cast<std::size_t>(known - run.gpu_names.begin())];
  auto const own = busiest_gpu(run);
  return own ? run.gpus[*own] : run.machine;
}

}  // namespace

std::vector<KernelPair> pair_kernels(RunFigures const& a, RunFigures const& b) {
  std::map<std::string, KernelPair> pairs;
  for (std::size_t i = 0; i < a.timeline.kernels.size(); ++i) pairs[a.timeline.kernels[i].name].a = i;
  for (std::size_t i = 0; i < b.timeline.kernels.size(); ++i) pairs[b.timeline.kernels[i].name].b = i;
  std::vector<KernelPair> all;
  for (auto& [name, pair] : pairs) {
    pair.name = name;
    all.push_back(pair);
  }
  return all;
}

std::string critical_gpu(RunFigures const& a, RunFigures const& b) {
  auto const of_a = busiest_gpu(a), of_b = busiest_gpu(b);
  if (!of_a || !of_b) return {};
  auto const &name_a = a.gpu_names[*of_a], &name_b = b.gpu_names[*of_b];
  if (a.end == b.end) return std::min(name_a, name_b);
  return a.end > b.end ? name_a : name_b;
}

ModelledRun modelled_run(RunFigures const& run, std::string const& gpu,
                         std::vector<std::size_t> const& common) {
  ModelledRun modelled;
  modelled.gpu = figures_of(run, gpu);
  modelled.instructions = run.machine.at("instructions");
  for (auto const kernel : common) modelled.on_gpus += Amount::of(run.timeline.kernels[kernel].on_gpus);
  if (common.size() == run.kernels.size()) return modelled;
  for (std::size_t place = 0; place < SmFigures::place_of("idle_time"); ++place) {
    Amount all, of_common;
    for (auto const& kernel : run.kernels) all += Amount::of(kernel[place]);
    for (auto const kernel : common) of_common += Amount::of(run.kernels[kernel][place]);
    if (all.sign() == 0) continue;
    auto const reduced = scaled(Amount::of(modelled.gpu[place]), {of_common, all});
    modelled.gpu[place] = reduced.size();
    if (kSmFigures[place] == "instructions")
      modelled.instructions = scaled(modelled.instructions, {of_common, all});
  }
  return modelled;
}

}  // namespace farfault::analysis
