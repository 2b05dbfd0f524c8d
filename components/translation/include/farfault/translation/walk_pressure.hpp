// SPDX-License-Identifier: Apache-2.0
// Effect of page walks on each application, counted at the L2 TLB between reports (WalkPressure): the maximum
// outstanding misses, and the maximum warps that waited for one translation. With 0 applications nothing is
// counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/protocols/messages.hpp"

namespace farfault {

class WalkPressureCounts {
 public:
  WalkPressureCounts() = default;
  explicit WalkPressureCounts(std::uint32_t applications) : counts_(applications) {}

  bool counts() const { return !counts_.empty(); }
  // Start and end of an outstanding miss.
  void missed(std::uint8_t application) {
    auto& c = counts_[application];
    c.most = std::max(c.most, ++c.outstanding);
  }
  void responded(std::uint8_t application) { --counts_[application].outstanding; }
  void stalled(std::uint8_t application, std::uint8_t warps) {
    counts_[application].warps = std::max<std::uint32_t>(counts_[application].warps, warps);
  }

  // Calls f(WalkPressure) with the counts since the last report.
  template <class F>
  void report(F&& f) {
    for (std::uint32_t first = 0; first < counts_.size(); first += WalkPressure::kApplications) {
      WalkPressure m{first, {}};
      for (std::uint32_t i = 0; i < WalkPressure::kApplications && first + i < counts_.size(); ++i) {
        auto& c = counts_[first + i];
        auto const bounded = [](std::uint32_t n) { return std::min<std::uint32_t>(n, WalkPressure::kMax); };
        m.of[i] = static_cast<std::uint16_t>(bounded(c.most) * bounded(c.warps));
        c.most = c.outstanding;
        c.warps = 0;
      }
      f(m);
    }
  }

  auto members() { return std::tie(counts_); }

 private:
  struct Counts {
    std::uint32_t outstanding = 0;
    std::uint32_t most = 0;
    std::uint32_t warps = 0;
  };
  std::vector<Counts> counts_;  // by application
};

}  // namespace farfault
