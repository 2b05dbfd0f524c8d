// SPDX-License-Identifier: Apache-2.0
#include "ratio_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "farfault/analysis/sweep_point_names.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "process/counted.hpp"
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

// The mean of a ratio, its range and its reason in a row; `mean`: column of the mean.
analysis::SweepMean mean_in(std::vector<SweepColumn> const& columns, std::string const& ratio,
                            std::string const& mean, std::size_t row) {
  analysis::SweepMean all;
  all.mean = value_in_row(columns, mean, row);
  all.smallest = value_in_row(columns, ratio + "_smallest", row);
  all.largest = value_in_row(columns, ratio + "_largest", row);
  all.runs = std::isnan(all.smallest) ? 1 : 2;
  auto const* const reason = find_column(columns, ratio + "_error");
  if (reason != nullptr) all.reason = cell_text(*reason, row);
  return all;
}

// "speedup", and the ratios of other figures in their order.
std::vector<std::string> ratios_in(results::SweepTable const& table) {
  std::vector<std::string> names;
  for (auto const& column : table.runs)
    if (column.role == "ratio") names.push_back(column.name);
  return names;
}

void print_reasons(std::vector<SweepColumn> const& columns, std::size_t seeds, std::ostream& out) {
  constexpr std::size_t kMost = 10;
  auto const* const reasons = find_column(columns, "speedup_error");
  using Names = analysis::SweepPointNames;
  Names const names(columns, seeds == 1 ? Names::Seed::shown : Names::Seed::omitted);
  std::size_t number = 0;
  for (std::size_t row = 0; reasons != nullptr && row < analysis::rows_of(columns); ++row) {
    auto const reason = cell_text(*reasons, row);
    if (reason.empty() || ++number > kMost) continue;
    out << "  no speedup: " << names.of(row) << ": " << one_line(reason) << "\n";
  }
  if (number > kMost) out << "  ... and " << number - kMost << " more without speedup\n";
}

void print_means(results::SweepTable const& table, RatioLimits const& most, std::ostream& out) {
  auto const rows = analysis::rows_of(table.means);
  if (rows == 0) return;
  out << "  geometric mean over " << shown(table.mean_over) << "\n";
  TextLines lines;
  auto const is_key = [](SweepColumn const& c) {
    return c.name == analysis::kSweepName || c.role == "parameter";
  };
  auto ratios = ratios_in(table);
  ratios.resize(std::min(ratios.size(), most.ratios));
  std::vector<std::string> heading;
  for (auto const& column : table.means)
    if (is_key(column)) heading.push_back(shown(column.name));
  for (auto const& ratio : ratios) heading.push_back(shown(ratio));
  lines.add(std::move(heading));
  for (std::size_t row = 0; row < std::min(rows, most.rows); ++row) {
    std::vector<std::string> cells;
    for (auto const& column : table.means)
      if (is_key(column)) cells.push_back(shown(cell_text(column, row)));
    for (auto const& ratio : ratios)
      cells.push_back(mean_text(mean_in(table.means, ratio, ratio, row), "1", true));
    auto const reason = mean_in(table.means, "speedup", "speedup", row).reason;
    if (!reason.empty()) cells.push_back(one_line(reason));
    lines.add(std::move(cells));
  }
  lines.print(out);
  if (rows > most.rows) out << "  ... and " << rows - most.rows << " more\n";
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

std::vector<std::vector<std::string>> ratio_columns(results::SweepTable const& table, std::size_t seeds) {
  auto const& columns = seeds == 1 ? table.runs : table.spread;
  std::vector<std::vector<std::string>> all;
  for (auto const& ratio : ratios_in(table)) {
    auto& cells = all.emplace_back();
    cells.push_back(shown(ratio) + (seeds != 1 && all.size() == 1 ? ", mean (min to max)" : ""));
    auto const mean = ratio + (seeds == 1 ? "" : "_mean");
    for (std::size_t row = 0; row < analysis::rows_of(columns); ++row)
      cells.push_back(mean_text(mean_in(columns, ratio, mean, row), "1", true));
  }
  return all;
}

void print_ratios(results::SweepTable const& table, std::size_t seeds, RatioLimits const& most,
                  std::ostream& out) {
  auto const ratios = ratios_in(table).size();
  if (ratios > most.ratios)
    out << "  ... and " << counted(ratios - most.ratios, "more ratio") << " in sweep.csv\n";
  out << (ratios == 1 ? "  speedup   vs. " : "  ratios    vs. ") << one_line(table.baseline) << "\n";
  print_reasons(seeds == 1 ? table.runs : table.spread, seeds, out);
  print_means(table, most, out);
}

}  // namespace farfault::cli
