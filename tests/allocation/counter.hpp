// SPDX-License-Identifier: Apache-2.0
// Counts calls of operator new, of the whole program, while it is told to.
#pragma once

#include <cstdint>

namespace farfault::test {

void start_counting();
// The calls since start_counting().
std::uint64_t stop_counting();

}  // namespace farfault::test
