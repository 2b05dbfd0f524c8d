// A set-associative array of keys with least-recently-used replacement: the storage of every TLB and cache.
//
// Keys are 64-bit and not all ones. `set` is chosen by the caller, so that the index function is the caller's
// policy. A slot number is stable until its key is replaced. Time: a scan of one set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/engine/error.hpp"

namespace farfault {

class SetAssociative {
 public:
  static constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();
  using SlotIndex = std::uint32_t;

  SetAssociative() = default;
  SetAssociative(std::uint32_t sets, std::uint32_t ways)
      : sets_(sets),
        ways_(ways),
        keys_(std::size_t{sets} * ways, kEmpty),
        used_(keys_.size()),
        recent_(sets) {}

  std::uint32_t sets() const { return sets_; }
  std::uint32_t ways() const { return ways_; }
  std::uint32_t slots() const { return sets_ * ways_; }
  std::uint64_t key(SlotIndex slot) const { return keys_[slot]; }

  // The slot of `key`, made the most recently used; nothing when it is absent.
  std::optional<SlotIndex> find(std::uint32_t set, std::uint64_t key) {
    auto const slot = peek(set, key);
    if (slot) touch(set, *slot);
    return slot;
  }
  std::optional<SlotIndex> peek(std::uint32_t set, std::uint64_t key) const {
    auto const base = set * ways_;
    if (keys_[base + recent_[set]] == key) return base + recent_[set];
    auto const* k = keys_.data() + base;
    for (std::uint32_t w = 0; w < ways_; ++w)
      if (k[w] == key) return base + w;
    return std::nullopt;
  }

  struct Inserted {
    SlotIndex slot;
    std::uint64_t evicted;  // kEmpty when nothing was
  };
  // Puts an absent key in the place of an empty or the least recently used one.
  Inserted insert(std::uint32_t set, std::uint64_t key) {
    auto const base = set * ways_;
    std::uint32_t victim = 0;
    for (std::uint32_t w = 0; w < ways_; ++w) {
      FF_INVARIANT(keys_[base + w] != key, "a key is inserted twice");
      if (keys_[base + w] == kEmpty) {
        victim = w;
        break;
      }
      if (used_[base + w] < used_[base + victim]) victim = w;
    }
    auto const slot = base + victim;
    auto const evicted = keys_[slot];
    keys_[slot] = key;
    touch(set, slot);
    return {slot, evicted};
  }

  bool erase(std::uint32_t set, std::uint64_t key) {
    auto const slot = peek(set, key);
    if (!slot) return false;
    erase_slot(*slot);
    return true;
  }
  void erase_slot(SlotIndex slot) {
    keys_[slot] = kEmpty;
    used_[slot] = 0;
  }
  // Erases the keys of [first, end).
  void erase_range(std::uint64_t first, std::uint64_t end) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] >= first && keys_[i] < end) erase_slot(static_cast<SlotIndex>(i));
    }
  }
  void clear() {
    std::fill(keys_.begin(), keys_.end(), kEmpty);
    std::fill(used_.begin(), used_.end(), 0);
  }

  auto members() { return std::tie(sets_, ways_, clock_, keys_, used_, recent_); }

 private:
  void touch(std::uint32_t set, SlotIndex slot) {
    used_[slot] = ++clock_;
    recent_[set] = slot - set * ways_;
  }

  std::uint32_t sets_ = 0;
  std::uint32_t ways_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> used_;    // when last used, in uses
  std::vector<std::uint32_t> recent_;  // by set: the way used last, compared first
};

}  // namespace farfault
