// SPDX-License-Identifier: Apache-2.0
// Page walkers with a queue and a walk cache, of the GMMU and of the IOMMU.
//
// - A walk reads one entry per level, from the root or from the node that the walk cache returns, down to the
//   entry of the page. Walks for large pages end at least one level earlier.
// - Coalesced base pages (page_table.hpp): a walk reads the first entry of their node and finds the large
//   page. If they have been splintered since, it also reads the entry of its own page. A walk that begins at
//   that node finds the large page by the disabled bit.
// - Walks queue in order while all walkers are busy. A walker is free as soon as its walk ends.
// - Each group has walkers, a queue and a walk cache; walkers are numbered group by group.
// - The owner starts walks, reads the entry that each step returns from its memory, and calls advance() when
//   the data arrives. The table is read only then, so a walk does not find a page that is unmapped in the
//   meantime.
// - `tag` identifies the request to its owner.
// - Walks of fixed length read nothing: the owner calls begin() instead of start(), and end() when the time
//   has elapsed (MGPUSim's MMU: a fixed number of cycles for any table).
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/parts/ring.hpp"
#include "farfault/translation/page_table.hpp"
#include "farfault/translation/walk_cache.hpp"

namespace farfault {

// Timer of the owner: a walk of fixed length has ended.
struct WalkEnd {
  std::uint32_t walker;
};

class Walker {
 public:
  Walker() = default;
  // `walkers`: of each group. `queue`: maximum queued walks of a group. `stops_above`: walks for coalesced
  // pages end at the entry above the node, which has the frame. cache(): makes the walk cache of a group.
  template <class MakeCache>
  Walker(std::uint32_t groups, std::uint32_t walkers, std::uint64_t queue, MakeCache&& cache,
         bool stops_above = false)
      : of_group_{walkers},
        groups_(groups),
        walks_(std::size_t{groups} * walkers),
        stops_above_{stops_above ? 1U : 0U} {
    for (std::uint32_t g = 0; g < groups; ++g) {
      groups_[g].queue = Ring<Waiting>(queue);
      for (auto i = (g + 1) * walkers; i > g * walkers; --i) groups_[g].free.push_back(i - 1);
      caches_.all.add(cache());
    }
  }

  // Next read of a walk: walker `walker` needs the table entry at `address`.
  struct Read {
    std::uint32_t walker;
    std::uint32_t tag;
    PhysAddr address;
    Requester requester;
  };
  // State of a walk after an entry was read.
  struct Step {
    bool ended;
    bool found;         // at the end: the page is mapped
    std::uint8_t size;  // of the page found
    std::uint32_t tag;
    std::uint64_t page;
    PhysAddr address;       // frame found, or address of the next entry to read
    Requester requester{};  // of that read

    PageTranslation translation() const { return {address, size}; }
  };

  // `application`: application that requests the walk.
  void enqueue(std::uint64_t page, std::uint32_t tag, std::uint8_t application = 0, std::uint32_t group = 0) {
    groups_[group].queue.push({page, tag, application, {}});
  }
  // Starts the oldest queued walk of the first group that can start one; nothing if none can.
  std::optional<Read> start(PageTable const& table);
  // Processes the entry that `walker` has read.
  Step advance(std::uint32_t walker, PageTable const& table);

  // The same for walks of fixed length; the address of the read is undefined.
  std::optional<Read> begin();
  Step end(std::uint32_t walker, PageTable const& table);

  std::uint64_t walkers() const { return walks_.size(); }
  std::uint64_t busy() const {
    auto busy = walks_.size();
    for (auto const& group : groups_) busy -= group.free.size();
    return busy;
  }
  std::uint64_t queued() const {
    std::uint64_t queued = 0;
    for (auto const& group : groups_) queued += group.queue.size();
    return queued;
  }
  // Totals: walks started, entries read.
  std::uint64_t walks() const { return started_; }
  std::uint64_t reads() const { return reads_; }
  // Statistics of the walk caches, and of the replacement of their arrays.
  StatSource const& caches() const { return caches_.all; }
  StatSource const& arrays() const { return caches_; }

  auto members() { return std::tie(of_group_, groups_, walks_, caches_, stops_above_, started_, reads_); }

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

  struct Group {
    Ring<Waiting> queue;
    std::vector<std::uint32_t> free;  // walkers
    auto members() { return std::tie(queue, free); }
  };
  struct Caches final : StatSource {
    PolicyArray<WalkCache> all;  // by group
    void sample(std::uint64_t* out) const override {
      for (std::size_t i = 0; i < all.size(); ++i) all[i].sample(out);
    }
    void archive(Archive& a) { all.archive(a); }
  };

  WalkCache& cache_of(std::uint32_t walker) { return caches_.all[walker / of_group_.value]; }
  void free(std::uint32_t walker) { groups_[walker / of_group_.value].free.push_back(walker); }
  // Page whose entry the walk reads; of coalesced pages, the first.
  static std::uint64_t at(Walk const& w, PageTable const& table) {
    return w.coalesced == 0 ? w.page : w.page >> table.coalesced_size() << table.coalesced_size();
  }
  static Requester reader_of(Walk const& w, PageTable const& table) {
    return {static_cast<std::uint8_t>(table.space_of(w.page)), w.application, walk_read(w.level)};
  }

  Fixed<std::uint64_t> of_group_{1};
  std::vector<Group> groups_;
  std::vector<Walk> walks_;  // by walker
  Caches caches_;
  Fixed<std::uint64_t> stops_above_{0};
  std::uint64_t started_ = 0;
  std::uint64_t reads_ = 0;
};

}  // namespace farfault
