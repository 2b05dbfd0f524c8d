#include "config_text.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "walk.hpp"

namespace farfault::results {
namespace {

std::vector<std::string> file_parameters(hid_t object) {
  for (auto const* name : {"/config/inputs", "/config/inputs/parameter"})
    if (!has(object, name)) return {};
  Handle const column(H5Dopen2(object, "/config/inputs/parameter", H5P_DEFAULT), "the inputs cannot be read");
  auto const shape = shape_of_dataset(column);
  if (shape.kind != Kind::text || shape.extents.size() != 1)
    throw Hdf5Failure("/config/inputs/parameter is no list of names");
  return read_texts(column, shape, 0, shape.rows());
}

}  // namespace

std::string config_without_file_names(hid_t object) {
  Handle const dataset(H5Dopen2(object, "/config/toml", H5P_DEFAULT), "/config/toml is missing");
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::text || !shape.extents.empty()) throw Hdf5Failure("/config/toml is not one text");
  auto const files = file_parameters(object);
  auto const text = read_texts(dataset, shape, 0, 1).at(0);
  std::string rest, table;
  for (std::string_view left = text; !left.empty();) {
    auto const line = left.substr(0, std::min(left.find('\n'), left.size() - 1) + 1);
    left.remove_prefix(line.size());
    if (line.starts_with('[')) table = std::string(line.substr(1, line.find(']') - 1)) + ".";
    auto const key = table + std::string(line.substr(0, line.find(" = ")));
    if (std::find(files.begin(), files.end(), key) == files.end()) rest += line;
  }
  return rest;
}

}  // namespace farfault::results
