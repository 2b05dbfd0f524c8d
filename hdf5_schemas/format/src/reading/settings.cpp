// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/reading/settings.hpp"

#include <map>
#include <utility>

#include "config_text.hpp"
#include "farfault/results/reading/walk.hpp"

namespace farfault::results {
namespace {

using Settings = std::map<std::string, std::string>;  // "gpu.l2_tlb.entries" -> "512"

std::vector<std::string> input_texts(ObjectId file, char const* path) {
  auto const column = open_dataset(file, path);
  auto const shape = shape_of_dataset(column);
  if (shape.kind != Kind::text || shape.extents.size() != 1)
    throw Hdf5Failure("/config/inputs is not a list of files");
  return read_texts(column, shape, 0, shape.rows());
}

// The content of each input file, by the parameter that names it.
Settings inputs_of(ObjectId file) {
  auto const parameters = input_texts(file, "/config/inputs/parameter"),
             hashes = input_texts(file, "/config/inputs/hash");
  if (parameters.size() != hashes.size()) throw Hdf5Failure("the columns of /config/inputs do not match");
  Settings settings;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto& hash = settings["the file of " + parameters[i]];
    hash += (hash.empty() ? "" : " ") + hashes[i];
  }
  return settings;
}

void compare(Settings const& a, Settings const& b, std::vector<SettingDifference>& found) {
  auto const value = [](Settings const& settings, std::string const& name) {
    auto const at = settings.find(name);
    return at == settings.end() ? std::string("none") : at->second;
  };
  Settings names = a;
  names.insert(b.begin(), b.end());
  for (auto const& [name, unused] : names)
    if (value(a, name) != value(b, name)) found.push_back({name, value(a, name), value(b, name)});
}

}  // namespace

std::map<std::string, std::string> settings_of(ObjectId file) {
  Settings settings;
  for (auto const& line : config_lines_without_file_names(file)) {
    if (line.parameter.empty()) continue;
    auto value = line.text.substr(line.text.find(" = ") + 3);
    if (value.ends_with('\n')) value.pop_back();
    settings[line.parameter] = std::move(value);
  }
  return settings;
}

std::vector<SettingDifference> setting_differences(ObjectId a, ObjectId b) {
  std::vector<SettingDifference> found;
  compare(settings_of(a), settings_of(b), found);
  compare(inputs_of(a), inputs_of(b), found);
  return found;
}

}  // namespace farfault::results
