// SPDX-License-Identifier: Apache-2.0
#include "pivot_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "farfault/engine/error.hpp"
#include "process/counted.hpp"
#include "process/text_lines.hpp"
#include "ratio_text.hpp"

namespace farfault::cli {
namespace {

using analysis::SweepMean;
using analysis::SweepPivot;

constexpr std::size_t kMostRows = 40, kMostColumns = 20, kMostTables = 20, kMostReasons = 10;
constexpr char const* kMean = "geometric mean";

bool has_run(SweepMean const& mean) {
  return mean.runs != 0;
}

// One table, with the reasons of its empty cells.
class PivotLines {
 public:
  explicit PivotLines(SweepPivot const& pivot) : pivot_(pivot) {}

  void print(SweepPivot::Table const& table, std::ostream& out) {
    choose(table);
    std::vector<std::string> heading{shown(pivot_.rows.key)};
    for (auto const column : columns_) heading.push_back(shown_value(pivot_.columns.values[column]));
    if (!table.column_of_means.empty()) heading.emplace_back(kMean);
    TextLines lines;
    lines.add(std::move(heading));
    for (auto const row : rows_) {
      std::vector<std::string> cells{shown_value(pivot_.rows.values[row])};
      for (auto const column : columns_) cells.push_back(cell(table.cells[row][column]));
      if (!table.column_of_means.empty()) cells.push_back(cell(table.column_of_means[row]));
      lines.add(std::move(cells));
    }
    if (!table.row_of_means.empty()) {
      std::vector<std::string> cells{kMean};
      for (auto const column : columns_) cells.push_back(cell(table.row_of_means[column]));
      lines.add(std::move(cells));
    }
    lines.print(out);
    if (more_rows_ != 0) out << "  ... and " << counted(more_rows_, "more row") << " (--json: all)\n";
    if (more_columns_ != 0)
      out << "  ... and " << counted(more_columns_, "more column") << " (--json: all)\n";
    for (std::size_t i = 0; i < std::min(reasons_.size(), kMostReasons); ++i)
      out << "  -: " << reasons_[i] << "\n";
    if (reasons_.size() > kMostReasons)
      out << "  ... and " << counted(reasons_.size() - kMostReasons, "more reason") << " (--json: all)\n";
  }

 private:
  static std::string shown_value(std::string const& value) { return value.empty() ? "none" : shown(value); }

  // The rows and columns that have a run.
  void choose(SweepPivot::Table const& table) {
    for (std::size_t row = 0; row < table.cells.size(); ++row)
      if (std::ranges::any_of(table.cells[row], has_run)) rows_.push_back(row);
    for (std::size_t column = 0; column < pivot_.columns.values.size(); ++column)
      if (std::ranges::any_of(table.cells, [&](auto const& row) { return has_run(row[column]); }))
        columns_.push_back(column);
    more_rows_ = rows_.size() - std::min(rows_.size(), kMostRows);
    more_columns_ = columns_.size() - std::min(columns_.size(), kMostColumns);
    rows_.resize(rows_.size() - more_rows_);
    columns_.resize(columns_.size() - more_columns_);
  }

  std::string cell(SweepMean const& mean) {
    if (!has_run(mean)) return "no run";
    if (mean.is_empty()) {
      auto reason = one_line(mean.reason);
      if (std::ranges::find(reasons_, reason) == reasons_.end()) reasons_.push_back(std::move(reason));
    }
    return mean_text(mean, pivot_.unit, pivot_.is_ratio);
  }

  SweepPivot const& pivot_;
  std::vector<std::size_t> rows_, columns_;
  std::size_t more_rows_ = 0, more_columns_ = 0;
  std::vector<std::string> reasons_;
};

// "geometric mean over name, memory.placement = cpu"
std::string title_of(SweepPivot::Table const& table) {
  auto title =
      table.mean_over.empty() ? std::string() : std::string(kMean) + " over " + shown(table.mean_over);
  for (auto const& [key, value] : table.others)
    if (!value.empty()) title += (title.empty() ? "" : ", ") + shown(key) + " = " + shown(value);
  return title;
}

}  // namespace

void print_pivot(SweepPivot const& pivot, std::ostream& out) {
  out << "  " << shown(pivot.figure);
  if (pivot.is_ratio)
    out << " vs. " << one_line(pivot.baseline);
  else if (!pivot.text.empty())
    out << ": " << one_line(pivot.text);
  out << "; columns: " << shown(pivot.columns.key) << "\n";
  for (std::size_t i = 0; i < std::min(pivot.tables.size(), kMostTables); ++i) {
    if (auto const title = title_of(pivot.tables[i]); !title.empty()) out << "  " << title << "\n";
    PivotLines(pivot).print(pivot.tables[i], out);
  }
  if (pivot.tables.size() > kMostTables)
    out << "  ... and " << counted(pivot.tables.size() - kMostTables, "more table") << " (--json: all)\n";
}

}  // namespace farfault::cli
