// SPDX-License-Identifier: Apache-2.0
// Private: what accesses can have waited for, as the file of a run tells it.
#pragma once

#include <vector>

#include "explain_reading.hpp"
#include "farfault/results/explain.hpp"

namespace farfault::results {

// Each with what share of the time of accesses was in its stages; `waited` is set, `weight` is not.
std::vector<Resource> read_resources(hid_t file, std::map<std::string, std::uint64_t> const& figures);

// Of the run, the time in which no kernel was on a GPU, by why; none where that is not known.
std::vector<TimePart> read_gaps(hid_t file, std::uint64_t end, bool completed);

// By name, the longest first, the first kMostKernels with their stages; none where the table of kernels does
// not say where the time of accesses went.
std::vector<KernelTime> read_kernels(hid_t file);

}  // namespace farfault::results
