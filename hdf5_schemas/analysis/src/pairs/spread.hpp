// SPDX-License-Identifier: Apache-2.0
// Private: attributes an effect to its causes.
#pragma once

#include <span>
#include <string>

#include "amount.hpp"

namespace farfault::analysis {

// A part of the change of the end.
struct ModelPart {
  std::string cause;
  std::string stage = {};  // of an access; empty: none
  Amount ps = {};
};

// Moves an effect to the parts that have the sign of their sum, in proportion; the total remains.
// - An effect of the opposite sign that is larger than the sum takes the parts up: they become 0.
// - An effect of the same sign remains if it is a cause of its own, or more than kMostSpread times the parts.
inline constexpr std::uint64_t kMostSpread = 4;
void spread(std::span<ModelPart> parts, Amount& effect, bool own_cause);

}  // namespace farfault::analysis
