// SPDX-License-Identifier: Apache-2.0
#include "effects.hpp"

#include <algorithm>
#include <span>

#include "pair_settings.hpp"

namespace farfault::analysis {

void attribute_effects(std::vector<ModelPart>& parts, std::vector<PairSetting> const& settings) {
  auto const effects = std::ranges::stable_partition(
      parts, [&](ModelPart const& p) { return !settings_of_cause(p.cause, settings).empty(); });
  auto const causes = std::span(parts).first(parts.size() - effects.size());
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
