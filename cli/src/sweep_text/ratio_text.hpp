// SPDX-License-Identifier: Apache-2.0
// Private: figures of a sweep, speedups and their means as text for a terminal.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/analysis/sweep_ratios.hpp"

namespace farfault::cli {

// "1.3 ms", "84 k", "512 byte"; "1.034" for a ratio.
std::string figure_text(double value, std::string const& unit, bool is_ratio);
// "1.31 ms (1.3 ms to 1.33 ms)": the range of runs that differ; "-": empty.
std::string mean_text(analysis::SweepMean const& mean, std::string const& unit, bool is_ratio);

// A heading, and the speedup of each point of `seeds` rows.
std::vector<std::string> speedup_column(results::SweepTable const& table, std::size_t seeds);
// Prints the first reasons of empty speedups, and the first `most` mean speedups.
void print_ratios(results::SweepTable const& table, std::size_t seeds, std::size_t most, std::ostream& out);

}  // namespace farfault::cli
