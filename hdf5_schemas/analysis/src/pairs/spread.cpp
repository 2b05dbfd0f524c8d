// SPDX-License-Identifier: Apache-2.0
#include "spread.hpp"

namespace farfault::analysis {
namespace {

Amount sum_of(std::span<ModelPart const> parts) {
  Amount sum;
  for (auto const& p : parts) sum += p.ps;
  return sum;
}

Amount sum_with_sign(std::span<ModelPart const> parts, int sign) {
  Amount sum;
  for (auto const& p : parts)
    if (p.ps.sign() == sign) sum += p.ps;
  return sum;
}

// Adds `amount` to the parts with this sign, in proportion. There is such a part.
void distribute(std::span<ModelPart> parts, int sign, Amount amount) {
  auto const same = Amount::of(sum_with_sign(parts, sign).size());
  Amount moved;
  ModelPart* largest = nullptr;
  for (auto& p : parts) {
    if (p.ps.sign() != sign) continue;
    if (largest == nullptr || p.ps.size() > largest->ps.size()) largest = &p;
  }
  for (auto& p : parts) {
    if (p.ps.sign() != sign || &p == largest) continue;
    auto const more = scaled(amount, {Amount::of(p.ps.size()), same});
    p.ps += more;
    moved += more;
  }
  largest->ps += amount - moved;
}

}  // namespace

void spread(std::span<ModelPart> parts, Amount& effect, bool own_cause) {
  auto const sign = sum_of(parts).sign();
  if (sign == 0 || effect.sign() == 0) return;
  auto const same = sum_with_sign(parts, sign);
  if (sign == effect.sign()) {
    if (own_cause || effect.size() / kMostSpread > same.size()) return;
    distribute(parts, sign, effect);
    effect = {};
    return;
  }
  if (effect.size() > same.size()) {
    for (auto& p : parts)
      if (p.ps.sign() == sign) p.ps = {};
    effect += same;
    return;
  }
  distribute(parts, sign, effect);
  effect = {};
}

bool add_to_same_sign(std::span<ModelPart> parts, Amount amount) {
  auto const same = sum_with_sign(parts, amount.sign());
  if (amount.sign() == 0 || same.sign() == 0 || amount.size() / kMostSpread > same.size()) return false;
  distribute(parts, amount.sign(), amount);
  return true;
}

void offset(Amount& one, Amount& other) {
  if (one.sign() * other.sign() >= 0) return;
  auto& smaller = one.size() < other.size() ? one : other;
  auto& larger = &smaller == &one ? other : one;
  larger += smaller;
  smaller = {};
}

void scale_to(std::span<ModelPart> parts, Amount sum) {
  auto const before = sum_of(parts);
  if (before.sign() == 0 || parts.empty()) return;
  ModelPart* largest = &parts.front();
  for (auto& p : parts)
    if (p.ps.size() > largest->ps.size()) largest = &p;
  Amount others;
  for (auto& p : parts) {
    if (&p == largest) continue;
    auto const part = scaled(p.ps, {Amount::of(sum.size()), Amount::of(before.size())});
    p.ps = sum.sign() == before.sign() ? part : -part;
    others += p.ps;
  }
  largest->ps = sum - others;
}

}  // namespace farfault::analysis
