// SPDX-License-Identifier: Apache-2.0
// `farfault explain A B`: why B takes more or less time than A, the most important cause first. Call it
// before any thread is started: the files are read in a child process under limits.
#pragma once

#include <iosfwd>
#include <string>

namespace farfault::cli {

void explain_results(std::string const& a, std::string const& b, bool json, std::ostream& out);

}  // namespace farfault::cli
