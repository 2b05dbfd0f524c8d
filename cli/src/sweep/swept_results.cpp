// SPDX-License-Identifier: Apache-2.0
#include "swept_results.hpp"

#include <filesystem>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "places.hpp"
#include "run_list.hpp"

namespace farfault::cli {

std::vector<std::string> results_of(std::vector<std::string> const& names) {
  std::vector<std::string> files;
  for (auto const& name : names) {
    std::error_code error;
    if (!std::filesystem::is_directory(name, error)) {
      files.push_back(name);
      continue;
    }
    auto const runs = read_run_list(name);
    if (!runs) throw UserError("'" + one_line(name) + "' is a folder, and none of a sweep");
    auto const before = files.size();
    for (auto const& run : *runs)
      if (auto const file = result_path(name, run.name); is_there(file)) files.push_back(file);
    if (files.size() == before) throw UserError("the sweep in '" + one_line(name) + "' has no results yet");
  }
  return files;
}

}  // namespace farfault::cli
