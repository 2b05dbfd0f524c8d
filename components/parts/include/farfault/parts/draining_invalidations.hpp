// SPDX-License-Identifier: Apache-2.0
// The invalidations that a component has received and not acknowledged. One is acknowledged when every access
// begun before it has its response (AccessDrain): those that arrive while a drain is under way wait for the
// next one together, so that no access waits for more than two.
#pragma once

#include <cstdint>
#include <tuple>

#include "farfault/parts/access_drain.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class DrainingInvalidations {
 public:
  DrainingInvalidations() = default;
  explicit DrainingInvalidations(std::size_t most) : queue_(most) {}

  bool empty() const { return queue_.empty(); }
  void push(Invalidate const& m) { queue_.push(m); }

  // Calls `acknowledge` for each invalidation whose drain is done, in their order, and begins the drain of
  // the others: of what is outstanding and of `translated` accesses still to be sent.
  template <class Acknowledge>
  void advance(AccessDrain& drain, std::uint64_t translated, Acknowledge&& acknowledge) {
    while (!queue_.empty() && drain.done()) {
      for (; draining_ > 0; --draining_) {
        acknowledge(queue_.front());
        queue_.pop();
      }
      draining_ = queue_.size();
      if (draining_ != 0) drain.begin(translated);
    }
  }

  auto members() { return std::tie(queue_, draining_); }

 private:
  Ring<Invalidate> queue_;
  std::uint64_t draining_ = 0;  // of the queue's first ones, how many wait for the drain under way
};

}  // namespace farfault
