// SPDX-License-Identifier: Apache-2.0
// Results as given by a user: files, and folders of sweeps.
#pragma once

#include <string>
#include <vector>

namespace farfault::cli {

// The files; the folder of a sweep represents the existing results of its runs, in the order of its table.
// Throws UserError if a folder is not that of a sweep, or has no results.
std::vector<std::string> results_of(std::vector<std::string> const& names);

// A folder from another person may contain links: throws UserError if `file`, with links resolved, is outside
// the sweep's `folder`.
void check_inside(std::string const& file, std::string const& folder);

}  // namespace farfault::cli
