// SPDX-License-Identifier: Apache-2.0
// Faults of one batch: turns fault-buffer entries into distinct pages, sorted by address.
//
// Further entries of a page are duplicates. The oldest entry determines the application; one write makes the
// page's fault a write. Source: NVIDIA's driver (uvm_gpu_replayable_faults.c, preprocess_fault_batch);
// Batch-aware unified memory (ASPLOS 2020), section 2.2.
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

  auto members() { return std::tie(entries_); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace farfault
