// SPDX-License-Identifier: Apache-2.0
// Counts the program's calls of operator new while counting is on.
#pragma once

#include <cstdint>

namespace farfault::test {

void start_counting();
// Calls since start_counting().
std::uint64_t stop_counting();

}  // namespace farfault::test
