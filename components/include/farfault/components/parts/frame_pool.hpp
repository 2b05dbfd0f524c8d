// The page frames of one memory: those never used are given out in order, those given back come first, the
// latest of them first (a free list, as Linux keeps per CPU).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "farfault/engine/error.hpp"

namespace farfault {

class FramePool {
 public:
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  FramePool() = default;
  // Frames `first` to `limit` - 1 are free.
  explicit FramePool(std::uint64_t first, std::uint64_t limit = kUnbounded) : next_(first), limit_(limit) {}

  bool empty() const { return returned_.empty() && next_ == limit_; }

  // Requires !empty().
  std::uint64_t take() {
    FF_CHECK(!empty(), "a frame is taken from an empty pool");
    if (returned_.empty()) return next_++;
    auto const frame = returned_.back();
    returned_.pop_back();
    return frame;
  }
  void give_back(std::uint64_t frame) { returned_.push_back(frame); }

  template <class Archive>
  void persist(Archive& a) {
    a(next_, limit_, returned_);
  }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t limit_ = 0;
  std::vector<std::uint64_t> returned_;
};

}  // namespace farfault
