// SPDX-License-Identifier: Apache-2.0
#include "swept_results.hpp"

#include <algorithm>
#include <filesystem>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "places.hpp"
#include "run_list.hpp"

namespace farfault::cli {

void check_inside(std::string const& file, std::string const& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto const inside = fs::canonical(folder, error);
  auto const place = error ? fs::path() : fs::weakly_canonical(file, error);
  auto const end = std::mismatch(inside.begin(), inside.end(), place.begin(), place.end()).first;
  if (error || end != inside.end())
    throw UserError("the result '" + one_line(file) + "' is outside the folder of the sweep" +
                    (error ? std::string() : ", at '" + one_line(place.string()) + "'") +
                    "; if you trust that file, name it explicitly");
}

std::vector<std::string> results_of(std::vector<std::string> const& names) {
  std::vector<std::string> files;
  for (auto const& name : names) {
    std::error_code error;
    if (!std::filesystem::is_directory(name, error)) {
      files.push_back(name);
      continue;
    }
    auto const runs = read_run_list(name);
    if (!runs) throw UserError("'" + one_line(name) + "' is not the folder of a sweep");
    auto const before = files.size();
    for (auto const& run : *runs) {
      if (run.name.empty()) continue;
      auto const file = result_path(name, run.name);
      if (!exists(file)) continue;
      check_inside(file, name);
      files.push_back(file);
    }
    if (files.size() == before) throw UserError("the sweep in '" + one_line(name) + "' has no results yet");
  }
  return files;
}

}  // namespace farfault::cli
