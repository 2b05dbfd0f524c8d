// SPDX-License-Identifier: Apache-2.0
// Private: the parts of a page that need no script: the sections of a run, and the comparison of several
// runs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "farfault/analysis/compare.hpp"
#include "farfault/results/sweep.hpp"
#include "show/swept_runs.hpp"

namespace farfault::cli {

// "A", "B", ..., "Z", "AA": the name of a run on a page.
std::string run_letters(std::size_t run);

// All sections of a run: `data` is analysis::report_data of the file at `path`; `letters` may be empty.
std::string run_section(std::string const& letters, std::size_t number, std::string const& path,
                        nlohmann::ordered_json const& data);

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
