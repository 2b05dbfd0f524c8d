// SPDX-License-Identifier: Apache-2.0
// Private: a section of `farfault explain`.
#pragma once

#include <iosfwd>
#include <vector>

#include "farfault/analysis/explain.hpp"

namespace farfault::cli {

// A line per kind of resource: share of its peak, GB/s, peak, and the busiest instance. Prints nothing
// without resources.
void print_throughputs(std::vector<analysis::Throughput> const& all, std::ostream& out);

}  // namespace farfault::cli
