// SPDX-License-Identifier: Apache-2.0
// First-in, first-out queue of bounded capacity. A push to a full ring is a simulator bug: every producer
// holds a credit. Memory grows with the longest queue: few queues of a large machine ever fill.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/engine/error.hpp"

namespace farfault {

template <class T>
class Ring {
 public:
  Ring() = default;
  explicit Ring(std::size_t capacity) : capacity_(capacity) {}

  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == capacity_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t capacity() const { return capacity_; }

  T& push(T const& item) {
    FF_CHECK(!full(), "bounded queue overflow: a sender ignored its credits");
    if (size_ == items_.size()) grow();
    auto i = first_ + size_;
    if (i >= items_.size()) i -= items_.size();
    items_[i] = item;
    ++size_;
    return items_[i];
  }
  T const& front() const { return items_[first_]; }
  T& front() { return items_[first_]; }
  // The element `i` places behind the first.
  T const& operator[](std::uint64_t i) const {
    i += first_;
    return items_[i < items_.size() ? i : i - items_.size()];
  }
  void pop() {
    if (++first_ == items_.size()) first_ = 0;
    --size_;
  }

  auto members() { return std::tie(items_, first_, size_, capacity_); }

 private:
  void grow() {
    constexpr std::uint64_t kFirst = 8;
    std::vector<T> larger(std::min(capacity_, std::max(kFirst, 2 * size_)));
    for (std::uint64_t i = 0; i < size_; ++i) larger[i] = items_[(first_ + i) % items_.size()];
    items_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> items_;
  std::uint64_t first_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace farfault
