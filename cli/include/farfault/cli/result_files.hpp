// SPDX-License-Identifier: Apache-2.0
// What can be asked of the files of finished runs: `farfault diff` and `farfault validate`. Call these before
// any thread is started: files are read in a child process under limits.
#pragma once

#include <iosfwd>
#include <string>

namespace farfault::cli {

// Says where the results differ first, or that they are equal, and in which parameters the configurations
// differ; returns whether the results are equal. /engine and the command line take no part, as in the digest.
bool diff_results(std::string const& a, std::string const& b, std::ostream& out);

// Says that the file is a whole result that follows its schema; throws UserError with what is wrong first.
void validate_result(std::string const& file, std::ostream& out);

}  // namespace farfault::cli
