// SPDX-License-Identifier: Apache-2.0
// Maximum number of warps of an SM stalled on one translation, per application (for WalkPressure).
//
// - begin() at each translation that arrives, then add() per transaction that waited for it, in order of
//   arrival. take() returns the maximum since the last take() and resets it.
// - Consecutive transactions of one warp count once; a warp that appears again after another counts again.
// - Values saturate at WalkPressure::kMax (63). Constructed with 0 applications, nothing is counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/protocols/messages.hpp"

namespace farfault {

class StalledWarps {
 public:
  StalledWarps() = default;
  explicit StalledWarps(std::uint32_t applications) : most_(applications) {}

  void begin() { warps_ = 0; }
  void add(std::uint8_t application, std::uint16_t warp) {
    if (most_.empty() || (warps_ != 0 && warp == last_)) return;
    last_ = warp;
    warps_ = std::min<std::uint32_t>(warps_ + 1, WalkPressure::kMax);
    most_[application] = std::max(most_[application], static_cast<std::uint8_t>(warps_));
  }
  std::uint8_t take(std::uint8_t application) {
    return most_.empty() ? std::uint8_t{0} : std::exchange(most_[application], std::uint8_t{0});
  }

  auto members() { return std::tie(most_, warps_, last_); }

 private:
  std::vector<std::uint8_t> most_;  // by application
  std::uint32_t warps_ = 0;         // of the current translation
  std::uint32_t last_ = 0;          // the last warp added
};

}  // namespace farfault
