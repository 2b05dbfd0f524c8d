// SPDX-License-Identifier: Apache-2.0
// Private: resources that accesses may have waited for, from the file of a run.
#pragma once

#include <vector>

#include "explain_reading.hpp"
#include "farfault/analysis/explain.hpp"

namespace farfault::analysis {

// Each with the share of access time in its stages. Sets `waited`, not `weight`.
std::vector<Resource> read_resources(ObjectId file, std::map<std::string, std::uint64_t> const& figures);

// The time with no kernel on a GPU, by cause. Empty: unknown.
std::vector<TimePart> read_gaps(ObjectId file, std::uint64_t end, bool completed);

// By name, the longest first; stages only for the first kMaxKernels. Empty if the table of kernels does not
// have the stages.
std::vector<KernelTime> read_kernels(ObjectId file);

}  // namespace farfault::analysis
