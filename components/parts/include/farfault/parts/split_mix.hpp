// SPDX-License-Identifier: Apache-2.0
// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a random sequence that depends on the seed alone, on every
// machine.
#pragma once

#include <cstdint>
#include <tuple>

namespace farfault {

class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    auto z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  // Below n, which is not 0; the bias is below n / 2^64.
  std::uint64_t below(std::uint64_t n) { return next() % n; }

  auto members() { return std::tie(state_); }

 private:
  std::uint64_t state_;
};

}  // namespace farfault
