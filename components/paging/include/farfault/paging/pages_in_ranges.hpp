// SPDX-License-Identifier: Apache-2.0
// One value per page in ranges of pages: the CPU frame with the host's contents of a page that programs copy,
// or the planned device of a page that a program allocates. A page in several ranges has one value. Look-up
// time is logarithmic in the number of ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "farfault/paging/large_pages.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

template <class T>
class PagesInRanges {
 public:
  PagesInRanges() = default;
  // Every page starts with `initial`.
  PagesInRanges(std::vector<PageRange> ranges, T initial) {
    std::ranges::sort(ranges, {}, &PageRange::first);
    for (auto const& r : ranges) {
      auto const known = ranges_.empty() ? 0 : ranges_.back().first + ranges_.back().count;
      if (ranges_.empty() || r.first > known)
        ranges_.push_back(r);
      else
        ranges_.back().count = std::max(known, r.first + r.count) - ranges_.back().first;
    }
    for (auto const& r : ranges_) {
      starts_.push_back(of_page_.size());
      of_page_.resize(of_page_.size() + r.count, initial);
    }
  }

  bool empty() const { return of_page_.empty(); }
  std::uint64_t pages() const { return of_page_.size(); }
  // Calls f(page, T) for each page, in order.
  template <class F>
  void each(F&& f) {
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      for (std::uint64_t p = 0; p < ranges_[i].count; ++p) f(ranges_[i].first + p, of_page_[starts_[i] + p]);
  }
  template <class F>
  void each(F&& f) const {
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      for (std::uint64_t p = 0; p < ranges_[i].count; ++p) f(ranges_[i].first + p, of_page_[starts_[i] + p]);
  }
  // Null: the page is in no range.
  T const* find(std::uint64_t page) const {
    auto const after = std::ranges::upper_bound(ranges_, page, {}, &PageRange::first);
    if (after == ranges_.begin() || page - (after - 1)->first >= (after - 1)->count) return nullptr;
    auto const range = static_cast<std::size_t>(after - ranges_.begin()) - 1;
    return &of_page_[starts_[range] + page - ranges_[range].first];
  }
  T* find(std::uint64_t page) { return const_cast<T*>(std::as_const(*this).find(page)); }

 private:
  std::vector<PageRange> ranges_;      // ascending and disjoint
  std::vector<std::uint64_t> starts_;  // indexed by range: number of its first page among all pages
  std::vector<T> of_page_;
};

// CPU frames, for the whole run.
using HostPages = PagesInRanges<std::uint64_t>;

// The driver's own device numbers (initial_memory.hpp); kNotPlanned: placed at first touch.
inline constexpr DeviceId kNotPlanned = 0xffff;
using PlannedPages = PagesInRanges<DeviceId>;

}  // namespace farfault
