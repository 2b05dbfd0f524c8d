// SPDX-License-Identifier: Apache-2.0
// Figures of a sweep relative to a baseline: each run is divided by its partner, the run that differs from it
// only in the keys of the baseline.
//
// - An empty value has a reason. If one of the runs of a mean has no value, the mean is empty, with that
// reason.
// - Means of ratios are geometric, other means are arithmetic.
// - Everything is a function of the table.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/analysis/sweep_axes.hpp"
#include "farfault/results/sweep.hpp"

namespace farfault::analysis {

struct SweepBaseline {
  std::vector<std::pair<std::string, std::string>> values;  // of keys; of kSweepName: a point of the list
  std::string mean_over;                                    // dimension of the mean ratios; empty: none
  std::vector<std::string> figures = {};                    // with a ratio in the table, besides the speedup
};

inline constexpr std::string_view kSweepSpeedup = "speedup";
std::string sweep_ratio_name(std::string const& figure);  // "iommu_walks_ratio"

// The partner of each run, which may be the run itself.
std::vector<std::optional<std::size_t>> sweep_partners(results::SweepTable const& table,
                                                       SweepBaseline const& baseline);

// Adds `baseline` and the ratios with their reasons to the runs, the ratios to the spread, and their means
// (docs/reference/sweep-table.md). `seeds`: runs per point. Throws UserError for an unknown figure.
void add_ratios(results::SweepTable& table, SweepBaseline const& baseline, std::size_t seeds);

struct SweepFigure {
  std::string name, unit, text;
  bool is_ratio = false;
  std::vector<double> values;        // by run; NaN: empty
  std::vector<std::string> reasons;  // by run; why the value is empty
};

// A figure, or a ratio to the baseline: "speedup" (end of the partner / end of the run), "<figure>_ratio"
// (figure of the run / that of its partner). A ratio is empty if one of its parts is 0. Throws UserError for
// another name.
SweepFigure sweep_figure(results::SweepTable const& table, std::string const& name);
// "speedup", or "end" without a baseline.
std::string main_figure(results::SweepTable const& table);

struct SweepMean {
  double mean = std::numeric_limits<double>::quiet_NaN();  // empty: NaN, as the other two
  double smallest = std::numeric_limits<double>::quiet_NaN();
  double largest = std::numeric_limits<double>::quiet_NaN();
  std::size_t runs = 0;
  std::string reason;  // why it is empty
  bool is_empty() const { return !reason.empty(); }
};

// The mean of these runs. No runs: empty.
SweepMean sweep_mean(SweepFigure const& figure, std::span<std::size_t const> runs);
// The mean over a dimension for each seed, and then over the seeds, with its range over the seeds. Empty
// if the runs lack a value of the dimension.
SweepMean sweep_mean_over(SweepAxis const& dimension, std::optional<SweepAxis> const& seed,
                          SweepFigure const& figure, std::span<std::size_t const> runs);

}  // namespace farfault::analysis
