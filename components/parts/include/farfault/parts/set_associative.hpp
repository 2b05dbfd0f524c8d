// SPDX-License-Identifier: Apache-2.0
// Set-associative array of keys: the storage of every TLB and cache.
//
// - Keys have 64 bits and are not all ones. A key is inserted into the first empty way of its set, or
//   replaces the victim of the replacement policy (replacement.hpp).
// - The caller selects the set, so the index function is the caller's policy.
// - A slot number is below slots() and stable until its key is replaced. hold_slots() grows a caller's array
//   indexed by slot.
// - An array without slots can be created and sampled; no key may be looked up in it.
// - Time: a scan of one set. Memory grows with the sets in use: most caches of a large machine never fill.
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
      : sets_(sets), ways_(ways) {
    if (slots() == 0) return;
    replacement_ = replacement.make({sets, ways});
    auto const wants = replacement.facts();
    wants_.value = {wants.insertions ? 1U : 0U, wants.uses ? 1U : 0U};
  }

  std::uint32_t sets() const { return sets_; }
  std::uint32_t ways() const { return ways_; }
  std::uint32_t slots() const { return sets_ * ways_; }
  std::uint64_t key(SlotIndex slot) const { return slot < keys_.size() ? keys_[slot] : kEmpty; }
  StatSource const& replacement() const { return replacement_; }

  // Slot of `key`, which counts as used; nothing if the key is absent.
  std::optional<SlotIndex> find(std::uint32_t set, std::uint64_t key) {
    auto const slot = peek(set, key);
    if (slot) {
      touch(set, *slot);
      if (wants_.value.uses != 0) replacement_->used(set, *slot - places_[set].first);
    }
    return slot;
  }
  std::optional<SlotIndex> peek(std::uint32_t set, std::uint64_t key) const {
    if (places_.empty()) return std::nullopt;
    auto const place = places_[set];
    if (place.recent == kNone) return std::nullopt;
    if (keys_[place.recent] == key) return place.recent;
    auto const way = first_of(keys_.data() + place.first, ways_, key);
    if (way == ways_) return std::nullopt;
    return place.first + way;
  }

  struct Inserted {
    SlotIndex slot;
    std::uint64_t evicted;  // kEmpty if no key was evicted
  };
  // Inserts an absent key into an empty way or in place of a victim.
  Inserted insert(std::uint32_t set, std::uint64_t key) {
    if (places_.empty() || places_[set].recent == kNone) make_place(set);
    auto const base = places_[set].first;
    FF_INVARIANT(!peek(set, key), "key is inserted twice");
    // Ways are filled in order: without erasures, a set is full when its last way is occupied.
    auto way = ways_;
    if (erased_ != 0 || keys_[base + ways_ - 1] == kEmpty) way = first_of(keys_.data() + base, ways_, kEmpty);
    if (way == ways_) way = victim(set, key);
    auto const slot = base + way;
    auto const evicted = keys_[slot];
    keys_[slot] = key;
    touch(set, slot);
    if (!inserted_.empty()) inserted_[slot] = clock_;
    if (wants_.value.uses != 0) replacement_->inserted(set, way, key);
    return {slot, evicted};
  }

  // Slot of `key`, inserted if absent. Counts as a use.
  SlotIndex put(std::uint32_t set, std::uint64_t key) {
    auto const present = find(set, key);
    return present ? *present : insert(set, key).slot;
  }

  // Grows `by_slot` to hold an element for each slot that has been used.
  template <class T>
  void hold_slots(std::vector<T>& by_slot) const {
    if (by_slot.size() >= keys_.size()) [[likely]]
      return;
    by_slot.resize(keys_.size());
  }
  // Calls f(slot, key) for each key, set by set.
  template <class F>
  void each(F&& f) const {
    for (auto const& place : places_) {
      if (place.recent == kNone) continue;
      for (auto slot = place.first; slot < place.first + ways_; ++slot)
        if (keys_[slot] != kEmpty) f(slot, keys_[slot]);
    }
  }
  // First slot of a set; nothing if no key was ever inserted into it.
  std::optional<SlotIndex> first_slot(std::uint32_t set) const {
    if (places_.empty() || places_[set].recent == kNone) return std::nullopt;
    return places_[set].first;
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
    erased_ = 1;
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
    erased_ = 0;
  }

  auto members() {
    return std::tie(sets_, ways_, placed_, erased_, clock_, places_, keys_, used_, inserted_, replacement_,
                    wants_);
  }

 private:
  static constexpr SlotIndex kNone = std::numeric_limits<SlotIndex>::max();
  struct Wants {  // of the replacement policy, in 8 bytes
    std::uint32_t insertions = 0;
    std::uint32_t uses = 0;
  };
  struct Place {  // of a set
    SlotIndex first = 0;
    SlotIndex recent = kNone;  // most recently used slot, compared first; kNone: no key was ever inserted
  };

  // Slots are assigned to sets in the order of their first use.
  [[gnu::noinline]] void make_place(std::uint32_t set) {
    if (places_.empty()) places_.resize(sets_);
    if (placed_ == keys_.size()) grow();
    places_[set] = {placed_, placed_};
    placed_ += ways_;
  }
  // Grows to 1/16 of the sets, then 1/4, then all.
  void grow() {
    auto const sets = std::max(sets_ / 16, std::min(sets_, 4 * (placed_ / ways_)));
    auto const slots = std::size_t{std::max(sets, 1U)} * ways_;
    keys_.resize(slots, kEmpty);
    used_.resize(slots);
    if (wants_.value.insertions != 0) inserted_.resize(slots);
  }

  // Index of the first of `n` keys that equals `key`, or n. Not inlined, so that it takes no registers of its
  // callers.
  [[gnu::noinline]] static std::uint32_t first_of(std::uint64_t const* keys, std::uint32_t n,
                                                  std::uint64_t key) {
    return static_cast<std::uint32_t>(std::find(keys, keys + n, key) - keys);
  }
  void touch(std::uint32_t set, SlotIndex slot) {
    used_[slot] = ++clock_;
    places_[set].recent = slot;
  }
  std::uint32_t victim(std::uint32_t set, std::uint64_t incoming) {
    auto const base = places_[set].first;
    auto const of_set = [&](std::vector<std::uint64_t> const& all) {
      return std::span(all.data() + base, ways_);
    };
    auto const way = replacement_->victim(
        {.set = set,
         .incoming = incoming,
         .keys = of_set(keys_),
         .used = of_set(used_),
         .inserted = inserted_.empty() ? std::span<std::uint64_t const>() : of_set(inserted_)});
    FF_CHECK(way < ways_, "replacement policy selected a way that does not exist");
    return way;
  }

  std::uint32_t sets_ = 0;
  std::uint32_t ways_ = 0;
  SlotIndex placed_ = 0;      // slots of the sets in use
  std::uint32_t erased_ = 0;  // 1: a key was erased since the array was last empty
  std::uint64_t clock_ = 0;
  std::vector<Place> places_;            // by set; empty until the first insertion
  std::vector<std::uint64_t> keys_;      // by slot
  std::vector<std::uint64_t> used_;      // time of the last use, in uses
  std::vector<std::uint64_t> inserted_;  // insertion time on the same clock; empty unless requested
  Policy<Replacement> replacement_;
  Fixed<Wants> wants_{};
};

// Owner of arrays with one choice of replacement policy; their statistics are summed.
class HasArrays : public StatSource {
 public:
  virtual std::span<SetAssociative const> arrays() const = 0;
  void sample(std::uint64_t* out) const final {
    for (auto const& array : arrays()) array.replacement().sample(out);
  }
};

}  // namespace farfault
