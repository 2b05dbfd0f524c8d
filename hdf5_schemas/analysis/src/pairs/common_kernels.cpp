// SPDX-License-Identifier: Apache-2.0
#include "common_kernels.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "access_counts.hpp"

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

// The GPU with the shortest idle time of SMs in the slower run: it determines when kernels end. Empty if the
// results do not have figures of GPUs.
std::string critical_gpu(RunFigures const& a, RunFigures const& b) {
  auto const of_a = busiest_gpu(a), of_b = busiest_gpu(b);
  if (!of_a || !of_b) return {};
  auto const &name_a = a.gpu_names[*of_a], &name_b = b.gpu_names[*of_b];
  if (a.end == b.end) return std::min(name_a, name_b);
  return a.end > b.end ? name_a : name_b;
}

Amount link_visits(SmFigures const& figures) {
  return count_in(figures, AccessCount::remote_accesses) + count_in(figures, AccessCount::iommu_translations);
}

// Bytes of the busiest link by the accesses, the latency of links by the visits, of the machine's.
void add_links(RunFigures const& run, SmFigures& figures) {
  auto const part = [&](char const* name, std::uint64_t of_machine, Amount own, Amount all) {
    if (all.sign() > 0)
      figures[SmFigures::place_of(name)] = scaled(Amount::of(of_machine), {own, all}).size();
  };
  part("link_bytes", run.link_bytes, figures.at("transactions"), run.machine.at("transactions"));
  part("link_latency", run.link_latency, link_visits(figures), link_visits(run.machine));
}

Amount sms_of(SmFigures const& gpu, RunFigures const& run) {
  return run.end == 0 ? Amount() : Amount::of(gpu.at("time").size() / run.end);
}

// Figures of `gpu`, or of the run's own critical GPU if it does not have that one, or of all GPUs. Only
// the common kernels: figures are reduced by the other kernels' share of the machine's total.
ModelledRun modelled_run(RunFigures const& run, std::string const& gpu,
                         std::vector<std::size_t> const& common) {
  ModelledRun modelled;
  modelled.gpu = figures_of(run, gpu);
  modelled.sms = sms_of(modelled.gpu, run);
  modelled.latencies = run.latencies;
  modelled.instructions = run.machine.at("instructions");
  for (auto const kernel : common) modelled.on_gpus += Amount::of(run.timeline.kernels[kernel].on_gpus);
  if (common.size() == run.kernels.size()) {
    add_links(run, modelled.gpu);
    return modelled;
  }
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
  add_links(run, modelled.gpu);
  return modelled;
}

bool complete(RunFigures const& run) {
  return std::ranges::all_of(run.timeline.kernels, [](KernelUse const& k) { return k.incomplete == 0; });
}

bool by_gpu(RunFigures const& a, RunFigures const& b) {
  return !a.kernels_on_gpus.empty() && !b.kernels_on_gpus.empty() && complete(a) && complete(b);
}

bool has_blocks(KernelOnGpu const& kernel) {
  ModelledRun run;
  run.gpu = kernel.figures;
  return run.with_blocks().sign() > 0;
}

// The GPU on which the kernel ends last; nullopt if no GPU has thread blocks of it.
std::optional<std::size_t> last_gpu(RunFigures const& run, std::size_t kernel) {
  std::optional<std::size_t> last;
  auto const& gpus = run.kernels_on_gpus[kernel];
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
    if (has_blocks(gpus[gpu]) && (!last || gpus[gpu].left > gpus[*last].left)) last = gpu;
  return last;
}

// Figures of the kernel on `gpu`, or on its last GPU if `gpu` has no thread block of it.
ModelledRun kernel_on(RunFigures const& run, std::size_t kernel, std::string const& gpu) {
  ModelledRun modelled;
  modelled.on_gpus = Amount::of(run.timeline.kernels[kernel].on_gpus);
  modelled.instructions = run.kernels[kernel].at("instructions");
  modelled.latencies = run.latencies;
  auto const known = std::ranges::find(run.gpu_names, gpu);
  auto at = static_cast<std::size_t>(known - run.gpu_names.begin());
  if (known == run.gpu_names.end() || !has_blocks(run.kernels_on_gpus[kernel][at]))
    at = last_gpu(run, kernel).value_or(0);
  modelled.gpu = run.kernels_on_gpus[kernel][at].figures;
  modelled.gpu[SmFigures::place_of("time")] = run.gpus[at].at("time").size();
  add_links(run, modelled.gpu);
  modelled.sms = sms_of(run.gpus[at], run);
  return modelled;
}

std::string last_gpu_of(RunFigures const& a, RunFigures const& b, KernelPair const& kernel) {
  auto const name = [](RunFigures const& run, std::size_t k) {
    return run.gpu_names[last_gpu(run, k).value_or(0)];
  };
  auto const name_a = name(a, kernel.a), name_b = name(b, kernel.b);
  auto const time_a = a.timeline.kernels[kernel.a].on_gpus, time_b = b.timeline.kernels[kernel.b].on_gpus;
  if (time_a == time_b) return std::min(name_a, name_b);
  return time_a > time_b ? name_a : name_b;
}

// All GPUs together.
ModelledRun kernel_of_machine(RunFigures const& run, std::size_t kernel) {
  ModelledRun modelled;
  modelled.on_gpus = Amount::of(run.timeline.kernels[kernel].on_gpus);
  modelled.gpu = run.kernels[kernel];
  modelled.instructions = modelled.gpu.at("instructions");
  add_links(run, modelled.gpu);
  modelled.latencies = run.latencies;
  modelled.sms = sms_of(run.machine, run);
  return modelled;
}

void add_to(ModelledRun& sum, ModelledRun const& run) {
  sum.on_gpus += run.on_gpus;
  sum.instructions += run.instructions;
  sum.sms = std::max(sum.sms, run.sms);
  sum.latencies = run.latencies;
  auto const time = SmFigures::place_of("time");
  for (std::size_t place = 0; place < kSmFigures.size(); ++place)
    sum.gpu[place] =
        place == time ? std::max(sum.gpu[place], run.gpu[place]) : sum.gpu[place] + run.gpu[place];
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

std::vector<ModelledPair> modelled_pairs(RunFigures const& a, RunFigures const& b,
                                         std::vector<KernelPair> const& kernels) {
  std::vector<ModelledPair> pairs;
  std::vector<std::size_t> common_a, common_b;
  for (auto const& kernel : kernels) {
    if (!kernel.common()) continue;
    common_a.push_back(kernel.a);
    common_b.push_back(kernel.b);
    if (by_gpu(a, b)) pairs.push_back(modelled_kernel(a, b, kernel));
  }
  if (!pairs.empty()) return pairs;
  auto const gpu = critical_gpu(a, b);
  return {{gpu, modelled_run(a, gpu, common_a), modelled_run(b, gpu, common_b)}};
}

ModelledPair modelled_kernel(RunFigures const& a, RunFigures const& b, KernelPair const& kernel) {
  if (!by_gpu(a, b)) return {"", kernel_of_machine(a, kernel.a), kernel_of_machine(b, kernel.b)};
  auto const gpu = last_gpu_of(a, b, kernel);
  return {gpu, kernel_on(a, kernel.a, gpu), kernel_on(b, kernel.b, gpu)};
}

ModelledPair sum_of_pairs(std::vector<ModelledPair> const& pairs) {
  if (pairs.size() == 1) return pairs.front();
  ModelledPair sum;
  bool same = true;
  for (auto const& pair : pairs) {
    add_to(sum.a, pair.a);
    add_to(sum.b, pair.b);
    same = same && pair.gpu == pairs.front().gpu;
  }
  if (!pairs.empty()) sum.gpu = same ? pairs.front().gpu : "the last GPUs";
  return sum;
}

}  // namespace farfault::analysis
