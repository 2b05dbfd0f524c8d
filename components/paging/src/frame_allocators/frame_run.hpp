// SPDX-License-Identifier: Apache-2.0
// Private: base frames, allocated by number in ascending order; released frames are reused first, the latest
// first. The allocator maps numbers to frames, which determines its order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/engine/error.hpp"

namespace farfault::frame_allocators {

class FrameRun {
 public:
  explicit FrameRun(std::uint64_t frames = 0) : limit_(frames) {}

  std::uint64_t frames() const { return limit_; }
  std::uint64_t available() const { return released_.size() + (limit_ - next_) - occupied_ahead_; }
  std::uint64_t allocate() {
    FF_CHECK(available() != 0, "a frame is allocated but none is free");
    if (released_.empty()) {
      for (; is_occupied(next_); ++next_) --occupied_ahead_;
      return next_++;
    }
    auto const number = released_.back();
    released_.pop_back();
    return number;
  }
  void release(std::uint64_t number) {
    if (number < next_) return released_.push_back(number);
    FF_CHECK(is_occupied(number), "a free frame is released");
    occupied_[number / 64] &= ~bit_of(number);
    --occupied_ahead_;
  }
  void occupy(std::uint64_t number) {
    if (number < next_) {
      auto const found = std::ranges::find(released_, number);
      FF_CHECK(found != released_.end(), "a frame to occupy is already in use");
      released_.erase(found);
      return;
    }
    FF_CHECK(number < limit_ && !is_occupied(number), "a frame to occupy is not free");
    if (number / 64 >= occupied_.size()) occupied_.resize(number / 64 + 1);
    occupied_[number / 64] |= bit_of(number);
    ++occupied_ahead_;
  }

  auto members() { return std::tie(next_, limit_, released_, occupied_ahead_, occupied_); }

 private:
  static std::uint64_t bit_of(std::uint64_t number) { return std::uint64_t{1} << number % 64; }
  bool is_occupied(std::uint64_t number) const {
    return number / 64 < occupied_.size() && (occupied_[number / 64] & bit_of(number)) != 0;
  }

  std::uint64_t next_ = 0;
  std::uint64_t limit_ = 0;
  std::vector<std::uint64_t> released_;
  std::uint64_t occupied_ahead_ = 0;     // occupied numbers from next_ on
  std::vector<std::uint64_t> occupied_;  // bit n % 64 of word n / 64; numbers from next_ on
};

}  // namespace farfault::frame_allocators
