// A first-in first-out queue of fixed capacity. Pushing to a full ring is our mistake: every producer holds a
// credit.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/error.hpp"

namespace farfault {

template <class T>
class Ring {
 public:
  Ring() = default;
  explicit Ring(std::size_t capacity) : items_(capacity) {}

  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == items_.size(); }
  std::uint64_t size() const { return size_; }
  std::uint64_t capacity() const { return items_.size(); }

  void push(T const& item) {
    FF_CHECK(!full(), "a bounded queue overflows: somebody sent without a credit");
    auto i = first_ + size_;
    if (i >= items_.size()) i -= items_.size();
    items_[i] = item;
    ++size_;
  }
  T const& front() const { return items_[first_]; }
  T& front() { return items_[first_]; }
  void pop() {
    if (++first_ == items_.size()) first_ = 0;
    --size_;
  }

  template <class Archive>
  void persist(Archive& a) {
    a(items_, first_, size_);
  }

 private:
  std::vector<T> items_;
  std::uint64_t first_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace farfault
