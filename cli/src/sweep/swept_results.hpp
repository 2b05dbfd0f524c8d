// SPDX-License-Identifier: Apache-2.0
// Results as a user names them: files, and folders of sweeps.
#pragma once

#include <string>
#include <vector>

namespace farfault::cli {

// The files; a folder of a sweep stands for the results of its runs that are there, in the order of its
// table. Throws UserError where a folder is none of a sweep, or has no results.
std::vector<std::string> results_of(std::vector<std::string> const& names);

// A folder from another person may contain links: throws UserError if `file`, links resolved, is outside of
// the sweep's `folder`.
void check_inside(std::string const& file, std::string const& folder);

}  // namespace farfault::cli
