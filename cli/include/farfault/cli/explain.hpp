// SPDX-License-Identifier: Apache-2.0
// `farfault explain`: breaks down the time of a run in about twenty lines. Call it before any thread is
// started: the file is read in a child process under limits.
#pragma once

#include <iosfwd>
#include <string>

#include "farfault/analysis/explain.hpp"

namespace farfault::cli {

// The bottleneck of a run, to follow "Bottleneck: ": "page walkers: gpu0.gmmu is busy 93.1% of the time".
std::string bound_text(analysis::Explanation const& explanation);
// The first unfinished item, and the number of others: "kernel fir, since 5.4 us; 2 more".
std::string outstanding_text(analysis::Explanation const& explanation);

void explain_result(std::string const& file, bool json, std::ostream& out);

}  // namespace farfault::cli
