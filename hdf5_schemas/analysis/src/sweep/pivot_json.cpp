// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "farfault/analysis/sweep_pivot.hpp"

namespace farfault::analysis {
namespace {

using PivotJson = nlohmann::ordered_json;

PivotJson json_of(SweepMean const& mean) {
  if (mean.is_empty()) return {{"value", nullptr}, {"runs", mean.runs}, {"reason", mean.reason}};
  return {{"value", mean.mean}, {"smallest", mean.smallest}, {"largest", mean.largest}, {"runs", mean.runs}};
}

PivotJson json_of(std::vector<SweepMean> const& means) {
  auto all = PivotJson::array();
  for (auto const& mean : means) all.push_back(json_of(mean));
  return all;
}

PivotJson json_of(SweepPivot::Table const& table) {
  auto others = PivotJson::object(), cells = PivotJson::array();
  for (auto const& [key, value] : table.others) others[key] = value;
  for (auto const& row : table.cells) cells.push_back(json_of(row));
  PivotJson json{{"others", std::move(others)}, {"cells", std::move(cells)}};
  if (!table.mean_over.empty()) json["mean_over"] = table.mean_over;
  if (!table.row_of_means.empty()) json["row_of_means"] = json_of(table.row_of_means);
  if (!table.column_of_means.empty()) json["column_of_means"] = json_of(table.column_of_means);
  return json;
}

}  // namespace

std::string to_json(SweepPivot const& pivot) {
  auto tables = PivotJson::array();
  for (auto const& table : pivot.tables) tables.push_back(json_of(table));
  PivotJson const all{{"kind", "pivot"},
                      {"figure", pivot.figure},
                      {"units", pivot.unit},
                      {"long_name", pivot.text},
                      {"baseline", pivot.baseline},
                      {"columns", {{"key", pivot.columns.key}, {"values", pivot.columns.values}}},
                      {"rows", {{"key", pivot.rows.key}, {"values", pivot.rows.values}}},
                      {"tables", std::move(tables)}};
  return all.dump(-1, ' ', true, PivotJson::error_handler_t::replace);
}

}  // namespace farfault::analysis
