// SPDX-License-Identifier: Apache-2.0
#include "show/swept_runs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "farfault/analysis/sweep_point_names.hpp"
#include "farfault/analysis/sweep_ratios.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "study/study.hpp"
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

// A varied key, or the name, with its value in each file.
struct SweptRuns::Dimension {
  std::string key;
  std::vector<std::string> values;
};

namespace {

template <class Dimensions>
bool imply(Dimensions const& dimensions, analysis::ComparedSetting const& setting) {
  std::map<std::vector<std::string>, std::string> values;
  for (std::size_t i = 0; i < setting.values.size(); ++i) {
    std::vector<std::string> own;
    for (auto const& dimension : dimensions) own.push_back(dimension.values[i]);
    auto const [known, is_new] = values.try_emplace(std::move(own), setting.values[i]);
    if (!is_new && known->second != setting.values[i]) return false;
  }
  return true;
}

bool is_dimension(results::SweepColumn const& column) {
  return (column.role == "parameter" && column.varies_with.empty()) || column.name == analysis::kSweepName;
}

}  // namespace

// All dimensions of one table. Runs of several sweeps have only their names in common. The seed is the last
// one: no other setting follows from it.
std::vector<SweptRuns::Dimension> SweptRuns::dimensions() const {
  std::vector<Dimension> all;
  bool const all_placed = std::ranges::all_of(places_, [](auto const& place) { return place.has_value(); });
  if (!all_placed || tables_.empty()) return all;
  for (auto const& column : tables_.front().runs) {
    if (!is_dimension(column) || (tables_.size() > 1 && column.name != analysis::kSweepName)) continue;
    Dimension dimension{column.name, {}};
    for (auto const& place : places_) {
      auto const* const own = find_column(tables_[place->table].runs, column.name);
      if (own == nullptr) break;
      dimension.values.push_back(shown(cell_text(*own, place->row)));
    }
    if (dimension.values.size() == places_.size()) all.push_back(std::move(dimension));
  }
  std::stable_partition(all.begin(), all.end(), [](Dimension const& d) { return d.key != analysis::kSweepSeed; });
  return all;
}

// The keys from which a setting follows: one if possible, else the fewest. Empty: none.
std::vector<std::string> SweptRuns::sources_of(analysis::ComparedSetting const& setting,
                                               std::vector<Dimension> const& dimensions) const {
  for (auto const& table : tables_)
    for (auto const& column : table.runs)
      if (is_dimension(column) &&
          (setting.name == column.name || setting.name.starts_with(column.name + ".")))
        return {};
  for (auto const& dimension : dimensions)
    if (imply(std::vector{dimension}, setting)) return {dimension.key};
  auto needed = dimensions;
  if (!imply(needed, setting)) return {};
  for (auto i = needed.size(); i-- > 0;) {
    auto fewer = needed;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (imply(fewer, setting)) needed = std::move(fewer);
  }
  std::vector<std::string> keys;
  for (auto const& dimension : needed) keys.push_back(dimension.key);
  return keys;
}

void SweptRuns::fold(analysis::RunsCompared& compared) const {
  auto const dimensions = this->dimensions();
  std::set<std::string> sources;
  for (auto& setting : compared.settings) {
    auto const keys = sources_of(setting, dimensions);
    setting.is_implied = !keys.empty();
    sources.insert(keys.begin(), keys.end());
  }
  for (auto const& dimension : dimensions)
    if (sources.contains(dimension.key)) compared.implied_by.push_back(dimension.key);
}

void SweptRuns::name(analysis::RunsCompared& compared) const {
  std::vector<std::string> points, bases;
  for (std::size_t i = 0; i < compared.runs.size(); ++i) {
    auto const row = row_of(i);
    if (row) compared.runs[i].name = analysis::SweepPointNames(row->table).of(row->row);
    auto const value = [&](char const* key) {
      auto const* const column = row ? find_column(row->table.runs, key) : nullptr;
      return column == nullptr || !column->varies_with.empty() ? "none" : shown(cell_text(*column, row->row));
    };
    points.push_back(value(analysis::kSweepName));
    bases.push_back(value(kBaseKey));
  }
  fold(compared);
  // No parameters of a run.
  auto const insert = [&](char const* key, std::vector<std::string>& values) {
    if (std::ranges::any_of(values, [&](auto const& value) { return value != values.front(); }))
      compared.settings.insert(compared.settings.begin(), {key, std::move(values)});
  };
  insert(kBaseKey, bases);
  insert(analysis::kSweepName, points);
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

std::vector<std::string> SweptRuns::ratios() const {
  std::vector<std::string> names;
  for (auto const& table : tables_)
    for (auto const& column : table.runs)
      if (column.role == "ratio" && std::ranges::find(names, column.name) == names.end())
        names.push_back(column.name);
  std::ranges::sort(names, {}, [](std::string const& name) {
    return std::pair(name != analysis::kSweepSpeedup, std::string_view(name));
  });
  return names;
}

std::optional<SweptRuns::Ratio> SweptRuns::ratio(std::size_t file, std::string const& name) const {
  auto const row = row_of(file);
  auto const* const column = row ? find_column(row->table.runs, name) : nullptr;
  auto const* const values = column == nullptr ? nullptr : std::get_if<std::vector<double>>(&column->values);
  if (values == nullptr) return std::nullopt;
  auto const* const reason = find_column(row->table.runs, name + "_error");
  return Ratio{values->at(row->row), reason == nullptr ? "" : cell_text(*reason, row->row)};
}

}  // namespace farfault::cli
