// SPDX-License-Identifier: Apache-2.0
#include "farfault/analysis/sweep_point_names.hpp"
#include "farfault/engine/error.hpp"

namespace farfault::analysis {
namespace {

std::string last_part(std::string const& key) {
  return key.substr(key.rfind('.') + 1);
}

}  // namespace

std::string short_text(SweepValues const& values) {
  std::string text;
  for (auto const& [key, value] : values) {
    if (value.empty()) continue;
    bool const is_size = value.find_first_of("0123456789.-") == 0;
    text += (text.empty() ? "" : ", ") + (is_size ? last_part(key) + " " + value : value);
  }
  return text;
}

SweepPointNames::SweepPointNames(results::SweepTable const& table, Seed seed)
    : SweepPointNames(table.runs, seed) {}

SweepPointNames::SweepPointNames(std::vector<results::SweepColumn> const& columns, Seed seed) {
  for (auto const& column : columns) {
    bool const is_dimension = column.name == kSweepName || column.role == "parameter";
    if (!is_dimension || !column.varies_with.empty()) continue;
    if (seed == Seed::shown || column.name != kSweepSeed) dimensions_.push_back(&column);
  }
}

std::string SweepPointNames::of(std::size_t row) const {
  SweepValues values;
  for (auto const* column : dimensions_)
    values.emplace_back(shown(column->name), shown(cell_text(*column, row)));
  return short_text(values);
}

std::string SweepPointNames::of_run(std::size_t run) const {
  auto const point = of(run);
  return "run " + std::to_string(run) + (point.empty() ? "" : " (" + point + ")");
}

}  // namespace farfault::analysis
