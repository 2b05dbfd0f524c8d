// SPDX-License-Identifier: Apache-2.0
// Filters the page uses that an SM or a scalar cache reports to the driver: the first use of a page in an
// epoch, and the first write since the page's translation was last invalidated. The filter is a direct-mapped
// table, so a use may be reported more than once; a use that must be reported is never dropped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "farfault/engine/time.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// Enables reports and sets the epoch. An epoch of zero never ends.
struct PageUseRule {
  bool enabled = false;
  Duration epoch = Duration::zero();
};

class PageUses {
 public:
  PageUses() = default;
  explicit PageUses(PageUseRule rule) : epoch_(rule.epoch), reported_(rule.enabled ? kPlaces : 0) {}

  bool enabled() const { return !reported_.empty(); }
  // True if this use of the page must be reported. The use is recorded then.
  bool must_report(std::uint64_t page, Access access, Time now) {
    auto& last = reported_[page % kPlaces];
    auto const epoch =
        epoch_ == Duration::zero() ? 0 : static_cast<std::uint64_t>(now.time_since_epoch() / epoch_);
    bool const same = last.page == page;
    bool const writes = access == Access::write;
    if (same && last.epoch == epoch && (!writes || last.written != 0)) return false;
    bool const written = writes || (same && last.written != 0);
    last = {page, epoch, written ? 1U : 0U};
    return true;
  }
  // Removes the page of 2^size base pages: its next use, and its next write, count as first.
  void forget(std::uint64_t page, unsigned size = 0) {
    if (!enabled()) return;
    auto const places = std::min(std::uint64_t{1} << size, kPlaces);
    auto const first = page >> size << size;
    for (auto p = first; p - first < places; ++p) {
      auto& last = reported_[p % kPlaces];
      if (last.page >> size == page >> size) last = {};
    }
  }

  auto members() { return std::tie(epoch_, reported_); }

 private:
  static constexpr std::uint64_t kPlaces = 256;
  struct Reported {
    std::uint64_t page = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t epoch = 0;
    std::uint64_t written = 0;
  };
  Duration epoch_{};
  std::vector<Reported> reported_;
};

}  // namespace farfault
