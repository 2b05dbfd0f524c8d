// SPDX-License-Identifier: Apache-2.0
// Private: which runs a sweep has, in a file of its folder, for those who look at it before there is a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace farfault::cli {

struct ListedRun {
  std::string name;        // of its result; empty for a run that has none, as an input file cannot be read
  std::string text;        // "run 3 (workload.size = 8 MiB)"
  std::string error = {};  // why it has none
};

// Throws RunError where it cannot be written.
void write_run_list(std::string const& folder, std::vector<ListedRun> const& runs);
// Nothing where there is none, or the file is something else.
std::optional<std::vector<ListedRun>> read_run_list(std::string const& folder);

}  // namespace farfault::cli
