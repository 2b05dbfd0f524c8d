// SPDX-License-Identifier: Apache-2.0
// Miss-status holding registers: outstanding misses by key, each with a list of waiters in order.
//
// - Capacity is fixed: `entries` misses, and `waiters` waiters in total. Waiter must be plain data.
// - Memory grows with the maximum in use: few tables of a large machine ever fill.
// - Look-up time does not depend on the number of entries: there are one to two times as many hash chains.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/parts/free_numbers.hpp"

namespace farfault {

template <class Waiter>
class MshrTable {
 public:
  static constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

  MshrTable() = default;
  MshrTable(std::uint32_t entries, std::uint32_t waiters)
      : free_entries_(entries),
        free_nodes_(waiters),
        shift_{64 - static_cast<std::uint64_t>(std::bit_width(std::uint64_t{entries} | 1))} {}

  std::uint32_t in_use() const { return free_entries_.taken(); }
  std::uint32_t entries() const { return free_entries_.bound(); }
  bool full() const { return free_entries_.empty(); }
  bool can_wait(std::uint32_t waiters = 1) const { return free_nodes_.size() >= waiters; }
  std::uint32_t free() const { return free_entries_.size(); }
  // Waiters of all entries.
  std::uint32_t waiting() const { return free_nodes_.taken(); }
  // kFree if the entry is not in use.
  std::uint64_t key(std::uint32_t entry) const {
    return entry < entries_.size() ? entries_[entry].key : kFree;
  }

  std::optional<std::uint32_t> find(std::uint64_t key) const {
    if (chains_.empty()) return std::nullopt;
    for (auto i = chains_[chain_of(key)]; i != kNone; i = entries_[i].after)
      if (entries_[i].key == key) return i;
    return std::nullopt;
  }

  // Requires !full() and that the key is absent.
  std::uint32_t allocate(std::uint64_t key) {
    FF_INVARIANT(!find(key), "key already has an MSHR");
    return allocate_one_more(key);
  }
  // Requires !full(). The key may have other entries; find() then returns any of them.
  std::uint32_t allocate_one_more(std::uint64_t key) {
    if (chains_.empty()) chains_.assign(std::uint64_t{1} << (64 - shift_.value), kNone);
    auto const entry = free_entries_.take(entries_);
    auto& chain = chains_[chain_of(key)];
    entries_[entry] = {.key = key, .head = kNone, .tail = kNone, .after = chain};
    chain = entry;
    return entry;
  }

  // Requires can_wait().
  void wait(std::uint32_t entry, Waiter const& waiter) { one_more(entry) = waiter; }
  // Like wait(), but the caller fills in the returned waiter. This avoids a copy.
  Waiter& one_more(std::uint32_t entry) {
    auto const node = free_nodes_.take(pool_);
    pool_[node].next = kNone;
    auto& e = entries_[entry];
    if (e.head == kNone)
      e.head = node;
    else
      pool_[e.tail].next = node;
    e.tail = node;
    return pool_[node].waiter;
  }

  // Calls f(waiter) for the first waiter, if any.
  template <class F>
  void first_waiter(std::uint32_t entry, F&& f) const {
    if (auto const head = entries_[entry].head; head != kNone) f(pool_[head].waiter);
  }

  // Calls f(waiter) for each waiter, in order.
  template <class F>
  void each_waiter(std::uint32_t entry, F&& f) const {
    for (auto node = entries_[entry].head; node != kNone; node = pool_[node].next) f(pool_[node].waiter);
  }

  // Calls f(entry, key) for each entry in use, by number.
  template <class F>
  void each(F&& f) const {
    for (std::uint32_t e = 0; e < entries_.size(); ++e)
      if (entries_[e].key != kFree) f(e, entries_[e].key);
  }

  // Frees the entry and calls f(waiter) for each waiter, in order; f may use the table.
  template <class F>
  void release(std::uint32_t entry, F&& f) {
    auto& e = entries_[entry];
    auto node = e.head;
    auto* link = &chains_[chain_of(e.key)];
    while (*link != entry) link = &entries_[*link].after;
    *link = e.after;
    e.key = kFree;
    free_entries_.give_back(entry);
    while (node != kNone) {
      auto const waiter = pool_[node].waiter;
      auto const next = pool_[node].next;
      free_nodes_.give_back(node);
      node = next;
      f(waiter);
    }
  }

  auto members() { return std::tie(entries_, chains_, pool_, free_entries_, free_nodes_, shift_); }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Entry {
    std::uint64_t key = kFree;
    std::uint32_t head = kNone;  // first and last waiter
    std::uint32_t tail = kNone;
    std::uint32_t after = kNone;  // next entry of its chain
    std::uint32_t unused = 0;     // replaces padding
  };
  struct Node {
    Waiter waiter{};
    std::uint32_t next = kNone;
  };

  // Multiplicative hashing (Knuth, vol. 3, 6.4): the upper bits of the product.
  std::size_t chain_of(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> shift_.value);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> chains_;  // by hash: first entry; empty until the first allocation
  std::vector<Node> pool_;
  FreeNumbers free_entries_;
  FreeNumbers free_nodes_;
  Fixed<std::uint64_t> shift_{};  // from a hash to its chain
};

}  // namespace farfault
