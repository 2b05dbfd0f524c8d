// SPDX-License-Identifier: Apache-2.0
// Rogers et al., "Cache-Conscious Wavefront Scheduling", MICRO 2012.
#include <array>
#include <bit>

#include "farfault/compute/warp_order.hpp"

namespace farfault::warp_orders {
namespace {

class GreedyThenOldest final : public WarpOrder {
 public:
  void admit(std::uint32_t slot) override { age_[slot] = ++clock_; }
  std::uint32_t pick(std::uint64_t ready) override {
    // A new warp in the last one's slot is a different warp.
    if ((ready >> last_ & 1) != 0 && age_[last_] == last_age_) return static_cast<std::uint32_t>(last_);
    auto oldest = static_cast<std::uint32_t>(std::countr_zero(ready));
    for (auto rest = ready & (ready - 1); rest != 0; rest &= rest - 1) {
      auto const slot = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (age_[slot] < age_[oldest]) oldest = slot;
    }
    return oldest;
  }
  void issued(std::uint32_t slot) override {
    last_ = slot;
    last_age_ = age_[slot];
  }

  auto members() { return std::tie(age_, clock_, last_, last_age_); }

 private:
  std::array<std::uint64_t, kMaxWarps> age_{};  // later ones are younger
  std::uint64_t clock_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t last_age_ = 0;
};

}  // namespace

void greedy_then_oldest(PolicyList<WarpOrder>& list) {
  list.add<GreedyThenOldest>("greedy_then_oldest", "last issued warp, else the oldest");
}

}  // namespace farfault::warp_orders
