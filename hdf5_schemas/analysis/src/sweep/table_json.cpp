// SPDX-License-Identifier: Apache-2.0
// Prints row by row: a table with many runs has millions of values.
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "farfault/analysis/sweep_axes.hpp"
#include "farfault/analysis/sweep_table_json.hpp"

namespace farfault::analysis {
namespace {

using results::SweepColumn;
using TableJson = nlohmann::ordered_json;

std::string text_of(TableJson const& json) {
  return json.dump(-1, ' ', true, TableJson::error_handler_t::replace);
}

TableJson value_of(std::string const& text) {
  return text;
}
TableJson value_of(std::uint64_t number) {
  return number == results::kNoFigure ? TableJson() : TableJson(number);
}
TableJson value_of(double number) {
  return std::isnan(number) ? TableJson() : TableJson(number);
}

void print_columns(std::vector<SweepColumn> const& columns, std::string const& dimension, std::ostream& out) {
  auto described = TableJson::array();
  for (auto const& column : columns)
    described.push_back({{"name", column.name},
                         {"role", column.role},
                         {"units", column.unit},
                         {"long_name", column.text},
                         {"varies_with", column.varies_with}});
  out << "{\"columns\":" << text_of(described) << ",\"rows\":[";
  for (std::size_t row = 0; row < rows_of(columns); ++row) {
    TableJson values{{dimension, row}};
    for (auto const& column : columns)
      std::visit([&](auto const& all) { values[column.name] = value_of(all[row]); }, column.values);
    out << (row == 0 ? "" : ",") << text_of(values);
  }
  out << "]}";
}

}  // namespace

void print_json(results::SweepTable const& table, std::ostream& out) {
  out << "{\"kind\":\"sweep_table\",\"baseline\":" << text_of(table.baseline)
      << ",\"mean_over\":" << text_of(table.mean_over) << ",\"runs\":";
  print_columns(table.runs, "run", out);
  if (!table.spread.empty()) {
    out << ",\"spread\":";
    print_columns(table.spread, "point", out);
  }
  if (!table.means.empty()) {
    out << ",\"means\":";
    print_columns(table.means, "group", out);
  }
  out << "}\n";
}

}  // namespace farfault::analysis
