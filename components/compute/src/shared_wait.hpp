// SPDX-License-Identifier: Apache-2.0
// The waits of several transactions for one response, summed: of each that has waited for all stages that the
// response tells, and of whose wait these tell all. So a response adds to its stages once, however many have
// waited for it.
#pragma once

#include <cstdint>

#include "farfault/engine/time.hpp"
#include "farfault/protocols/stages.hpp"

namespace farfault {

inline std::uint64_t ps(Duration d) {
  return static_cast<std::uint64_t>(picoseconds(d));
}

class SharedWait {
 public:
  explicit SharedWait(Duration behind) : behind_(behind) {}

  // False: this one has to be told by itself. It has joined later, or some stage is longer than can be told.
  bool add(Duration waited) {
    if (waited < behind_ || waited >= Duration{kLongest}) return false;
    ++number_;
    waited_ += ps(waited);
    return true;
  }
  std::uint64_t number() const { return number_; }
  // What is left of their time without the stages behind.
  std::uint64_t own() const { return waited_ - number_ * ps(behind_); }

 private:
  Duration behind_;
  std::uint64_t number_ = 0;
  std::uint64_t waited_ = 0;  // ps
};

}  // namespace farfault
