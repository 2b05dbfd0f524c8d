// SPDX-License-Identifier: Apache-2.0
// Private: a curve as one line of text.
#pragma once

#include <string>
#include <vector>

namespace farfault::cli {

// One character per value, scaled from 0 to the maximum: eighths of a block, or digits from 0 to 9 for a
// terminal without block characters. A blank for NaN.
std::string sparkline(std::vector<double> const& values, bool blocks);

}  // namespace farfault::cli
