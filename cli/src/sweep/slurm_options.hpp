// SPDX-License-Identifier: Apache-2.0
// Private: which options of sbatch a study may give.
//
// A study may come from others, and its options go into the batch script of whoever runs it. Guarantees: an
// accepted option is one word, which sbatch takes for one option whatever stands around it; it is none that
// the sweep sets itself, none that says which program runs, where, with what environment, and none that
// reads or writes a file.
#pragma once

#include <string>

namespace farfault::cli {

// Why `option`, a word of sweep.slurm.options, is not accepted, as the end of "'--wrap=x' ..."; empty: it is.
std::string why_no_slurm_option(std::string const& option);

}  // namespace farfault::cli
