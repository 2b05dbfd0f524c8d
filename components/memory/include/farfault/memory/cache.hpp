// A physically addressed cache of lines: tags and dirty bits, no data; which line gives way to another is a
// policy (parts/replacement.hpp). The caller gives addresses local to the cache (without the bits that select
// a slice), so that consecutive lines of one slice fall into consecutive sets.
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
      : array_(static_cast<std::uint32_t>(bytes / line_bytes / ways), ways, replacement),
        dirty_(bytes / line_bytes) {}

  StatSource const& replacement() const { return array_.replacement(); }

  bool lookup(std::uint64_t line) { return array_.find(set_of(line), line).has_value(); }

  // A write that hits makes the line dirty.
  bool write(std::uint64_t line) {
    auto const slot = array_.find(set_of(line), line);
    if (slot) dirty_[*slot] = 1;
    return slot.has_value();
  }

  // Inserts a line (or refreshes it); returns the valid line that was evicted for it.
  std::optional<Victim> fill(std::uint64_t line, bool dirty) {
    auto const set = set_of(line);
    if (auto const slot = array_.find(set, line)) {
      dirty_[*slot] = dirty_[*slot] != 0 || dirty ? 1 : 0;
      return std::nullopt;
    }
    auto const [slot, evicted] = array_.insert(set, line);
    auto const was_dirty = dirty_[slot] != 0;
    dirty_[slot] = dirty ? 1 : 0;
    if (evicted == SetAssociative::kEmpty) return std::nullopt;
    return Victim{evicted, was_dirty};
  }

  // Lines lie in places, numbered from 0.
  std::uint64_t places() const { return dirty_.size(); }
  struct Dirty {
    std::uint64_t place;
    std::uint64_t line;
  };
  // The first dirty line from `place` on.
  std::optional<Dirty> first_dirty(std::uint64_t place) const {
    for (; place < dirty_.size(); ++place) {
      auto const line = array_.key(static_cast<std::uint32_t>(place));
      if (dirty_[place] != 0 && line != SetAssociative::kEmpty) return Dirty{place, line};
    }
    return std::nullopt;
  }
  void clean(std::uint64_t place) { dirty_[place] = 0; }
  template <class F>
  void each_line(F&& f) const {
    for (std::uint32_t i = 0; i < array_.slots(); ++i)
      if (array_.key(i) != SetAssociative::kEmpty) f(array_.key(i));
  }
  // Drops the lines of which `leaves(line)` is true, clean and dirty alike.
  template <class F>
  void drop(F&& leaves) {
    for (std::uint32_t i = 0; i < array_.slots(); ++i)
      if (array_.key(i) != SetAssociative::kEmpty && leaves(array_.key(i))) array_.erase_slot(i);
  }
  void drop_clean() {
    for (std::uint32_t i = 0; i < dirty_.size(); ++i)
      if (dirty_[i] == 0) array_.erase_slot(i);
  }

  // Drops the lines of [first, end), clean and dirty alike.
  void invalidate(std::uint64_t first, std::uint64_t end) { array_.erase_range(first, end); }

  void clear() {
    array_.clear();
    std::fill(dirty_.begin(), dirty_.end(), std::uint8_t{0});
  }

  auto members() { return std::tie(array_, dirty_); }

 private:
  std::uint32_t set_of(std::uint64_t line) const { return static_cast<std::uint32_t>(line % array_.sets()); }

  SetAssociative array_;
  std::vector<std::uint8_t> dirty_;
};

}  // namespace farfault
