// SPDX-License-Identifier: Apache-2.0
#include "effects.hpp"

#include <algorithm>
#include <span>

#include "pair_settings.hpp"

namespace farfault::analysis {

void attribute_effects(std::vector<ModelPart>& parts, std::vector<PairSetting> const& settings) {
  auto const first_effect = std::stable_partition(parts.begin(), parts.end(), [&](ModelPart const& p) {
    return !settings_of_cause(p.cause, settings).empty();
  });
  std::span const effects(first_effect, parts.end()), causes(parts.begin(), first_effect);
  Amount sum, direct;
  for (auto const& p : effects) sum += p.ps;
  for (auto const& p : causes) direct += p.ps;
  if (sum.sign() == 0 || direct.sign() == 0) return;
  bool const opposite = sum.sign() != direct.sign();
  if (opposite ? sum.size() >= direct.size() : sum.size() / kMostSpread > direct.size()) return;
  spread(causes, sum, false);
  if (sum.sign() != 0) return;
  for (auto& p : effects) p.ps = {};
}

}  // namespace farfault::analysis
