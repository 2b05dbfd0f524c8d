// SPDX-License-Identifier: Apache-2.0
// The sum of several transactions' waits for one response: of transactions that have waited for all stages in
// the response, and whose wait these stages cover. The response is then added to its stages once, for any
// number of transactions.
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

  // False: count this one separately. It has joined later, or a stage is longer than a response can report.
  bool add(Duration waited) {
    if (waited < behind_ || waited >= Duration{kLongest}) return false;
    ++number_;
    waited_ += ps(waited);
    return true;
  }
  std::uint64_t number() const { return number_; }
  // Their remaining time, outside the response's stages.
  std::uint64_t own() const { return waited_ - number_ * ps(behind_); }

 private:
  Duration behind_;
  std::uint64_t number_ = 0;
  std::uint64_t waited_ = 0;  // ps
};

}  // namespace farfault
