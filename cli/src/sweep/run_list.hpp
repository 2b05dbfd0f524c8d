// SPDX-License-Identifier: Apache-2.0
// Private: the list of runs in a sweep's folder, for readers before the table exists.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace farfault::cli {

struct ListedRun {
  std::string name;        // name of its result; empty for a run with an unreadable input file
  std::string text;        // "run 3 (workload.size = 8 MiB)"
  std::string error = {};  // reason for a missing result
};

// Throws RunError if it cannot be written.
void write_run_list(std::string const& folder, std::vector<ListedRun> const& runs);
// Empty if the file is missing or has other content.
std::optional<std::vector<ListedRun>> read_run_list(std::string const& folder);

}  // namespace farfault::cli
