// SPDX-License-Identifier: Apache-2.0
// Visits every state of a World once, depth first, and counts what must not occur.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "page_world.hpp"

namespace farfault::page_world {

// A state as its difference from the first one: most of it never changes.
//
// The first state is a list of blocks of bytes. Each block of another state consists of words that are equal
// to the first state's and of others, in turns; words are 8 bytes, the last one may be shorter.
using Blocks = std::vector<std::vector<std::byte>>;
using Packed = std::vector<std::uint8_t>;

class BlocksOf final : public Archive {
 public:
  explicit BlocksOf(Blocks& out) : out_(out) {}

 private:
  void bytes(std::byte* p, std::size_t n) override { out_.emplace_back(p, p + n); }
  void size(std::uint64_t&) override {}

  Blocks& out_;
};

// Blocks of the first state, one after the other. Beyond their end there are zeros.
class FirstState {
 public:
  explicit FirstState(Blocks& blocks) : blocks_(blocks) {}
  // The first n bytes of the next block.
  std::byte const* next(std::size_t n) {
    if (next_ == blocks_.size()) blocks_.emplace_back();
    auto& block = blocks_[next_++];
    if (block.size() < n) block.resize(n);
    return block.data();
  }

 private:
  Blocks& blocks_;
  std::size_t next_ = 0;
};

class Packer final : public Archive {
 public:
  Packer(Packed& out, Blocks& first) : out_(out), first_(first) { out_.clear(); }
  // Bytes before the last member.
  std::size_t without_last() const { return last_; }

 private:
  void bytes(std::byte* p, std::size_t n) override {
    last_ = out_.size();
    auto const* const first = first_.next(n);
    auto const equal = [&](std::size_t at, std::size_t size) {
      return at + size <= n && std::memcmp(p + at, first + at, size) == 0;
    };
    auto const width = [&](std::size_t at) { return std::min<std::size_t>(8, n - at); };
    for (std::size_t at = 0; at < n;) {
      auto const begin = at;
      for (std::size_t const size : {512, 64, 8})
        while (equal(at, size)) at += size;
      if (at < n && equal(at, width(at))) at = n;
      number((at - begin + 7) / 8);
      if (at >= n) return;
      auto const other = at;
      while (at < n && !equal(at, width(at))) at += width(at);
      number(at - other);
      auto const* const from = reinterpret_cast<std::uint8_t const*>(p);
      out_.insert(out_.end(), from + other, from + at);
    }
  }
  void size(std::uint64_t& n) override { number(n); }
  // Seven bits per byte.
  void number(std::uint64_t n) {
    for (; n >= 128; n /= 128) out_.push_back(static_cast<std::uint8_t>(n % 128 + 128));
    out_.push_back(static_cast<std::uint8_t>(n));
  }

  Packed& out_;
  FirstState first_;
  std::size_t last_ = 0;
};

class Unpacker final : public Archive {
 public:
  Unpacker(Packed const& in, Blocks& first) : next_(in.data()), first_(first) {}

 private:
  void bytes(std::byte* p, std::size_t n) override {
    auto const* const first = first_.next(n);
    for (std::size_t at = 0; at < n;) {
      auto const same = std::min<std::size_t>(number() * 8, n - at);
      std::memcpy(p + at, first + at, same);
      at += same;
      if (at >= n) return;
      auto const other = number();
      std::memcpy(p + at, next_, other);
      next_ += other;
      at += other;
    }
  }
  void size(std::uint64_t& n) override { n = number(); }
  std::uint64_t number() {
    std::uint64_t n = 0;
    unsigned shift = 0;
    for (; *next_ >= 128; shift += 7) n += std::uint64_t{*next_++ - 128U} << shift;
    return n + (std::uint64_t{*next_++} << shift);
  }

  std::uint8_t const* next_;
  FirstState first_;
};

struct Result {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;
  std::uint64_t deadlocks = 0;
  std::uint64_t livelocks = 0;  // states from which no end can be reached
  std::uint64_t wrong_owners = 0;
  std::uint64_t stale = 0;
  std::uint64_t lost = 0;
  std::uint64_t seen = 0;  // changes (World::seen)
  std::array<bool, kPageSteps> taken{};

  void add(Result const& r) {
    states += r.states;
    ends += r.ends;
    deadlocks += r.deadlocks;
    livelocks += r.livelocks;
    wrong_owners += r.wrong_owners;
    stale += r.stale;
    lost += r.lost;
    seen |= r.seen;
    for (std::size_t i = 0; i < kPageSteps; ++i) taken[i] = taken[i] || r.taken[i];
  }
  bool saw(Change c) const { return (seen >> static_cast<unsigned>(c) & 1U) != 0; }
  bool took(PageStep step) const { return taken[static_cast<std::size_t>(step)]; }
};

inline void check(Result const& r) {
  CHECK(r.states > 10);
  CHECK(r.ends > 0);
  CHECK(r.deadlocks == 0);
  CHECK(r.livelocks == 0);
  CHECK(r.wrong_owners == 0);
  CHECK(r.stale == 0);
  CHECK(r.lost == 0);
}

class Search {
 public:
  Search(PagingDriverSpec const& spec, std::vector<Request> const& requests) : world_(spec, requests) {}

  World& world() { return world_; }
  Result run() {
    BlocksOf blocks(first_);
    blocks(world_);
    visit();
    while (!open_.empty()) {
      auto const [number, state] = std::move(open_.back());
      open_.pop_back();
      follow(number, state);
    }
    result_.states = numbers_.size();
    result_.stale = world_.stale();
    result_.lost = world_.lost();
    result_.seen = world_.seen();
    result_.livelocks = states_without_end();
    return result_;
  }

 private:
  static constexpr std::uint32_t kEnd = 0;  // edges of an end lead here
  struct Edge {
    std::uint32_t from, to;
  };

  // Returns its hash. The last member, the counts of steps, distinguishes no states.
  std::uint64_t save(Packed& state) {
    Packer pack(state, first_);
    pack(world_);
    Hasher hasher;
    hasher.raw(reinterpret_cast<std::byte const*>(state.data()), pack.without_last());
    return hasher.value();
  }
  void load(Packed const& state) {
    Unpacker unpack(state, first_);
    unpack(world_);
  }
  // Numbers the world's state, from 1; a new one is to be followed.
  std::uint32_t visit() {
    auto const number = static_cast<std::uint32_t>(numbers_.size() + 1);
    auto const [at, is_new] = numbers_.emplace(save(packed_), number);
    if (!is_new) return at->second;
    result_.wrong_owners += world_.wrong_owners();
    open_.emplace_back(number, packed_);
    return number;
  }
  // Takes each event that may happen next, once for each way to make its choices.
  void follow(std::uint32_t number, Packed const& state) {
    load(state);
    auto const events = world_.events();
    if (events.empty()) {
      ++result_.ends;
      result_.deadlocks += world_.is_at_rest() ? 0 : 1;
      edges_.push_back({number, kEnd});
    }
    bool loaded = true;
    for (auto const& event : events) {
      choices.start();
      do {
        if (!std::exchange(loaded, false)) load(state);
        world_.happen(event);
        note_steps();
        edges_.push_back({number, visit()});
      } while (choices.next());
    }
  }
  void note_steps() {
    auto const& taken = world_.taken();
    for (std::size_t i = 0; i < kPageSteps; ++i) result_.taken[i] = result_.taken[i] || taken[i] != 0;
  }
  std::uint64_t states_without_end() const {
    // Edges to state n are sources[begins[n]] and on.
    std::vector<std::uint32_t> begins(numbers_.size() + 2);
    for (auto const& e : edges_) ++begins[e.to + 1];
    for (std::size_t n = 1; n < begins.size(); ++n) begins[n] += begins[n - 1];
    std::vector<std::uint32_t> sources(edges_.size());
    auto next = begins;
    for (auto const& e : edges_) sources[next[e.to]++] = e.from;

    std::vector<bool> ends(numbers_.size() + 1);
    std::vector<std::uint32_t> open{kEnd};
    std::uint64_t left = numbers_.size();
    while (!open.empty()) {
      auto const n = open.back();
      open.pop_back();
      for (auto i = begins[n]; i < begins[n + 1]; ++i) {
        auto const from = sources[i];
        if (ends[from]) continue;
        ends[from] = true;
        --left;
        open.push_back(from);
      }
    }
    return left;
  }

  World world_;
  Blocks first_;
  Packed packed_;
  Result result_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by hash
  std::vector<std::pair<std::uint32_t, Packed>> open_;        // states to be followed
  std::vector<Edge> edges_;
};

}  // namespace farfault::page_world
