// SPDX-License-Identifier: Apache-2.0
// Physically addressed cache: tags and dirty bits, no data. The replacement policy is parts/replacement.hpp.
// The caller passes addresses local to the cache, without the bits that select a slice, so that consecutive
// lines of a slice map to consecutive sets.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/parts/set_associative.hpp"

namespace farfault {

class Cache {
 public:
  struct Victim {
    std::uint64_t line;  // number of the evicted line
    bool dirty;
  };

  Cache() = default;
  Cache(std::uint64_t bytes, std::uint32_t ways, std::uint32_t line_bytes,
        PolicyChoice<Replacement> const& replacement)
      : array_(static_cast<std::uint32_t>(bytes / line_bytes / ways), ways, replacement) {}

  StatSource const& replacement() const { return array_.replacement(); }

  bool lookup(std::uint64_t line) { return array_.find(set_of(line), line).has_value(); }

  // Does not count as a use.
  bool is_dirty(std::uint64_t line) const {
    auto const slot = array_.peek(set_of(line), line);
    return slot && dirty_[*slot] != 0;
  }

  // A write that hits sets the dirty bit.
  bool write(std::uint64_t line) {
    auto const slot = array_.find(set_of(line), line);
    if (slot) dirty_[*slot] = 1;
    return slot.has_value();
  }

  // Inserts or refreshes a line; returns the valid line that was evicted.
  std::optional<Victim> fill(std::uint64_t line, bool dirty) {
    if (auto const slot = array_.find(set_of(line), line)) {
      dirty_[*slot] = dirty_[*slot] != 0 || dirty ? 1 : 0;
      return std::nullopt;
    }
    return insert(line, dirty);
  }
  // Inserts a line that is not cached.
  std::optional<Victim> insert(std::uint64_t line, bool dirty) {
    auto const [slot, evicted] = array_.insert(set_of(line), line);
    array_.hold_slots(dirty_);
    auto const was_dirty = dirty_[slot] != 0;
    dirty_[slot] = dirty ? 1 : 0;
    if (evicted == SetAssociative::kEmpty) return std::nullopt;
    return Victim{evicted, was_dirty};
  }

  // Lines have places, numbered from 0, set by set.
  std::uint64_t places() const { return array_.slots(); }
  struct Dirty {
    std::uint64_t place;
    std::uint64_t line;
  };
  // First dirty line at or after `place`.
  std::optional<Dirty> first_dirty(std::uint64_t place) const {
    if (place >= places()) return std::nullopt;
    auto const ways = array_.ways();
    for (auto way = static_cast<std::uint32_t>(place % ways); place < places();
         place += ways - way, way = 0) {
      auto const slot = array_.first_slot(static_cast<std::uint32_t>(place / ways));
      if (!slot) continue;
      for (auto w = way; w < ways; ++w)
        if (dirty_[*slot + w] != 0 && array_.key(*slot + w) != SetAssociative::kEmpty)
          return Dirty{place + w - way, array_.key(*slot + w)};
    }
    return std::nullopt;
  }
  // Clears the dirty bit of the line at `place`, which is dirty.
  void clean(std::uint64_t place) {
    auto const ways = array_.ways();
    dirty_[*array_.first_slot(static_cast<std::uint32_t>(place / ways)) + place % ways] = 0;
  }
  template <class F>
  void each_line(F&& f) const {
    array_.each([&](std::uint32_t, std::uint64_t line) { f(line); });
  }
  // Drops the lines for which `leaves(line)` is true, clean and dirty.
  template <class F>
  void drop(F&& leaves) {
    array_.each([&](std::uint32_t slot, std::uint64_t line) {
      if (leaves(line)) array_.erase_slot(slot);
    });
  }
  void drop_clean() {
    for (std::uint32_t i = 0; i < dirty_.size(); ++i)
      if (dirty_[i] == 0) array_.erase_slot(i);
  }

  // Drops the lines of [first, end), clean and dirty.
  void invalidate(std::uint64_t first, std::uint64_t end) { array_.erase_range(first, end); }

  void clear() {
    array_.clear();
    std::fill(dirty_.begin(), dirty_.end(), std::uint8_t{0});
  }

  auto members() { return std::tie(array_, dirty_); }

 private:
  std::uint32_t set_of(std::uint64_t line) const { return static_cast<std::uint32_t>(line % array_.sets()); }

  SetAssociative array_;
  std::vector<std::uint8_t> dirty_;  // by slot
};

}  // namespace farfault
