// SPDX-License-Identifier: Apache-2.0
// Operations on results of finished runs: `farfault diff` and `farfault validate`. Call these before any
// thread is started: files are read in a child process under limits.
#pragma once

#include <iosfwd>
#include <string>

namespace farfault::cli {

// Prints the first difference of the results, or that they are equal, and the parameters in which the
// configurations differ; returns true if the results are equal. Like the digest, it ignores /engine and the
// command line.
bool diff_results(std::string const& a, std::string const& b, bool json, std::ostream& out);

// Prints that the file is a complete result that follows its schema; throws UserError with the first
// violation. As JSON, it prints all violations before.
void validate_result(std::string const& file, bool json, std::ostream& out);

}  // namespace farfault::cli
