// SPDX-License-Identifier: Apache-2.0
// Private: the options of sbatch that a study may set.
//
// A study may come from another person, and its options enter the batch script of the user who runs it.
// Guarantees: an accepted option is one word, which sbatch parses as one option in any context, and is on a
// list of options that request resources or describe the job. No accepted option changes the program, the
// user, the folder or the environment of a job, or names a file.
#pragma once

#include <string>

namespace farfault::cli {

// The reason why `option`, a word of sweep.slurm.options, is not accepted, as the end of "'--wrap=x' ...";
// empty if it is accepted.
std::string why_no_slurm_option(std::string const& option);

}  // namespace farfault::cli
