// Where the host has the contents of pages that a program copies (operation.hpp): a frame of the CPU for each
// page, from the start of the run to its end. A page in several ranges has one frame. add_frame() is called
// for each page once, in the order of each(). Look-up: logarithmic in the number of ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "farfault/paging/large_pages.hpp"

namespace farfault {

class HostPages {
 public:
  HostPages() = default;
  explicit HostPages(std::vector<PageRange> ranges) {
    std::ranges::sort(ranges, {}, &PageRange::first);
    for (auto const& r : ranges) {
      auto const known = ranges_.empty() ? 0 : ranges_.back().first + ranges_.back().count;
      if (ranges_.empty() || r.first > known)
        ranges_.push_back(r);
      else
        ranges_.back().count = std::max(known, r.first + r.count) - ranges_.back().first;
    }
    for (auto const& r : ranges_) {
      starts_.push_back(pages_);
      pages_ += r.count;
    }
  }

  bool empty() const { return pages_ == 0; }
  std::uint64_t pages() const { return pages_; }
  // Calls f(page) for each, in order.
  template <class F>
  void each(F&& f) const {
    for (auto const& r : ranges_)
      for (auto page = r.first; page < r.first + r.count; ++page) f(page);
  }
  void add_frame(std::uint64_t frame) { frames_.push_back(frame); }
  // Of a page that is in a range.
  std::uint64_t frame_of(std::uint64_t page) const {
    auto const after = std::ranges::upper_bound(ranges_, page, {}, &PageRange::first) - ranges_.begin();
    auto const at = static_cast<std::size_t>(after) - 1;
    return frames_[starts_[at] + page - ranges_[at].first];
  }

 private:
  std::vector<PageRange> ranges_;      // ascending, apart
  std::vector<std::uint64_t> starts_;  // by range: its first page's number among all
  std::vector<std::uint64_t> frames_;
  std::uint64_t pages_ = 0;
};

}  // namespace farfault
