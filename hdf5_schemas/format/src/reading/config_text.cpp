// SPDX-License-Identifier: Apache-2.0
#include "config_text.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "farfault/results/reading/walk.hpp"
#include "farfault/results/sweep.hpp"
#include "file/text.hpp"

namespace farfault::results {
namespace {

constexpr std::string_view kName = "name = \"";

std::vector<std::string> file_parameters(ObjectId object) {
  if (!has(object, "/config/inputs/parameter")) return {};
  auto const column = open_dataset(object, "/config/inputs/parameter");
  auto const shape = shape_of_dataset(column);
  if (shape.kind != Kind::text || shape.extents.size() != 1)
    throw Hdf5Failure("/config/inputs/parameter is not a list of names");
  return read_texts(column, shape, 0, shape.rows());
}

std::vector<ConfigLine> lines_of(std::string const& text) {
  std::vector<ConfigLine> lines;
  std::string table;           // with its dot
  std::string array, element;  // the latest array, and its current table by name; with a dot
  for (std::string_view left = text; !left.empty();) {
    auto const line = left.substr(0, std::min(left.find('\n'), left.size() - 1) + 1);
    left.remove_prefix(line.size());
    auto const equals = line.find(" = ");
    if (line.starts_with("[[")) {
      array = std::string(line.substr(2, line.find(']') - 2)) + ".";
      auto const word = left.starts_with(kName) ? left.substr(kName.size()) : std::string_view();
      element = array + std::string(word.substr(0, word.find('"'))) + ".";
      table = element;
    } else if (line.starts_with('[')) {
      table = std::string(line.substr(1, line.find(']') - 1)) + ".";
      if (!array.empty() && table.starts_with(array)) table = element + table.substr(array.size());
    }
    lines.push_back(
        {equals == line.npos ? "" : table + std::string(line.substr(0, equals)), std::string(line)});
  }
  return lines;
}

std::vector<ConfigLine> lines_of_config(ObjectId object) {
  auto const dataset = open_dataset(object, "/config/toml");
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::text || !shape.extents.empty())
    throw Hdf5Failure("/config/toml is not a single text");
  return lines_of(read_texts(dataset, shape, 0, 1).at(0));
}

bool among(std::vector<std::string> const& names, std::string const& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<ConfigLine> config_lines_without_file_names(ObjectId object) {
  auto const files = file_parameters(object);
  auto lines = lines_of_config(object);
  std::erase_if(lines, [&](ConfigLine const& line) { return among(files, line.parameter); });
  return lines;
}

std::string config_without_file_names(ObjectId object) {
  std::string rest;
  for (auto const& line : config_lines_without_file_names(object)) rest += line.text;
  return rest;
}

std::string without_file_names(std::string const& toml, std::vector<std::string> const& file_parameters) {
  std::string rest;
  for (auto const& line : lines_of(well_formed(toml)))
    if (!among(file_parameters, line.parameter)) rest += line.text;
  return rest;
}

std::vector<std::pair<std::string, std::string>> file_names(ObjectId object) {
  auto const files = file_parameters(object);
  std::vector<std::pair<std::string, std::string>> names;
  for (auto const& line : lines_of_config(object))
    if (among(files, line.parameter)) names.emplace_back(line.parameter, line.text);
  return names;
}

}  // namespace farfault::results
