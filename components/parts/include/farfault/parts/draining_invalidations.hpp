// SPDX-License-Identifier: Apache-2.0
// Received invalidations that are not acknowledged yet. An invalidation is acknowledged when every access
// begun before it has its response (AccessDrain). Invalidations that arrive during a drain share the next
// one, so no invalidation waits for more than two drains.
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

  // Calls `acknowledge` for each invalidation whose drain is done, in order, and starts one drain for the
  // remaining ones. It covers the outstanding accesses and `translated` accesses that are not sent yet.
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
  std::uint64_t draining_ = 0;  // invalidations at the head of the queue that the current drain serves
};

}  // namespace farfault
