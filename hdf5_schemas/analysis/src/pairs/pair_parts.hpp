// SPDX-License-Identifier: Apache-2.0
// Private: the exact parts of the change of the end, and the causes that are measured.
#pragma once

#include <vector>

#include "common_kernels.hpp"
#include "farfault/analysis/explain_pair.hpp"
#include "run_figures.hpp"
#include "spread.hpp"

namespace farfault::analysis {

// Kernels by name, and gaps by place and activity; the largest change first. They add up to the change.
std::vector<PartChange> parts_of(RunFigures const& a, RunFigures const& b,
                                 std::vector<KernelPair> const& kernels, DifferingKinds const& kinds);

// The changes of all gaps, by number and by length of the operations.
std::vector<ModelPart> gap_causes(RunFigures const& a, RunFigures const& b);

// Kernels that only one run has.
std::vector<ModelPart> missing_kernel_causes(RunFigures const& a, RunFigures const& b,
                                             std::vector<KernelPair> const& kernels);

// Time of all gaps with an activity, and its operations.
Amount gap_time(RunFigures const& run, std::size_t activity);
Amount gap_operations(RunFigures const& run, std::size_t activity);  // 0 for kOtherWork

}  // namespace farfault::analysis
