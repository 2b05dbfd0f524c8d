// SPDX-License-Identifier: Apache-2.0
// Which pages of the applications are large: those aligned to a large page's size that lie wholly in one of
// the buffers chosen. What is left at the ends of such a buffer comes in base pages, as the other buffers do;
// or in large pages, of which the buffer then uses a part.
//
// Errors: UserError for a buffer that no workload has, or in which no large page lies; of `all`, a
// buffer without a large page is taken in base pages.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "farfault/protocols/applications.hpp"

namespace farfault {

// Consecutive base pages.
struct PageRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// What of `pages` lies in whole large pages of 2^size base pages; no pages: nothing.
PageRange whole_pages(PageRange const& pages, unsigned size);

class LargePages {
 public:
  // What a configuration says.
  struct Choice {
    std::string buffers = "none";  // "none", "all", or names separated by commas
    unsigned size = 0;             // log2 of the base pages of a large page
    bool rounds_up = false;        // the ends of these buffers come in large pages too
    bool none() const { return buffers == "none"; }
  };

  LargePages() = default;
  // `ranges`: of whole large pages, each of 2^size base pages.
  LargePages(unsigned size, std::vector<PageRange> ranges) : size_(size), ranges_(std::move(ranges)) {}
  // `of_buffer`: by application, the base pages of each buffer.
  LargePages(Choice const& choice, Applications const& applications,
             std::vector<std::vector<PageRange>> const& of_buffer);

  bool any() const { return !ranges_.empty(); }
  // Of the page that holds base page `page`, as it should be: log2 of its base pages.
  unsigned size_of(std::uint64_t page) const {
    for (auto const& r : ranges_)
      if (page - r.first < r.count) return size_;
    return 0;
  }

 private:
  unsigned size_ = 0;
  std::vector<PageRange> ranges_;  // whole large pages
};

// The first base page of the page of 2^size base pages that holds `page`.
constexpr std::uint64_t first_of(std::uint64_t page, unsigned size) {
  return page >> size << size;
}

}  // namespace farfault
