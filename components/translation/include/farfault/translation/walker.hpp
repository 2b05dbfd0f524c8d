// SPDX-License-Identifier: Apache-2.0
// Page walkers with their queue and their page-walk cache: the same part in a GMMU and in an IOMMU.
//
// A walk goes down a page table, one entry read per level, and ends a level earlier or more at a large page;
// the page-walk cache lets it start below the root. Where base pages are coalesced (page_table.hpp) it reads
// the first entry of their node, and finds the large page; if they have been splintered since, then the entry
// of its own page too. One that begins at that node finds the large page by the disabled bit.
// Walks wait in order while all walkers are busy. The owner starts walks, reads the entry that each step
// names from its memory, and calls advance() when the entry is there: the table is looked at only then, so a
// page that is unmapped during a walk is not found by it. A walker is free as soon as its walk has ended.
// `tag` names the request to its owner.
//
// Walks of a fixed length read nothing: the owner calls begin() in place of start(), and end() when the time
// is over (MGPUSim's MMU: a number of cycles, whatever the table).
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/parts/ring.hpp"
#include "farfault/translation/page_table.hpp"
#include "farfault/translation/walk_cache.hpp"

namespace farfault {

// For the owner's timer: the time of a walk of fixed length is over.
struct WalkEnd {
  std::uint32_t walker;
};

class Walker {
 public:
  Walker() = default;
  // `queue`: walks that can wait at a time. `stops_above`: of pages that are coalesced the entry above has
  // the frame, and the walk ends there.
  Walker(std::uint32_t walkers, std::uint64_t queue, Policy<WalkCache> cache, bool stops_above = false);

  // A walk's next read: walker `walker` needs the table entry at `address`.
  struct Read {
    std::uint32_t walker;
    std::uint32_t tag;
    PhysAddr address;
    Requester requester;
  };
  // Where a walk stands after an entry has been read.
  struct Step {
    bool ended;
    bool found;         // at the end: the page is mapped
    std::uint8_t size;  // of the page found
    std::uint32_t tag;
    std::uint64_t page;
    PhysAddr address;     // the frame found, or that of the entry to read next
    Requester requester;  // of that read

    PageTranslation translation() const { return {address, size}; }
  };

  // `application`: on whose behalf.
  void enqueue(std::uint64_t page, std::uint32_t tag, std::uint8_t application = 0) {
    queue_.push({page, tag, application, {}});
  }
  // Starts the oldest waiting walk; nothing when none waits or no walker is free.
  std::optional<Read> start(PageTable const& table);
  // The entry that `walker` waits for has been read.
  Step advance(std::uint32_t walker, PageTable const& table);

  // The same for walks of a fixed length; the address of the read means nothing.
  std::optional<Read> begin();
  Step end(std::uint32_t walker, PageTable const& table);

  std::uint64_t walkers() const { return walks_.size(); }
  std::uint64_t busy() const { return walks_.size() - free_.size(); }
  std::uint64_t queued() const { return queue_.size(); }
  // Since the beginning: walks started, entries read.
  std::uint64_t walks() const { return started_; }
  std::uint64_t reads() const { return reads_; }
  Policy<WalkCache> const& cache() const { return cache_; }

  auto members() { return std::tie(queue_, walks_, free_, cache_, stops_above_, started_, reads_); }

 private:
  struct Waiting {
    std::uint64_t page = 0;
    std::uint32_t tag = 0;
    std::uint8_t application = 0;
    std::uint8_t unused[3] = {};
  };
  struct Walk {
    std::uint64_t page = 0;
    std::uint64_t node = 0;
    std::uint32_t level = 0;
    std::uint32_t tag = 0;
    std::uint8_t application = 0;
    std::uint8_t coalesced = 0;  // the entry above has the large-page bit
    std::uint8_t unused[6] = {};
  };

  // The page whose entry the walk reads: of those that are coalesced the first.
  static std::uint64_t at(Walk const& w, PageTable const& table) {
    return w.coalesced == 0 ? w.page : w.page >> table.coalesced_size() << table.coalesced_size();
  }
  static Requester reader_of(Walk const& w, PageTable const& table) {
    return {static_cast<std::uint8_t>(table.space_of(w.page)), w.application, walk_read(w.level)};
  }

  Ring<Waiting> queue_;
  std::vector<Walk> walks_;  // by walker
  std::vector<std::uint32_t> free_;
  Policy<WalkCache> cache_;
  Fixed<std::uint64_t> stops_above_{0};
  std::uint64_t started_ = 0;
  std::uint64_t reads_ = 0;
};

}  // namespace farfault
