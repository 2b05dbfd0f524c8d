// SPDX-License-Identifier: Apache-2.0
// How many warps of an SM have waited for one translation: of each application the most since the SM last
// said so (WalkPressure). Nothing is counted, at no cost, for no applications.
//
// Who waited is told in the order in which they came. Transactions of a warp that follow each other are one
// warp; one that came again behind another counts twice.
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

  // A translation has come: calls of add() follow, for each transaction that has waited for it.
  void begin() { warps_ = 0; }
  void add(std::uint8_t application, std::uint16_t warp) {
    if (most_.empty() || (warps_ != 0 && warp == last_)) return;
    last_ = warp;
    warps_ = std::min<std::uint32_t>(warps_ + 1, WalkPressure::kMost);
    most_[application] = std::max(most_[application], static_cast<std::uint8_t>(warps_));
  }
  std::uint8_t take(std::uint8_t application) {
    return most_.empty() ? std::uint8_t{0} : std::exchange(most_[application], std::uint8_t{0});
  }

  auto members() { return std::tie(most_, warps_, last_); }

 private:
  std::vector<std::uint8_t> most_;  // by application
  std::uint32_t warps_ = 0;         // of this translation, so far
  std::uint32_t last_ = 0;          // of them
};

}  // namespace farfault
