// SPDX-License-Identifier: Apache-2.0
// Private: ensures that no run destroys a file that it reads, or writes one file in two roles.
#pragma once

#include <string>
#include <vector>

#include "farfault/cli/run_options.hpp"

namespace farfault::cli {

// An input file, and its role in messages: "the configuration", "the input file".
struct ReadFile {
  std::string what;
  std::string path;
};

// The result file of the run: as requested, or named after the configuration.
std::string output_path(RunOptions const& options);

// Throws UserError if an output of the run (the result, checkpoints, and their temporary names) is not a
// valid path for a file, is one of `inputs` or a file that the options name, or has the same path as another
// output. Files are compared by device and inode, so neither links nor spelling matter.
void check_paths(RunOptions const& options, std::vector<ReadFile> const& inputs);

}  // namespace farfault::cli
