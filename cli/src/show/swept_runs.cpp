// SPDX-License-Identifier: Apache-2.0
#include "show/swept_runs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "farfault/analysis/sweep_pivot.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "sweep/places.hpp"
#include "sweep/swept_results.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

using analysis::cell_text;
using analysis::find_column;
using results::SweepTable;

// "DIR" of "DIR/runs/0123.h5"; empty for another path.
std::string sweep_folder_of(std::string const& file) {
  auto const runs = fs::path(file).parent_path();
  if (runs.filename() != "runs") return {};
  return runs.has_parent_path() ? runs.parent_path().string() : std::string(".");
}

std::optional<SweepTable> table_in(std::string const& folder) {
  auto const path = table_path(folder);
  if (!results::looks_like_sweep(path)) return std::nullopt;
  try {
    check_inside(path, folder);
    auto table = results::read_sweep_table(path, {"end"});
    // Columns of another type belong to a damaged table.
    for (auto const* name : {"state", "result", "result_digest"}) {
      auto const* const column = find_column(table.runs, name);
      if (column == nullptr || !std::holds_alternative<std::vector<std::string>>(column->values))
        return std::nullopt;
    }
    return table;
  } catch (UserError const&) {
    return std::nullopt;
  }
}

std::string fact(SweepTable const& table, char const* column, std::size_t row) {
  return cell_text(*find_column(table.runs, column), row);
}

// "bfs, distributed, entries 64"
std::string point_text(SweepTable const& table, std::size_t row) {
  analysis::SweepValues values;
  for (auto const& column : table.runs)
    if ((column.role == "parameter" && column.varies_with.empty()) || column.name == analysis::kSweepName)
      values.emplace_back(shown(column.name), shown(cell_text(column, row)));
  return analysis::short_text(values);
}

}  // namespace

SweptRuns::SweptRuns(std::vector<std::string> const& files) {
  std::map<std::string, std::optional<std::size_t>> tables;
  std::map<std::pair<std::size_t, std::string>, std::size_t> rows;
  for (auto const& file : files) {
    auto& place = places_.emplace_back();
    auto const folder = sweep_folder_of(file);
    is_swept_.push_back(!folder.empty() && exists(run_list_path(folder)));
    if (!is_swept_.back()) continue;
    auto const [known, is_new] = tables.try_emplace(folder);
    if (is_new) {
      if (auto table = table_in(folder)) {
        known->second = tables_.size();
        for (std::size_t row = 0; row < analysis::rows_of(table->runs); ++row)
          if (auto const result = fact(*table, "result", row); !result.empty())
            rows.try_emplace({tables_.size(), result}, row);
        tables_.push_back(std::move(*table));
      }
    }
    if (!known->second) continue;
    auto const row = rows.find({*known->second, "runs/" + fs::path(file).filename().string()});
    if (row != rows.end()) place = {*known->second, row->second};
  }
}

std::optional<SweptRuns::Row> SweptRuns::row_of(std::size_t file) const {
  auto const& place = places_.at(file);
  if (!place) return std::nullopt;
  return Row{tables_[place->table], place->row};
}

// Runs of one point have one value, and the study does not vary the key elsewhere.
bool SweptRuns::is_implied(analysis::ComparedSetting const& setting,
                           std::vector<std::string> const& points) const {
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < points.size(); ++i) {
    auto const [known, is_new] = values.try_emplace(points[i], setting.values[i]);
    if (!is_new && known->second != setting.values[i]) return false;
  }
  return std::ranges::none_of(tables_, [&](SweepTable const& table) {
    auto const* const column = find_column(table.runs, setting.name);
    return column != nullptr && column->varies_with.empty();
  });
}

void SweptRuns::name(analysis::RunsCompared& compared) const {
  std::vector<std::string> points;
  for (std::size_t i = 0; i < compared.runs.size(); ++i) {
    auto const row = row_of(i);
    if (row) compared.runs[i].name = point_text(row->table, row->row);
    auto const* const name = row ? find_column(row->table.runs, analysis::kSweepName) : nullptr;
    points.push_back(name == nullptr ? "none" : shown(cell_text(*name, row->row)));
  }
  auto const differs = [&](std::string const& point) { return point != points.front(); };
  if (std::ranges::none_of(points, differs)) return;
  if (std::ranges::find(points, "none") == points.end())
    for (auto& setting : compared.settings) setting.is_implied = is_implied(setting, points);
  compared.settings.insert(compared.settings.begin(), {analysis::kSweepName, std::move(points)});
}

bool SweptRuns::is_in_table(std::size_t file, analysis::ComparedRun const& run) const {
  auto const row = row_of(file);
  return row && fact(row->table, "result_digest", row->row) == run.digest;
}

bool SweptRuns::lacks_table(analysis::RunsCompared const& compared) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (is_swept_[i] && !is_in_table(i, compared.runs[i])) return true;
  return false;
}

SweepTable const* SweptRuns::whole_table(analysis::RunsCompared const& compared) const {
  if (tables_.size() != 1) return nullptr;
  auto const& table = tables_.front();
  std::set<std::string> completed, named;
  for (std::size_t row = 0; row < analysis::rows_of(table.runs); ++row)
    if (fact(table, "state", row) == "done") completed.insert(fact(table, "result", row));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!is_in_table(i, compared.runs[i])) return nullptr;
    named.insert(fact(table, "result", places_[i]->row));
  }
  return completed == named ? &table : nullptr;
}

std::optional<SweptRuns::Speedup> SweptRuns::speedup(std::size_t file) const {
  auto const row = row_of(file);
  auto const* const column = row ? find_column(row->table.runs, "speedup") : nullptr;
  auto const* const values = column == nullptr ? nullptr : std::get_if<std::vector<double>>(&column->values);
  if (values == nullptr) return std::nullopt;
  auto const* const reason = find_column(row->table.runs, "speedup_error");
  return Speedup{values->at(row->row), reason == nullptr ? "" : cell_text(*reason, row->row)};
}

}  // namespace farfault::cli
