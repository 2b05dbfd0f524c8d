// `farfault explain`: why a run took as long as it did, in some twenty lines. Call it before any thread is
// started: the file is read in a child process under limits.
#pragma once

#include <iosfwd>
#include <string>

namespace farfault::cli {

void explain_result(std::string const& file, bool json, std::ostream& out);

}  // namespace farfault::cli
