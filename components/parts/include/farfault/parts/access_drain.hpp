// SPDX-License-Identifier: Apache-2.0
// Counts outstanding accesses in two generations, so that an SM can wait for those begun before an
// invalidation while new ones are issued: when the older generation is done, no access uses the old
// translation (asynchronous draining as in Griffin, Baruah et al., HPCA 2020; the grace period of
// read-copy-update).
//
// An access is *translated* when it has its physical address and may still wait to be sent, in order; it is
// *outstanding* from when it is sent until its response. `begin` starts a new generation; `done` says that no
// access of the older one is left.
#pragma once

#include <array>
#include <cstdint>

#include "farfault/engine/error.hpp"

namespace farfault {

class AccessDrain {
 public:
  // Everything so far belongs to the older generation: what is outstanding, and `translated` accesses, which
  // are the next to be sent. Requires done().
  void begin(std::uint64_t translated) {
    FF_CHECK(done(), "a second drain begins before the first is done");
    current_ ^= 1U;
    ahead_ = translated;
  }
  bool done() const { return ahead_ == 0 && outstanding_[current_ ^ 1U] == 0; }

  // The next of the translated accesses leaves their queue; called after its send(), if it needed one.
  void leave_queue() {
    if (ahead_ != 0) --ahead_;
  }
  // An access is sent; returns its generation, for answered().
  std::uint32_t send() {
    auto const generation = static_cast<std::uint32_t>(ahead_ != 0 ? current_ ^ 1U : current_);
    ++outstanding_[generation];
    return generation;
  }
  void answered(std::uint32_t generation, std::uint64_t accesses = 1) {
    outstanding_[generation] -= accesses;
  }

 private:
  std::array<std::uint64_t, 2> outstanding_{};
  std::uint64_t ahead_ = 0;  // translated accesses of the older generation, still to be sent
  std::uint64_t current_ = 0;
};

}  // namespace farfault
