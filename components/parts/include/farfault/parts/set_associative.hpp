// A set-associative array of keys: the storage of every TLB and cache. A key comes to the first empty way of
// its set, or to that of the key which the replacement policy gives up (replacement.hpp).
//
// Keys are 64-bit and not all ones. `set` is chosen by the caller, so that the index function is the caller's
// policy. A slot number is stable until its key is replaced. An array of no slots can be made, asked for
// nothing, and sampled. Time: a scan of one set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/parts/replacement.hpp"

namespace farfault {

class SetAssociative {
 public:
  static constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();
  using SlotIndex = std::uint32_t;

  SetAssociative() = default;
  // The choice must outlive the array.
  SetAssociative(std::uint32_t sets, std::uint32_t ways, PolicyChoice<Replacement> const& replacement)
      : sets_(sets),
        ways_(ways),
        keys_(std::size_t{sets} * ways, kEmpty),
        used_(keys_.size()),
        recent_(sets) {
    if (keys_.empty()) return;
    replacement_ = replacement.make({sets, ways});
    auto const wants = replacement_->wants();
    if (wants.insertions) inserted_.resize(keys_.size());
    tells_uses_.value = wants.uses ? 1 : 0;
  }

  std::uint32_t sets() const { return sets_; }
  std::uint32_t ways() const { return ways_; }
  std::uint32_t slots() const { return sets_ * ways_; }
  std::uint64_t key(SlotIndex slot) const { return keys_[slot]; }
  StatSource const& replacement() const { return replacement_; }

  // The slot of `key`, whose use this is; nothing when it is absent.
  std::optional<SlotIndex> find(std::uint32_t set, std::uint64_t key) {
    auto const slot = peek(set, key);
    if (slot) {
      touch(set, *slot);
      if (tells_uses_.value != 0) replacement_->used(set, *slot - set * ways_);
    }
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
  // Puts an absent key in the place of an empty or another one.
  Inserted insert(std::uint32_t set, std::uint64_t key) {
    auto const base = set * ways_;
    std::uint32_t way = 0;
    while (way < ways_ && keys_[base + way] != kEmpty) {
      FF_INVARIANT(keys_[base + way] != key, "a key is inserted twice");
      ++way;
    }
    if (way == ways_) way = victim(set, key);
    auto const slot = base + way;
    auto const evicted = keys_[slot];
    keys_[slot] = key;
    touch(set, slot);
    if (!inserted_.empty()) inserted_[slot] = clock_;
    if (tells_uses_.value != 0) replacement_->inserted(set, way, key);
    return {slot, evicted};
  }

  // The slot of `key`, put in where it is absent; a use of it.
  SlotIndex put(std::uint32_t set, std::uint64_t key) {
    auto const present = find(set, key);
    return present ? *present : insert(set, key).slot;
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

  auto members() {
    return std::tie(sets_, ways_, clock_, keys_, used_, inserted_, recent_, replacement_, tells_uses_);
  }

 private:
  void touch(std::uint32_t set, SlotIndex slot) {
    used_[slot] = ++clock_;
    recent_[set] = slot - set * ways_;
  }
  std::uint32_t victim(std::uint32_t set, std::uint64_t coming) {
    auto const base = std::size_t{set} * ways_;
    auto const of_set = [&](std::vector<std::uint64_t> const& all) {
      return std::span(all.data() + base, ways_);
    };
    auto const way =
        replacement_->victim({set, coming, of_set(keys_), of_set(used_),
                              inserted_.empty() ? std::span<std::uint64_t const>() : of_set(inserted_)});
    FF_CHECK(way < ways_, "a replacement policy names a way that is not there");
    return way;
  }

  std::uint32_t sets_ = 0;
  std::uint32_t ways_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> used_;      // when last used, in uses
  std::vector<std::uint64_t> inserted_;  // when put in, on the same clock; empty unless wanted
  std::vector<std::uint32_t> recent_;    // by set: the way used last, compared first
  Policy<Replacement> replacement_;
  Fixed<std::uint64_t> tells_uses_{};
};

// Has arrays of one choice of replacement, whose statistics are their sum.
class HasArrays : public StatSource {
 public:
  virtual std::span<SetAssociative const> arrays() const = 0;
  void sample(std::uint64_t* out) const final {
    for (auto const& array : arrays()) array.replacement().sample(out);
  }
};

}  // namespace farfault
