// Which of the ready warps issues next: greedy-then-oldest (Rogers et al., MICRO 2012) or loose round robin.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace farfault {

enum class WarpOrder : std::uint8_t { greedy_then_oldest, round_robin };

class WarpScheduler {
 public:
  static constexpr std::uint32_t kMaxWarps = 64;

  // A warp has come to `slot`; later ones are younger.
  void admit(std::uint32_t slot) { age_[slot] = ++clock_; }

  // The slot to issue from among the set bits of `ready`, which is not empty.
  std::uint32_t pick(std::uint64_t ready, WarpOrder order) const {
    return order == WarpOrder::round_robin ? next_after(ready) : greedy(ready);
  }

  // An instruction of the warp in `slot` was issued.
  void issued(std::uint32_t slot) {
    last_ = slot;
    last_age_ = age_[slot];
  }

 private:
  std::uint32_t greedy(std::uint64_t ready) const {
    // A new warp in the slot of the last one is not that warp.
    if ((ready >> last_ & 1) != 0 && age_[last_] == last_age_) return static_cast<std::uint32_t>(last_);
    std::uint32_t oldest = static_cast<std::uint32_t>(std::countr_zero(ready));
    for (auto rest = ready & (ready - 1); rest != 0; rest &= rest - 1) {
      auto const slot = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (age_[slot] < age_[oldest]) oldest = slot;
    }
    return oldest;
  }
  std::uint32_t next_after(std::uint64_t ready) const {
    auto const above = last_ == kMaxWarps - 1 ? 0 : ready >> (last_ + 1) << (last_ + 1);
    return static_cast<std::uint32_t>(std::countr_zero(above != 0 ? above : ready));
  }

  std::array<std::uint64_t, kMaxWarps> age_{};
  std::uint64_t clock_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t last_age_ = 0;
};

}  // namespace farfault
