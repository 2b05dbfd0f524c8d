// SPDX-License-Identifier: Apache-2.0
// Private: no run destroys a file that it reads, or writes one file in two roles.
#pragma once

#include <string>
#include <vector>

#include "farfault/cli/simulation.hpp"

namespace farfault::cli {

// A file that is read, and what it is to the user: "the configuration", "the input file".
struct ReadFile {
  std::string what;
  std::string path;
};

// The result file of the run: as asked for, or named after the configuration.
std::string output_path(RunOptions const& options);

// Throws UserError when what the run writes (the output, checkpoints, and what either is called while it is
// written) is no place for a file, is one of `inputs` or of the files that the options name, or is the same
// file twice. Files are told apart by device and inode, so that neither links nor spelling matter.
void check_paths(RunOptions const& options, std::vector<ReadFile> const& inputs);

}  // namespace farfault::cli
