// SPDX-License-Identifier: Apache-2.0
// Private: figures of a sweep, speedups and their means as text for a terminal.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/analysis/sweep_ratios.hpp"

namespace farfault::cli {

// "1.3 ms", "84 k", "512 byte"; "1.034" for a ratio.
std::string figure_text(double value, std::string const& unit, bool is_ratio);
// "1.31 ms (1.3 ms to 1.33 ms)": the range of runs that differ; "-": empty.
std::string mean_text(analysis::SweepMean const& mean, std::string const& unit, bool is_ratio);

// Limits of the printed tables.
struct RatioLimits {
  std::size_t rows = 0;
  std::size_t ratios = 0;
};

// The speedup and the ratios of other figures: of each, a heading, and a cell for each point of `seeds` rows.
// Empty without a baseline.
std::vector<std::vector<std::string>> ratio_columns(results::SweepTable const& table, std::size_t seeds);
// Prints the first reasons of empty speedups, and the first means.
void print_ratios(results::SweepTable const& table, std::size_t seeds, RatioLimits const& most,
                  std::ostream& out);

}  // namespace farfault::cli
