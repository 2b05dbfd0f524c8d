// SPDX-License-Identifier: Apache-2.0
#include "pair_model.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "effects.hpp"
#include "pair_parts.hpp"
#include "pair_settings.hpp"

namespace farfault::analysis {
namespace {

std::string times_text(std::size_t n, char const* what) {
  return n == 0 ? std::string("no ") + what + "s" : std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// The reason why the time of kernels cannot be attributed further; empty: it can.
std::string reason_not_to_split(RunFigures const& a, RunFigures const& b, ModelledRun const& sms_a,
                                ModelledRun const& sms_b) {
  if (a.on_gpus().sign() == 0 || b.on_gpus().sign() == 0)
    return std::string(a.on_gpus().sign() == 0 ? "A" : "B") + " has no kernel on a GPU";
  for (auto const& [run, sms, name] : {std::tuple(&a, &sms_a, "A"), std::tuple(&b, &sms_b, "B")}) {
    auto const common = sms->on_gpus;
    if (common.sign() == 0)
      return "A and B have no kernel name in common: A has " + times_text(a.kernels.size(), "kernel name") +
             ", B has " + times_text(b.kernels.size(), "kernel name");
    if ((common + common) < run->on_gpus())
      return std::string("kernels of both runs take less than half of the kernel time of ") + name;
  }
  return {};
}

// The models of all pairs, added up.
KernelModel model_pairs(std::vector<ModelledPair> const& pairs, DifferingKinds const& kinds) {
  KernelModel sum;
  for (auto const& pair : pairs) {
    auto model = model_kernels(pair.a, pair.b, kinds);
    sum.parts.insert(sum.parts.end(), model.parts.begin(), model.parts.end());
    for (auto& [name, ps] : model.activities) {
      auto const known = std::ranges::find(sum.activities, name, &std::pair<std::string, Amount>::first);
      if (known == sum.activities.end())
        sum.activities.emplace_back(name, ps);
      else
        known->second += ps;
    }
    sum.work += model.work;
    sum.occupancy += model.occupancy;
  }
  return sum;
}

}  // namespace

bool PairModel::matters(Amount ps) const {
  auto const end = static_cast<double>(std::max(a.end, b.end));
  return static_cast<double>(ps.size()) >= kMatters * end && ps.sign() != 0;
}

PairModel model_pair(RunFigures a, RunFigures b, std::vector<PairSetting> const& settings) {
  PairModel pair;
  pair.a = std::move(a);
  pair.b = std::move(b);
  pair.kinds = differing_kinds(settings);
  pair.kernels = pair_kernels(pair.a, pair.b);
  auto const pairs = modelled_pairs(pair.a, pair.b, pair.kernels);
  auto sum = sum_of_pairs(pairs);
  pair.gpu = std::move(sum.gpu);
  pair.sms_a = std::move(sum.a);
  pair.sms_b = std::move(sum.b);
  pair.not_split = reason_not_to_split(pair.a, pair.b, pair.sms_a, pair.sms_b);
  pair.parts = gap_causes(pair.a, pair.b);
  auto const missing = missing_kernel_causes(pair.a, pair.b, pair.kernels);
  pair.parts.insert(pair.parts.end(), missing.begin(), missing.end());
  if (pair.not_split.empty()) {
    pair.model = model_pairs(pairs, pair.kinds);
    pair.saturation = saturation_of(pair.a, pair.b);
    if (pair.saturation) bound_by(*pair.saturation, pair.model.parts);
    attribute_effects(pair.model.parts, settings);
    pair.parts.insert(pair.parts.end(), pair.model.parts.begin(), pair.model.parts.end());
  } else {
    pair.parts.push_back({"common_kernels", {}, pair.sms_b.on_gpus - pair.sms_a.on_gpus});
  }
  std::erase_if(pair.parts, [](ModelPart const& p) { return p.ps.sign() == 0; });
  return pair;
}

}  // namespace farfault::analysis
