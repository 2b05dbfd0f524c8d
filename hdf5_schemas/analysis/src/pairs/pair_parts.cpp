// SPDX-License-Identifier: Apache-2.0
#include "pair_parts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "access_counts.hpp"

namespace farfault::analysis {
namespace {

constexpr std::array<char const*, 3> kCountCauses{"copies", "allocations", "launches"};
constexpr std::array<char const*, 3> kTimeCauses{"copy_time", "allocation_time", "launch_time"};

std::int64_t change_of(std::uint64_t a, std::uint64_t b) {
  return (Amount::of(b) - Amount::of(a)).value();
}

double per_access(SmFigures const& kernel, std::string_view figure) {
  return number_of({kernel.at(figure), kernel.at("transactions")});
}

// Average time of an access in each stage, the load/store unit included.
std::vector<StageChange> stages_of(SmFigures const& a, SmFigures const& b) {
  std::vector<StageChange> stages;
  for (auto const& [name, what] : kStages) {
    auto const figure = std::string_view(name).substr(std::string_view("sm_").size());
    stages.push_back({name, what, {per_access(a, figure), per_access(b, figure)}, 0});
  }
  std::ranges::stable_sort(stages, std::ranges::greater(),
                           [](StageChange const& s) { return std::abs(s.per_access.b - s.per_access.a); });
  return stages;
}

PartChange kernel_part(RunFigures const& a, RunFigures const& b, KernelPair const& pair) {
  PartChange part{"kernel", pair.name, "kernel " + pair.name};
  if (pair.a != KernelPair::kNone) {
    auto const& use = a.timeline.kernels[pair.a];
    part.a_ps = use.on_gpus;
    part.a_launches = use.launches + use.incomplete;
    part.a_shared_ps = use.shared;
  }
  if (pair.b != KernelPair::kNone) {
    auto const& use = b.timeline.kernels[pair.b];
    part.b_ps = use.on_gpus;
    part.b_launches = use.launches + use.incomplete;
    part.b_shared_ps = use.shared;
  }
  part.ps = change_of(part.a_ps, part.b_ps);
  return part;
}

void add_details(RunFigures const& a, RunFigures const& b, KernelPair const& pair, PartChange& part) {
  SmFigures const none;
  auto const& of_a = pair.a == KernelPair::kNone ? none : a.kernels[pair.a];
  auto const& of_b = pair.b == KernelPair::kNone ? none : b.kernels[pair.b];
  part.a_accesses = of_a.at("transactions").size();
  part.b_accesses = of_b.at("transactions").size();
  part.stages = stages_of(of_a, of_b);
}

// The contribution of each stage to the change of the end through this kernel.
void add_effects(RunFigures const& a, RunFigures const& b, KernelPair const& kernel,
                 DifferingKinds const& kinds, PartChange& part) {
  auto const pair = modelled_kernel(a, b, kernel);
  for (auto const& p : model_kernels(pair.a, pair.b, kinds).parts) {
    auto const stage = std::ranges::find(part.stages, p.stage, &StageChange::name);
    if (stage != part.stages.end()) stage->ps = (Amount(stage->ps) + p.ps).value();
  }
}

// Replaces the kernels with the smallest changes by their sum.
void sum_up_others(std::vector<PartChange>& parts) {
  std::size_t kernels = 0;
  for (auto const& p : parts) kernels += p.kind == "kernel" ? 1 : 0;
  if (kernels <= kMaxKernelParts) return;
  PartChange others{"kernel", "others", std::to_string(kernels - kMaxKernelParts) + " other kernels"};
  std::size_t seen = 0;
  std::erase_if(parts, [&](PartChange const& p) {
    if (p.kind != "kernel" || ++seen <= kMaxKernelParts) return false;
    others.a_ps += p.a_ps;
    others.b_ps += p.b_ps;
    others.a_launches += p.a_launches;
    others.b_launches += p.b_launches;
    others.a_shared_ps += p.a_shared_ps;
    others.b_shared_ps += p.b_shared_ps;
    return true;
  });
  others.ps = change_of(others.a_ps, others.b_ps);
  parts.push_back(std::move(others));
}

PartChange gap_part(std::string const& name, std::string const& what, std::uint64_t a, std::uint64_t b) {
  return {"gap", name, what, a, b, change_of(a, b)};
}

}  // namespace

std::vector<PartChange> parts_of(RunFigures const& a, RunFigures const& b,
                                 std::vector<KernelPair> const& kernels, DifferingKinds const& kinds) {
  std::vector<PartChange> parts;
  for (auto const& pair : kernels) parts.push_back(kernel_part(a, b, pair));
  for (std::size_t place = 0; place < kGapPlaces.size(); ++place)
    for (std::size_t activity = 0; activity < kHostActivities.size(); ++activity)
      parts.push_back(gap_part(std::string(kGapPlaces[place].name) + "." + kHostActivities[activity].name,
                               std::string(kHostActivities[activity].what) + " " + kGapPlaces[place].what,
                               a.timeline.gaps[place][activity], b.timeline.gaps[place][activity]));
  parts.push_back(gap_part("unrecorded", "after the last recorded operation of a stopped run",
                           a.timeline.unrecorded, b.timeline.unrecorded));
  std::erase_if(parts, [](PartChange const& p) { return p.kind == "gap" && p.a_ps == 0 && p.b_ps == 0; });
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](PartChange const& p) { return Amount(p.ps).size(); });
  std::size_t detailed = 0;
  for (auto& p : parts) {
    if (p.kind != "kernel" || ++detailed > kMaxKernels) continue;
    auto const& kernel = *std::ranges::lower_bound(kernels, p.name, {}, &KernelPair::name);
    add_details(a, b, kernel, p);
    if (kernel.common()) add_effects(a, b, kernel, kinds, p);
  }
  sum_up_others(parts);
  return parts;
}

Amount gap_time(RunFigures const& run, std::size_t activity) {
  Amount sum;
  for (auto const& place : run.timeline.gaps) sum += Amount::of(place[activity]);
  return sum;
}

Amount gap_operations(RunFigures const& run, std::size_t activity) {
  auto const& line = run.timeline;
  return Amount::of(activity == kCopies        ? line.copies
                    : activity == kAllocations ? line.allocations
                    : activity == kLaunches    ? line.launches
                                               : 0);
}

std::vector<ModelPart> gap_causes(RunFigures const& a, RunFigures const& b) {
  std::vector<ModelPart> causes;
  for (std::size_t activity = 0; activity < kOtherWork; ++activity) {
    auto const time_a = gap_time(a, activity), time_b = gap_time(b, activity);
    auto const n_a = gap_operations(a, activity), n_b = gap_operations(b, activity);
    auto const change = time_b - time_a;
    auto more = change;
    if (n_a.sign() > 0 && n_b.sign() > 0) more = at_mean(n_b - n_a, {time_a, n_a}, {time_b, n_b});
    causes.push_back({kCountCauses[activity], {}, more});
    causes.push_back({kTimeCauses[activity], {}, change - more});
  }
  causes.push_back({"other_work", {}, gap_time(b, kOtherWork) - gap_time(a, kOtherWork)});
  causes.push_back({"unrecorded", {}, Amount::of(b.timeline.unrecorded) - Amount::of(a.timeline.unrecorded)});
  return causes;
}

std::vector<ModelPart> missing_kernel_causes(RunFigures const& a, RunFigures const& b,
                                             std::vector<KernelPair> const& kernels) {
  Amount only_a, only_b;
  for (auto const& pair : kernels) {
    if (pair.common()) continue;
    if (pair.a != KernelPair::kNone) only_a += Amount::of(a.timeline.kernels[pair.a].on_gpus);
    if (pair.b != KernelPair::kNone) only_b += Amount::of(b.timeline.kernels[pair.b].on_gpus);
  }
  return {{"only_in_a", {}, -only_a}, {"only_in_b", {}, only_b}};
}

}  // namespace farfault::analysis
