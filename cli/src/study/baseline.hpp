// SPDX-License-Identifier: Apache-2.0
// Private: the baseline of a study, checked against its points and its runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "farfault/analysis/sweep_ratios.hpp"
#include "points.hpp"

namespace farfault::cli {

// Empty without a baseline. Throws UserError for a key that does not vary, and for an unknown point.
std::optional<analysis::SweepBaseline> baseline_of(Study const& study, Points const& points);

// Throws UserError if no run has the values of the baseline. `table`: all runs, with or without results.
void check_baseline(Study const& study, results::SweepTable const& table,
                    analysis::SweepBaseline const& baseline);

// The figures of sweep.figures that the table has; without completed runs, all of them.
std::vector<std::string> known_figures(Study const& study, results::SweepTable const& table);
// Throws UserError for a figure of sweep.figures that is unknown. Without completed runs, none is.
void check_figures(Study const& study, results::SweepTable const& table);

}  // namespace farfault::cli
