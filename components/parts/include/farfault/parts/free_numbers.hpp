// SPDX-License-Identifier: Apache-2.0
// Allocator of numbers below a bound: table entries, tags, contexts. The last number that was returned is
// taken first; if none is left, the lowest number that was never taken. Arrays indexed by these numbers need
// room only for the maximum taken at a time; take() grows them to 8, 32, ... elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace farfault {

class FreeNumbers {
 public:
  FreeNumbers() = default;
  explicit FreeNumbers(std::uint32_t bound) : bound_(bound) {}

  bool empty() const { return given_back_.empty() && taken_once_ == bound_; }
  std::uint32_t size() const { return bound_ - taken(); }
  std::uint32_t taken() const { return taken_once_ - static_cast<std::uint32_t>(given_back_.size()); }
  std::uint32_t bound() const { return bound_; }

  // Requires !empty(). Grows `by_number` to hold an element at the returned number.
  template <class T>
  std::uint32_t take(std::vector<T>& by_number) {
    if (given_back_.empty()) {
      if (taken_once_ == by_number.size()) grow(by_number);
      return taken_once_++;
    }
    auto const number = given_back_.back();
    given_back_.pop_back();
    return number;
  }
  void give_back(std::uint32_t number) { given_back_.push_back(number); }

  auto members() { return std::tie(bound_, taken_once_, given_back_); }

 private:
  template <class T>
  [[gnu::noinline]] void grow(std::vector<T>& by_number) {
    constexpr std::size_t kFirst = 8;
    by_number.resize(std::min<std::size_t>(bound_, std::max(kFirst, 4 * by_number.size())));
    given_back_.reserve(by_number.size());
  }

  std::uint32_t bound_ = 0;
  std::uint32_t taken_once_ = 0;  // the numbers below were taken at least once
  std::vector<std::uint32_t> given_back_;
};

}  // namespace farfault
