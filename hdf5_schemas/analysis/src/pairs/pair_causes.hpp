// SPDX-License-Identifier: Apache-2.0
// Private: the causes of the change, with the figures that changed.
#pragma once

#include <vector>

#include "farfault/analysis/explain_pair.hpp"
#include "pair_model.hpp"

namespace farfault::analysis {

// The largest first; without settings.
std::vector<Cause> causes_of(PairModel const& pair);

}  // namespace farfault::analysis
