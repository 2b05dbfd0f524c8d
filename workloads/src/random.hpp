// SPDX-License-Identifier: Apache-2.0
// Random numbers for generated data: SplitMix64 (Steele, Lea, Flood, OOPSLA'14) in integer arithmetic, the
// same on every machine.
#pragma once

#include <cstdint>

namespace farfault::workloads {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // The state after `count` numbers of the sequence that starts at `seed`.
  static Random at(std::uint64_t seed, std::uint64_t count) { return Random(seed + count * kStep); }

  std::uint64_t next() {
    state_ += kStep;
    auto z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound), bound > 0, by multiply and shift; the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;

  std::uint64_t state_;
};

}  // namespace farfault::workloads
