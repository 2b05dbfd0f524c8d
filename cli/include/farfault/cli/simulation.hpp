// SPDX-License-Identifier: Apache-2.0
// `farfault run`: from a configuration to a result file.
//
// - The result depends on the configuration, its input files and the seed, never on threads, ranks or
//   partitions.
// - An existing output is replaced only by a complete one; no input file of the run is overwritten.
// - All ranks call run() alike. Rank 0 writes the result, `out` and `err`; progress is written to standard
// error.
// - Returns the exit code on rank 0; the other ranks return 0. UserError and RunError are thrown on one rank
//   only, so that there is one message.
#pragma once

#include <iosfwd>

#include "farfault/cli/run_options.hpp"

namespace farfault::cli {

int run(RunOptions const& options, std::ostream& out, std::ostream& err);

}  // namespace farfault::cli
