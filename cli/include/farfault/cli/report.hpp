// SPDX-License-Identifier: Apache-2.0
// `farfault report`: results as one HTML page, which needs no network and no other file.
//
// Guarantees: the page is written under a temporary name and renamed; an existing file is replaced only if it
// is a report. Names and texts of a result appear as text, never as markup, and the Content-Security-Policy
// allows only the page's own script. Call it before any thread is started: files are read in a child process
// under limits.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/cli/extensions.hpp"

namespace farfault::cli {

// The folder of a sweep represents the results of its runs, in the order of its table.
void report_results(std::vector<std::string> const& files, std::string const& output,
                    Extensions const& extensions, std::ostream& out);

}  // namespace farfault::cli
