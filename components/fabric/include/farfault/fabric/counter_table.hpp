// SPDX-License-Identifier: Apache-2.0
// Regions that have an access counter, if a GPU has a limited number of counters.
//
// - Replacement: least recently used. A region without a counter takes the counter of the region that was
//   accessed least recently. All counters are equal, so the choice depends on the order of accesses only.
// - Limit 0: no limit. The table is empty, and it is neither saved nor hashed.
// - use() and remove() take constant time. Memory: one entry per counter that was ever used, and one number
//   per peer and region, up to the last one accessed.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/engine/archive.hpp"

namespace farfault {

class CounterTable {
 public:
  struct Region {
    std::uint32_t peer = 0;
    std::uint64_t number = 0;
    bool operator==(Region const&) const = default;
  };

  CounterTable() = default;
  CounterTable(std::uint32_t limit, std::size_t peers) : limit_(limit), entries_of_(limit != 0 ? peers : 0) {}

  bool is_limited() const { return limit_ != 0; }
  // Regions that have lost their counter to another one.
  std::uint64_t dropped() const { return dropped_; }

  // The region becomes the one accessed last. Returns the region that has lost its counter to it.
  std::optional<Region> use(Region const& region) {
    std::optional<Region> loser;
    if (!remove(region) && free_.empty() && entries_.size() > limit_) {
      auto const& oldest = entries_[entries_[0].after];
      loser = {static_cast<std::uint32_t>(oldest.peer), oldest.number};
      remove(*loser);
      ++dropped_;
    }
    auto const entry = take();
    entries_[entry] = {region.number, region.peer, entries_[0].before, 0};
    entries_[entries_[0].before].after = entry;
    entries_[0].before = entry;
    entry_of(region) = entry;
    return loser;
  }
  // The region has no counter any more. False: it had none.
  bool remove(Region const& region) {
    auto& entry = entry_of(region);
    if (entry == 0) return false;
    auto const& e = entries_[entry];
    entries_[e.before].after = e.after;
    entries_[e.after].before = e.before;
    free_.push_back(entry);
    entry = 0;
    return true;
  }

  void archive(Archive& a) {
    if (is_limited()) a(entries_, free_, entries_of_, dropped_);
  }

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::uint64_t peer = 0;
    std::uint32_t before = 0;
    std::uint32_t after = 0;
  };
  // 0: no counter.
  std::uint32_t& entry_of(Region const& region) {
    auto& entries = entries_of_[region.peer];
    if (region.number >= entries.size()) [[unlikely]]
      entries.resize(region.number + 1);
    return entries[region.number];
  }
  // An entry without a region.
  std::uint32_t take() {
    if (free_.empty()) {
      entries_.emplace_back();
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    auto const entry = free_.back();
    free_.pop_back();
    return entry;
  }

  std::uint64_t limit_ = 0;                             // never changes
  std::vector<Entry> entries_ = std::vector<Entry>(1);  // entry 0 links both ends
  std::vector<std::uint32_t> free_;                     // entries without a region
  std::vector<std::vector<std::uint32_t>> entries_of_;  // by peer and region
  std::uint64_t dropped_ = 0;
};

}  // namespace farfault
