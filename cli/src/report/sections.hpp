// SPDX-License-Identifier: Apache-2.0
// Private: the parts of a page that stand in it without a script: what a run did, and several side by side.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "farfault/results/compare.hpp"

namespace farfault::cli {

// "A", "B", ..., "Z", "AA": what a run is called on a page.
std::string run_letters(std::size_t run);

// A run in full: `data` is what results::report_data says of the file at `path`; `letters` may be empty.
std::string run_section(std::string const& letters, std::size_t number, std::string const& path,
                        nlohmann::ordered_json const& data);

// Pictures and tables of `histograms` and `placement` of that data.
std::string histograms_section(nlohmann::ordered_json const& histograms);
std::string placement_section(nlohmann::ordered_json const& placement);

// Several runs: a row for each, with what was configured differently and the figures that differ most.
std::string comparison_section(results::RunsCompared const& compared);
// The same for drawings: {runs, settings, figures}.
nlohmann::ordered_json comparison_data(results::RunsCompared const& compared);

}  // namespace farfault::cli
