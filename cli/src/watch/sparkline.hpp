// SPDX-License-Identifier: Apache-2.0
// Private: a curve in one line of text.
#pragma once

#include <string>
#include <vector>

namespace farfault::cli {

// A character for each value, from 0 to the largest of them: eighths of a block, or digits from 0 to 9 where
// a terminal has no such characters. A blank for what is not a number.
std::string sparkline(std::vector<double> const& values, bool blocks);

}  // namespace farfault::cli
