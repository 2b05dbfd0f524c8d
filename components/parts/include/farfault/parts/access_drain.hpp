// SPDX-License-Identifier: Apache-2.0
// Counts outstanding accesses in two generations, so that an SM can drain the accesses begun before an
// invalidation while it issues new ones. When the older generation is done, no access uses the old
// translation. Source: asynchronous draining in Griffin (Baruah et al., HPCA 2020); the grace period of
// read-copy-update.
//
// - Translated access: has its physical address and may still be queued, in order, to be sent.
// - Outstanding access: sent, without a response yet.
// - begin() starts a new generation; done() holds when no access of the older one is left.
#pragma once

#include <array>
#include <cstdint>

#include "farfault/engine/error.hpp"

namespace farfault {

class AccessDrain {
 public:
  // Assigns everything so far to the older generation: all outstanding accesses, and the next `translated`
  // accesses to be sent. Requires done().
  void begin(std::uint64_t translated) {
    FF_CHECK(done(), "drain started before the previous one ended");
    current_ ^= 1U;
    ahead_ = translated;
  }
  bool done() const { return ahead_ == 0 && outstanding_[current_ ^ 1U] == 0; }

  // Removes the oldest translated access from the queue. Call it after its send(), if it needed one.
  void leave_queue() {
    if (ahead_ != 0) --ahead_;
  }
  // Counts an access that is sent. Returns its generation, for responded().
  std::uint32_t send() {
    auto const generation = static_cast<std::uint32_t>(ahead_ != 0 ? current_ ^ 1U : current_);
    ++outstanding_[generation];
    return generation;
  }
  void responded(std::uint32_t generation, std::uint64_t accesses = 1) {
    outstanding_[generation] -= accesses;
  }

 private:
  std::array<std::uint64_t, 2> outstanding_{};
  std::uint64_t ahead_ = 0;  // translated accesses of the older generation that are not sent yet
  std::uint64_t current_ = 0;
};

}  // namespace farfault
