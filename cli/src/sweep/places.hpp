// SPDX-License-Identifier: Apache-2.0
// Private: file names of a sweep.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/cli/sweep.hpp"
#include "study/study.hpp"

namespace farfault::cli {

std::string folder_of_sweep(SweepOptions const& options, Study const& study);
std::string result_name(std::string const& name);  // in that folder
std::string result_path(std::string const& folder, std::string const& name);
// Standard error of a run: the log during the run, and the file of a failed run.
std::string log_path(std::string const& folder, std::string const& name);
std::string failure_path(std::string const& folder, std::string const& name);
inline constexpr std::string_view kCheckpointEnding = ".checkpoint";
std::string checkpoint_path(std::string const& folder, std::string const& name);
// The names of runs that have a file with one of these endings.
std::set<std::string> runs_with(std::string const& folder, std::vector<std::string> const& endings);
// The sentence of a line that the program prints, at most 1,000 bytes; empty for any other line.
std::string sentence_in(std::string const& line);
// The last sentence of a run in its log; empty if there is none.
std::string failure_in(std::string const& log);
std::string table_path(std::string const& folder);      // sweep.h5
std::string csv_path(std::string const& folder);        // sweep.csv
std::string spread_path(std::string const& folder);     // sweep_spread.csv
std::string means_path(std::string const& folder);      // sweep_means.csv
std::string run_list_path(std::string const& folder);   // sweep.runs
std::string checked_path(std::string const& folder);    // sweep.checked
std::string lock_path(std::string const& folder);       // sweep.lock
std::string script_path(std::string const& folder);     // sweep.sbatch
std::string collector_path(std::string const& folder);  // collect.sbatch

// First lines of a sweep's text files; any other file with that name is kept.
inline constexpr std::string_view kRunListHead =
    "# runs of a sweep of farfault: name of the result, what varies";
inline constexpr std::string_view kCheckedHead =
    "# results of a sweep of farfault whose digests were right: name, inode, size, times in ns";
inline constexpr std::string_view kScriptHead = "#!/bin/bash\n# Written by farfault sweep.\n";

// Throws UserError if the folder cannot be created, or if the sweep would replace a file that no sweep wrote.
void check_folder(std::string const& folder);
void make_folder(std::string const& folder);
// Writes a file atomically, under a temporary name first. Throws RunError.
void write_whole(std::string const& path, std::string const& text);

}  // namespace farfault::cli
