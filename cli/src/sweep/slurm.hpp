// SPDX-License-Identifier: Apache-2.0
// Private: a sweep as an array job of Slurm.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "farfault/cli/sweep.hpp"
#include "study.hpp"

namespace farfault::cli {

struct SlurmJob {
  std::uint64_t parts = 1;
  std::string script;     // path of the array job's script, absolute
  std::string collector;  // the script that writes the table when all parts have ended
};

// How so many runs are shared.
SlurmJob slurm_job(Study const& study, std::string const& folder, std::size_t runs);

// The options of sbatch that the study gives, as a line; nothing where there are none.
void print_slurm_options(Study const& study, std::ostream& out);

// Writes both scripts, prints these options, and submits the scripts where there is an sbatch.
void submit(SlurmJob const& job, SweepOptions const& options, Study const& study, std::ostream& out);

}  // namespace farfault::cli
