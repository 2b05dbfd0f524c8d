// SPDX-License-Identifier: Apache-2.0
// Faults of one batch: turns fault-buffer entries into distinct pages, sorted by address.
//
// Further entries of a page are duplicates. The oldest entry determines the application; one write makes the
// page's fault a write. A large page is one page. Source: NVIDIA's driver (uvm_gpu_replayable_faults.c,
// preprocess_fault_batch); Batch-aware unified memory (ASPLOS 2020), section 2.2.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/engine/time.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class FaultBatch {
 public:
  struct Entry {
    std::uint64_t page = 0;
    Time raised{};
    std::uint32_t client = 0;       // SM or scalar cache
    std::uint32_t application = 0;  // requester
    Access access = Access::read;
    std::uint8_t unused[7] = {};
  };

  void clear() { entries_.clear(); }
  void add(Entry const& entry) { entries_.push_back(entry); }
  std::uint64_t entries() const { return entries_.size(); }
  // Requires entries() > 0.
  Time first_raised() const { return std::ranges::min(entries_, {}, &Entry::raised).raised; }
  // Number of distinct clients.
  std::uint64_t clients() const {
    std::vector<std::uint32_t> all;
    for (auto const& e : entries_) all.push_back(e.client);
    std::sort(all.begin(), all.end());
    return static_cast<std::uint64_t>(std::unique(all.begin(), all.end()) - all.begin());
  }
  // The oldest entry of each page, in page order; entries of equal time in order of arrival.
  std::vector<Entry> pages() const {
    auto sorted = entries_;
    std::ranges::stable_sort(sorted, [](Entry const& a, Entry const& b) {
      return std::tie(a.page, a.raised) < std::tie(b.page, b.raised);
    });
    std::vector<Entry> pages;
    for (auto const& e : sorted) {
      if (pages.empty() || pages.back().page != e.page) pages.push_back(e);
      if (e.access == Access::write) pages.back().access = Access::write;
    }
    return pages;
  }

  // Likewise, by first base page of the page: first_page(base page).
  template <class F>
  std::vector<Entry> pages_by(F&& first_page) const {
    std::vector<Entry> merged;
    for (auto e : pages()) {
      e.page = first_page(e.page);
      if (merged.empty() || merged.back().page != e.page) {
        merged.push_back(e);
        continue;
      }
      bool const writes = e.access == Access::write || merged.back().access == Access::write;
      if (e.raised < merged.back().raised) merged.back() = e;
      if (writes) merged.back().access = Access::write;
    }
    return merged;
  }
  // Base pages with an entry among the `count` pages from `first` on, in order.
  std::vector<std::uint64_t> base_pages_in(std::uint64_t first, std::uint64_t count) const {
    std::vector<std::uint64_t> in;
    for (auto const& e : entries_)
      if (e.page - first < count) in.push_back(e.page);
    std::ranges::sort(in);
    in.erase(std::unique(in.begin(), in.end()), in.end());
    return in;
  }

  auto members() { return std::tie(entries_); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace farfault
