// SPDX-License-Identifier: Apache-2.0
// Private: causes on which no differing parameter acts directly are effects of the others.
#pragma once

#include <vector>

#include "farfault/analysis/explain_pair.hpp"
#include "spread.hpp"

namespace farfault::analysis {

// Moves these parts to the other ones (spread()). They remain if nothing differs, if a differing parameter
// acts on all causes or on none, or if they are larger than the other parts can explain.
void attribute_effects(std::vector<ModelPart>& parts, std::vector<PairSetting> const& settings);

}  // namespace farfault::analysis
