// SPDX-License-Identifier: Apache-2.0
// The uses of pages of which an SM or a scalar cache tells the driver: the first use of a page in an epoch,
// and the first write since the page's translation was last invalidated. A use may be told more often than
// that: what has been told is remembered for a few pages only, and pages whose numbers are equal in the lower
// bits share a place. A use that is to be told is never left out.
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "farfault/engine/time.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// Whether uses are told at all, and how often. An epoch of zero lasts for ever.
struct PageUseRule {
  bool told = false;
  Duration epoch = Duration::zero();
};

class PageUses {
 public:
  PageUses() = default;
  explicit PageUses(PageUseRule rule) : epoch_(rule.epoch), told_(rule.told ? kPlaces : 0) {}

  bool watches() const { return !told_.empty(); }
  // Whether this use of the page is to be told; it is remembered then.
  bool tells(std::uint64_t page, Access access, Time now) {
    auto& last = told_[page % kPlaces];
    auto const epoch =
        epoch_ == Duration::zero() ? 0 : static_cast<std::uint64_t>(now.time_since_epoch() / epoch_);
    bool const same = last.page == page;
    bool const writes = access == Access::write;
    if (same && last.epoch == epoch && (!writes || last.written != 0)) return false;
    bool const written = writes || (same && last.written != 0);
    last = {page, epoch, written ? 1U : 0U};
    return true;
  }
  // The page leaves: its next use, and write, are its first.
  void forget(std::uint64_t page) {
    if (watches() && told_[page % kPlaces].page == page) told_[page % kPlaces] = {};
  }

  auto members() { return std::tie(epoch_, told_); }

 private:
  static constexpr std::uint64_t kPlaces = 256;
  struct Told {
    std::uint64_t page = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t epoch = 0;
    std::uint64_t written = 0;
  };
  Duration epoch_{};
  std::vector<Told> told_;
};

}  // namespace farfault
