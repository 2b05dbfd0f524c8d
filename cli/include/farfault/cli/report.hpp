// SPDX-License-Identifier: Apache-2.0
// `farfault report`: results as one page for a browser, which needs no network and no other file.
//
// The page is written whole under another name and renamed; what is there under its name must be an earlier
// report. Names and texts of a result stand in it as text, never as markup, and its policy lets no script run
// but its own. Call it before any thread is started: files are read in a child process under limits.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace farfault::cli {

// The folder of a sweep stands for the results of its runs, in the order of its table.
void report_results(std::vector<std::string> const& files, std::string const& output, std::ostream& out);

}  // namespace farfault::cli
