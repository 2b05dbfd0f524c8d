// SPDX-License-Identifier: Apache-2.0
#include "ratio_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "farfault/analysis/sweep_pivot.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "process/text_lines.hpp"

namespace farfault::cli {
namespace {

using analysis::cell_text;
using analysis::find_column;
using results::SweepColumn;

double value_in_row(std::vector<SweepColumn> const& columns, std::string const& name, std::size_t row) {
  auto const* const column = find_column(columns, name);
  auto const* const values = column == nullptr ? nullptr : std::get_if<std::vector<double>>(&column->values);
  return values == nullptr ? std::nan("") : values->at(row);
}

// The mean, its range and its reason in a row; `mean`: column of the mean.
analysis::SweepMean speedup_in(std::vector<SweepColumn> const& columns, std::string const& mean,
                               std::size_t row) {
  analysis::SweepMean all;
  all.mean = value_in_row(columns, mean, row);
  all.smallest = value_in_row(columns, "speedup_smallest", row);
  all.largest = value_in_row(columns, "speedup_largest", row);
  all.runs = std::isnan(all.smallest) ? 1 : 2;
  auto const* const reason = find_column(columns, "speedup_error");
  if (reason != nullptr) all.reason = cell_text(*reason, row);
  return all;
}

// The row in words: "bfs, distributed".
std::string row_text(std::vector<SweepColumn> const& columns, std::size_t row, bool with_seed) {
  analysis::SweepValues values;
  for (auto const& column : columns) {
    bool const is_dimension = column.name == analysis::kSweepName || column.role == "parameter";
    if (!is_dimension || !column.varies_with.empty()) continue;
    if (with_seed || column.name != analysis::kSweepSeed)
      values.emplace_back(shown(column.name), shown(cell_text(column, row)));
  }
  return analysis::short_text(values);
}

void print_reasons(std::vector<SweepColumn> const& columns, std::size_t seeds, std::ostream& out) {
  constexpr std::size_t kMost = 10;
  auto const* const reasons = find_column(columns, "speedup_error");
  std::size_t number = 0;
  for (std::size_t row = 0; reasons != nullptr && row < analysis::rows_of(columns); ++row) {
    auto const reason = cell_text(*reasons, row);
    if (reason.empty() || ++number > kMost) continue;
    out << "  no speedup: " << row_text(columns, row, seeds == 1) << ": " << one_line(reason) << "\n";
  }
  if (number > kMost) out << "  ... and " << number - kMost << " more without speedup\n";
}

void print_means(results::SweepTable const& table, std::size_t most, std::ostream& out) {
  auto const rows = analysis::rows_of(table.means);
  if (rows == 0) return;
  out << "  geometric mean over " << shown(table.mean_over) << "\n";
  TextLines lines;
  auto const is_key = [](SweepColumn const& c) {
    return c.name == analysis::kSweepName || c.role == "parameter";
  };
  std::vector<std::string> heading;
  for (auto const& column : table.means)
    if (is_key(column)) heading.push_back(shown(column.name));
  heading.emplace_back("speedup");
  lines.add(std::move(heading));
  for (std::size_t row = 0; row < std::min(rows, most); ++row) {
    std::vector<std::string> cells;
    for (auto const& column : table.means)
      if (is_key(column)) cells.push_back(shown(cell_text(column, row)));
    auto const mean = speedup_in(table.means, "speedup", row);
    cells.push_back(mean_text(mean, "1", true));
    if (mean.is_empty()) cells.push_back(one_line(mean.reason));
    lines.add(std::move(cells));
  }
  lines.print(out);
  if (rows > most) out << "  ... and " << rows - most << " more\n";
}

}  // namespace

std::string figure_text(double value, std::string const& unit, bool is_ratio) {
  constexpr double kLongest = 9e18, kPrecise = 1000;
  if (is_ratio) return value < kPrecise ? fmt::format("{:.3f}", value) : for_people(value);
  if (unit == "ps") return for_people(Duration{static_cast<std::int64_t>(std::min(value, kLongest))});
  return for_people(value) + (unit == "1" || unit == "cycle" || unit.empty() ? "" : " " + shown(unit));
}

std::string mean_text(analysis::SweepMean const& mean, std::string const& unit, bool is_ratio) {
  if (mean.is_empty() || std::isnan(mean.mean)) return "-";
  auto const text = figure_text(mean.mean, unit, is_ratio);
  if (mean.runs < 2 || !(mean.smallest < mean.largest)) return text;
  return fmt::format("{} ({} to {})", text, figure_text(mean.smallest, unit, is_ratio),
                     figure_text(mean.largest, unit, is_ratio));
}

std::vector<std::string> speedup_column(results::SweepTable const& table, std::size_t seeds) {
  auto const& columns = seeds == 1 ? table.runs : table.spread;
  std::vector<std::string> cells{seeds == 1 ? "speedup" : "speedup, mean (min to max)"};
  for (std::size_t row = 0; row < analysis::rows_of(columns); ++row)
    cells.push_back(mean_text(speedup_in(columns, seeds == 1 ? "speedup" : "speedup_mean", row), "1", true));
  return cells;
}

void print_ratios(results::SweepTable const& table, std::size_t seeds, std::size_t most, std::ostream& out) {
  out << "  speedup   vs. " << one_line(table.baseline) << "\n";
  print_reasons(seeds == 1 ? table.runs : table.spread, seeds, out);
  print_means(table, most, out);
}

}  // namespace farfault::cli
