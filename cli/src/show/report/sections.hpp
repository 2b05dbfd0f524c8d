// SPDX-License-Identifier: Apache-2.0
// Private: the parts of a page that need no script: the sections of a run, and the comparison of several
// runs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "farfault/analysis/compare.hpp"
#include "farfault/results/sweep.hpp"
#include "preset_differences.hpp"
#include "show/swept_runs.hpp"

namespace farfault::cli {

// "A", "B", ..., "Z", "AA": the name of a run on a page.
std::string run_letters(std::size_t run);

struct RunOnPage {
  std::string letters;  // empty on a page of one run
  std::size_t number = 0;
  std::string path;
};

// The bottleneck of a run, and its other sections, folded: `data` is analysis::report_data of its file.
std::string run_section(RunOnPage const& run, nlohmann::ordered_json const& data,
                        std::optional<PresetMatch> const& preset);

// Stacks, kernels and links of two runs side by side, with their differences. `a`, `b`: their report_data.
struct PairedPage {
  std::string a_path, b_path;
  nlohmann::ordered_json const& a;
  nlohmann::ordered_json const& b;
};
struct PairedSection {
  std::string html;
  nlohmann::ordered_json drawn;  // for drawings: {stages, sms}, each [{what, a, b}] in ps
};
PairedSection pair_section(PairedPage const& pair);

// Pictures and tables of `histograms` and `placement` of the same data.
std::string histograms_section(nlohmann::ordered_json const& histograms);
std::string placement_section(nlohmann::ordered_json const& placement);

// The picture of a sweep, its values and its mean speedups; empty if nothing varies.
std::string sweep_section(results::SweepTable const& sweep);

// Several runs: a row for each, with the differences in configuration, the figures that differ most, and the
// speedups of a sweep.
std::string comparison_section(analysis::RunsCompared const& compared, SweptRuns const& swept);
// The same for drawings: {runs, settings, figures}.
nlohmann::ordered_json comparison_data(analysis::RunsCompared const& compared);

}  // namespace farfault::cli
