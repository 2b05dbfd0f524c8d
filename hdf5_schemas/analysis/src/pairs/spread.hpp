// SPDX-License-Identifier: Apache-2.0
// Private: attributes an effect to its causes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "amount.hpp"

namespace farfault::analysis {

// A part of the change of the end.
struct ModelPart {
  std::string cause;
  std::string stage = {};  // of an access; empty: none
  Amount ps = {};
};

// Moves an effect to the parts that have the sign of their sum, in proportion; the total remains.
// - An effect of the opposite sign reduces these parts at most to 0. The rest of it remains.
// - An effect of the same sign remains if it is a cause of its own, or more than kMostSpread times the parts.
inline constexpr std::uint64_t kMostSpread = 4;
void spread(std::span<ModelPart> parts, Amount& effect, bool own_cause);

// Adds `amount` to the parts with its sign, in proportion; false, and nothing moves, if there are none, or if
// it is more than kMostSpread times their sum.
bool add_to_same_sign(std::span<ModelPart> parts, Amount amount);

// Two factors that change in opposite directions: the smaller change is subtracted from the larger one.
void offset(Amount& one, Amount& other);

// Multiplies the parts by a factor, so that their sum becomes `sum` exactly.
void scale_to(std::span<ModelPart> parts, Amount sum);

}  // namespace farfault::analysis
