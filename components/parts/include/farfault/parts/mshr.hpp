// Miss status holding registers: outstanding misses by key, each with the list of its waiters, in order.
//
// Capacity is fixed: `entries` misses and `waiters` waiting values in all; nothing is allocated after
// construction. Waiter must be plain data. A look-up takes the same however many entries there are: keys are
// hashed into as many chains as there are entries, or up to twice that.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"

namespace farfault {

template <class Waiter>
class MshrTable {
 public:
  static constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

  MshrTable() = default;
  MshrTable(std::uint32_t entries, std::uint32_t waiters)
      : keys_(entries, kFree),
        heads_(entries, kNone),
        tails_(entries, kNone),
        chains_(std::bit_ceil(std::uint64_t{entries} + 1), kNone),
        after_(entries, kNone),
        pool_(waiters),
        shift_{64 - static_cast<std::uint64_t>(std::countr_zero(chains_.size()))} {
    for (std::uint32_t i = 0; i < entries; ++i) free_entries_.push_back(entries - 1 - i);
    for (std::uint32_t i = 0; i < waiters; ++i) free_nodes_.push_back(waiters - 1 - i);
  }

  std::uint32_t in_use() const { return static_cast<std::uint32_t>(keys_.size() - free_entries_.size()); }
  std::uint32_t entries() const { return static_cast<std::uint32_t>(keys_.size()); }
  bool full() const { return free_entries_.empty(); }
  bool can_wait(std::uint32_t waiters = 1) const { return free_nodes_.size() >= waiters; }
  std::uint32_t free() const { return static_cast<std::uint32_t>(free_entries_.size()); }
  // Waiters of all entries.
  std::uint32_t waiting() const { return static_cast<std::uint32_t>(pool_.size() - free_nodes_.size()); }
  // kFree of an entry that is not in use.
  std::uint64_t key(std::uint32_t entry) const { return keys_[entry]; }

  std::optional<std::uint32_t> find(std::uint64_t key) const {
    if (keys_.empty()) return std::nullopt;
    for (auto i = chains_[chain_of(key)]; i != kNone; i = after_[i])
      if (keys_[i] == key) return i;
    return std::nullopt;
  }

  // Requires !full() and that the key is absent.
  std::uint32_t allocate(std::uint64_t key) {
    FF_INVARIANT(!find(key), "a second MSHR for one key");
    return allocate_one_more(key);
  }
  // Requires !full(). The key may have other entries; find() then names any of them.
  std::uint32_t allocate_one_more(std::uint64_t key) {
    auto const entry = free_entries_.back();
    free_entries_.pop_back();
    keys_[entry] = key;
    heads_[entry] = tails_[entry] = kNone;
    auto& chain = chains_[chain_of(key)];
    after_[entry] = chain;
    chain = entry;
    return entry;
  }

  // Requires can_wait().
  void wait(std::uint32_t entry, Waiter const& waiter) {
    auto const node = free_nodes_.back();
    free_nodes_.pop_back();
    pool_[node].waiter = waiter;
    pool_[node].next = kNone;
    if (heads_[entry] == kNone)
      heads_[entry] = node;
    else
      pool_[tails_[entry]].next = node;
    tails_[entry] = node;
  }

  // Calls f(waiter) for the first waiter, if any.
  template <class F>
  void first_waiter(std::uint32_t entry, F&& f) const {
    if (heads_[entry] != kNone) f(pool_[heads_[entry]].waiter);
  }

  // Calls f(waiter) for each waiter, in order.
  template <class F>
  void each_waiter(std::uint32_t entry, F&& f) const {
    for (auto node = heads_[entry]; node != kNone; node = pool_[node].next) f(pool_[node].waiter);
  }

  // Frees the entry and calls f(waiter) for each waiter, in order; f may use the table.
  template <class F>
  void release(std::uint32_t entry, F&& f) {
    auto node = heads_[entry];
    auto* link = &chains_[chain_of(keys_[entry])];
    while (*link != entry) link = &after_[*link];
    *link = after_[entry];
    keys_[entry] = kFree;
    free_entries_.push_back(entry);
    while (node != kNone) {
      auto const waiter = pool_[node].waiter;
      auto const next = pool_[node].next;
      free_nodes_.push_back(node);
      node = next;
      f(waiter);
    }
  }

  auto members() {
    return std::tie(keys_, heads_, tails_, chains_, after_, pool_, free_entries_, free_nodes_, shift_);
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Node {
    Waiter waiter{};
    std::uint32_t next = kNone;
  };

  // Multiplicative hashing (Knuth, vol. 3, 6.4): the upper bits of the product.
  std::size_t chain_of(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> shift_.value);
  }

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> heads_;  // by entry: its first waiter, and its last
  std::vector<std::uint32_t> tails_;
  std::vector<std::uint32_t> chains_;  // by hash: the first entry
  std::vector<std::uint32_t> after_;   // by entry: the next one in its chain
  std::vector<Node> pool_;
  std::vector<std::uint32_t> free_entries_;
  std::vector<std::uint32_t> free_nodes_;
  Fixed<std::uint64_t> shift_{};  // of a hash, to its chain
};

}  // namespace farfault
