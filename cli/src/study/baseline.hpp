// SPDX-License-Identifier: Apache-2.0
// Private: the baseline of a study, checked against its points and its runs.
#pragma once

#include <optional>

#include "farfault/analysis/sweep_ratios.hpp"
#include "points.hpp"

namespace farfault::cli {

// Empty without a baseline. Throws UserError for a key that does not vary, and for an unknown point.
std::optional<analysis::SweepBaseline> baseline_of(Study const& study, Points const& points);

// Throws UserError if no run has the values of the baseline. `table`: all runs, with or without results.
void check_baseline(Study const& study, results::SweepTable const& table,
                    analysis::SweepBaseline const& baseline);

}  // namespace farfault::cli
