// SPDX-License-Identifier: Apache-2.0
// Large pages of the applications: the aligned large pages that are wholly in one of the selected buffers.
//
// - The ends of these buffers and all other buffers use base pages. With rounds_up the ends are large pages,
//   too.
// - Errors: UserError for a buffer that no workload has, or that contains no whole large page. With `all`, a
//   buffer without a large page uses base pages.
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

// The part of `pages` that consists of whole large pages of 2^size base pages; count 0: none.
PageRange whole_pages(PageRange const& pages, unsigned size);

class LargePages {
 public:
  // Setting of a configuration.
  struct Choice {
    std::string buffers = "none";  // "none", "all", or names separated by commas
    unsigned size = 0;             // log2 of the base pages of a large page
    bool rounds_up = false;        // the ends of these buffers are large pages, too
    bool none() const { return buffers == "none"; }
  };

  LargePages() = default;
  // `ranges`: whole large pages of 2^size base pages each.
  LargePages(unsigned size, std::vector<PageRange> ranges) : size_(size), ranges_(std::move(ranges)) {}
  // `of_buffer`: base pages of each buffer, indexed by application.
  LargePages(Choice const& choice, Applications const& applications,
             std::vector<std::vector<PageRange>> const& of_buffer);

  bool any() const { return !ranges_.empty(); }
  // Intended size of the page that contains base page `page`: log2 of its base pages.
  unsigned size_of(std::uint64_t page) const {
    for (auto const& r : ranges_)
      if (page - r.first < r.count) return size_;
    return 0;
  }

 private:
  unsigned size_ = 0;
  std::vector<PageRange> ranges_;  // whole large pages
};

// First base page of the page of 2^size base pages that contains `page`.
constexpr std::uint64_t first_of(std::uint64_t page, unsigned size) {
  return page >> size << size;
}

}  // namespace farfault
