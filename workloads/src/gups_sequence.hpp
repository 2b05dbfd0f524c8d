// SPDX-License-Identifier: Apache-2.0
// The random numbers of HPC Challenge's RandomAccess: the powers of t modulo t^64 + t^2 + t + 1 over the
// field of two elements, one polynomial per 64-bit number. The number after x is x times t.
#pragma once

#include <algorithm>
#include <cstdint>

namespace farfault::workloads {

// Returns the number `steps` after `number`. Bits shifted out at the top return, times t^2 + t + 1, at the
// bottom; as many steps are taken at once as keep that product below t^64.
constexpr std::uint64_t gups_number(std::uint64_t number, std::uint64_t steps) {
  while (steps != 0) {
    auto const now = std::min<std::uint64_t>(steps, 62);
    auto const top = number >> (64 - now);
    number = number << now ^ top ^ top << 1 ^ top << 2;
    steps -= now;
  }
  return number;
}

}  // namespace farfault::workloads
