// SPDX-License-Identifier: Apache-2.0
// A time in 6 bytes, for what there is much of: its lower 48 bits. Whoever reads it says a time near it, less
// than 140 s before or after; then it is exact.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "farfault/engine/time.hpp"

namespace farfault {

class ShortTime {
 public:
  ShortTime() = default;
  explicit ShortTime(Time t) {
    auto const ps = static_cast<std::uint64_t>(picoseconds(t.time_since_epoch()));
    parts_ = {static_cast<std::uint16_t>(ps), static_cast<std::uint16_t>(ps >> 16U),
              static_cast<std::uint16_t>(ps >> 32U)};
  }

  Time near(Time other) const {
    auto const ahead = static_cast<std::uint64_t>(picoseconds(other.time_since_epoch())) - bits();
    return other - Duration{static_cast<std::int64_t>(ahead << 16U) >> 16U};
  }
  bool operator==(ShortTime const&) const = default;

 private:
  std::uint64_t bits() const {
    std::uint32_t low = 0;
    std::memcpy(&low, parts_.data(), sizeof low);
    return low | std::uint64_t{parts_[2]} << 32U;
  }

  std::array<std::uint16_t, 3> parts_{};
};

}  // namespace farfault
