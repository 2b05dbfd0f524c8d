// SPDX-License-Identifier: Apache-2.0
#include "spread.hpp"

namespace farfault::analysis {

void spread(std::span<ModelPart> parts, Amount& effect, bool own_cause) {
  Amount sum, same;
  for (auto const& p : parts) sum += p.ps;
  for (auto const& p : parts)
    if (p.ps.sign() == sum.sign()) same += p.ps;
  if (sum.sign() == 0 || effect.sign() == 0) return;
  bool const opposite = sum.sign() != effect.sign();
  if (opposite && sum.size() < effect.size()) {
    for (auto& p : parts) p.ps = {};
    effect += sum;
    return;
  }
  if (!opposite && (own_cause || effect.size() / kMostSpread > same.size())) return;
  Amount moved;
  ModelPart* largest = nullptr;
  for (auto& p : parts) {
    if (p.ps.sign() != sum.sign()) continue;
    if (largest == nullptr || p.ps.size() > largest->ps.size()) largest = &p;
  }
  for (auto& p : parts) {
    if (p.ps.sign() != sum.sign()) continue;
    auto const more = scaled(effect, {Amount::of(p.ps.size()), Amount::of(same.size())});
    p.ps += more;
    moved += more;
  }
  largest->ps += effect - moved;
  effect = {};
}

}  // namespace farfault::analysis
