// SPDX-License-Identifier: Apache-2.0
// Ports of a cache or TLB; each port serves one access at a time.
//
//   auto const at = std::max(ports.free_at(), now);   // start of the next access
//   ports.take(clock.after(at));                      // it occupies its port until then
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault {

class Ports {
 public:
  Ports() = default;
  explicit Ports(std::uint32_t ports) : several_(ports - 1), others_(ports - 1) {}

  // Time at which the first port becomes free.
  Time free_at() const { return next_; }
  // Occupies that port until `until`.
  void take(Time until) {
    next_ = until;
    if (several_ != 0) take_first();
  }
  std::uint64_t number() const { return others_.size() + 1; }
  auto members() { return std::tie(next_, several_, others_); }

 private:
  void take_first() {
    for (auto& other : others_)
      if (other < next_) std::swap(other, next_);
  }

  Time next_{};
  std::uint64_t several_ = 0;  // others_.size(), cached
  std::vector<Time> others_;   // free times of the other ports
};

}  // namespace farfault
