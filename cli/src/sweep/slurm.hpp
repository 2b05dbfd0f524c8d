// SPDX-License-Identifier: Apache-2.0
// Private: a sweep as an array job of Slurm.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "farfault/cli/sweep.hpp"
#include "study/study.hpp"

namespace farfault::cli {

struct SlurmJob {
  std::uint64_t parts = 1;
  std::string script;     // path of the array job's script, absolute
  std::string collector;  // the script that writes the table after all parts have ended
};

// Divides the runs into parts.
SlurmJob slurm_job(Study const& study, std::string const& folder, std::size_t runs);

// Prints the study's sbatch options in one line; nothing if there are none.
void print_slurm_options(Study const& study, std::ostream& out);

// Writes both scripts, prints the options, and submits the scripts if sbatch is available.
void submit(SlurmJob const& job, SweepOptions const& options, Study const& study, std::ostream& out);

}  // namespace farfault::cli
