// SPDX-License-Identifier: Apache-2.0
// The geometric mean, the same on every machine: it calls no function of the C library whose last digit
// depends on the processor. Exact if the mean is a number with few digits (4 of 2 and 8).
#pragma once

#include <span>

namespace farfault::analysis {

// The mean of one or more numbers, all finite and above 0.
double geometric_mean(std::span<double const> values);

}  // namespace farfault::analysis
