// SPDX-License-Identifier: Apache-2.0
// `farfault explain`: why a run took as long as it did, in some twenty lines. Call it before any thread is
// started: the file is read in a child process under limits.
#pragma once

#include <iosfwd>
#include <string>

#include "farfault/results/explain.hpp"

namespace farfault::cli {

// What bounds a run, to follow "bound by ": "page walkers: gpu0.gmmu is busy 93.1 % of the time".
std::string bound_text(results::Explanation const& explanation);
// What had not ended, the first of it: "kernel fir, since 5.4 us; 2 more".
std::string under_way_text(results::Explanation const& explanation);

void explain_result(std::string const& file, bool json, std::ostream& out);

}  // namespace farfault::cli
