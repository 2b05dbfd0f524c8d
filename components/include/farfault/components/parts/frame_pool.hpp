// The free page frames of one memory. Released frames are allocated first, the latest released first (a free
// list, as Linux keeps per CPU); then frames never used, in order.
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "farfault/engine/error.hpp"

namespace farfault {

class FramePool {
 public:
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  FramePool() = default;
  // Frames `first` to `limit` - 1 are free.
  explicit FramePool(std::uint64_t first, std::uint64_t limit = kUnbounded) : next_(first), limit_(limit) {}

  bool empty() const { return released_.empty() && next_ == limit_; }

  // Requires !empty().
  std::uint64_t allocate() {
    FF_CHECK(!empty(), "a frame is allocated from an empty pool");
    if (released_.empty()) return next_++;
    auto const frame = released_.back();
    released_.pop_back();
    return frame;
  }
  void release(std::uint64_t frame) { released_.push_back(frame); }

  auto members() { return std::tie(next_, limit_, released_); }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t limit_ = 0;
  std::vector<std::uint64_t> released_;
};

}  // namespace farfault
