// SPDX-License-Identifier: Apache-2.0
// Visits every state of a World once, depth first, and counts what must not occur.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "page_world.hpp"

namespace farfault::page_world {

// State without its zeros: runs of zero words and of other words alternate. Page tables are nearly empty.
class Packer final : public Archive {
 public:
  explicit Packer(std::vector<std::uint64_t>& out) : out_(out) { out_.clear(); }
  // Words before the last member.
  std::size_t without_last() const { return last_; }

 private:
  void bytes(std::byte* p, std::size_t n) override {
    last_ = out_.size();
    std::size_t at = 0;
    while (at < n) {
      auto const zeros = at;
      for (std::size_t const block : {512, 64})
        while (at + block <= n && std::memcmp(p + at, kZeros.data(), block) == 0) at += block;
      while (at < n && word(p, at, n) == 0) at += 8;
      auto const first = at;
      auto const run = out_.size();
      out_.push_back(0);
      for (std::uint64_t w = 0; at < n && (w = word(p, at, n)) != 0; at += 8) out_.push_back(w);
      out_[run] = (first - zeros) << 32 | (at - first);
    }
  }
  static std::uint64_t word(std::byte const* p, std::size_t at, std::size_t n) {
    std::uint64_t w = 0;
    if (at + 8 <= n)
      std::memcpy(&w, p + at, 8);
    else
      std::memcpy(&w, p + at, n - at);
    return w;
  }
  void size(std::uint64_t& n) override { out_.push_back(n); }

  static constexpr std::array<std::byte, 512> kZeros{};

  std::vector<std::uint64_t>& out_;
  std::size_t last_ = 0;
};

class Unpacker final : public Archive {
 public:
  explicit Unpacker(std::vector<std::uint64_t> const& in) : next_(in.data()) {}

 private:
  void bytes(std::byte* p, std::size_t n) override {
    for (std::size_t at = 0; at < n;) {
      auto const zeros = *next_ >> 32;
      auto const others = *next_++ & 0xffffffff;
      std::memset(p + at, 0, std::min(zeros, n - at));
      at += zeros;
      if (at >= n) return;
      auto const size = std::min<std::size_t>(others, n - at);
      std::memcpy(p + at, next_, size);
      next_ += others / 8;
      at += others;
    }
  }
  void size(std::uint64_t& n) override { n = *next_++; }

  std::uint64_t const* next_;
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
    visit();
    while (!open_.empty()) {
      auto const [number, state] = std::move(open_.back());
      open_.pop_back();
      follow(number, state);
    }
    result_.states = edges_.size();
    result_.stale = world_.stale();
    result_.lost = world_.lost();
    result_.seen = world_.seen();
    result_.livelocks = states_without_end();
    return result_;
  }

 private:
  using Packed = std::vector<std::uint64_t>;
  static constexpr std::uint32_t kEnd = 0;  // edges of an end lead here

  // Returns its hash. The last member, the counts of steps, distinguishes no states.
  std::uint64_t save(Packed& state) {
    Packer pack(state);
    pack(world_);
    Hasher hasher;
    for (std::size_t i = 0; i < pack.without_last(); ++i) hasher.mix(state[i]);
    return hasher.value();
  }
  void load(Packed const& state) {
    Unpacker unpack(state);
    unpack(world_);
  }
  // Numbers the world's state, from 1; a new one is to be followed.
  std::uint32_t visit() {
    Packed state;
    auto const number = static_cast<std::uint32_t>(edges_.size() + 1);
    auto const [at, is_new] = numbers_.emplace(save(state), number);
    if (!is_new) return at->second;
    edges_.emplace_back();
    result_.wrong_owners += world_.wrong_owners();
    open_.emplace_back(number, std::move(state));
    return number;
  }
  // Takes each event that may happen next.
  void follow(std::uint32_t number, Packed const& state) {
    load(state);
    auto const events = world_.events();
    if (events.empty()) {
      ++result_.ends;
      result_.deadlocks += world_.is_at_rest() ? 0 : 1;
      edges_[number - 1].push_back(kEnd);
    }
    for (auto const& e : events) {
      load(state);
      world_.happen(e);
      note_steps();
      auto const to = visit();
      edges_[number - 1].push_back(to);
    }
  }
  void note_steps() {
    auto const& taken = world_.taken();
    for (std::size_t i = 0; i < kPageSteps; ++i) result_.taken[i] = result_.taken[i] || taken[i] != 0;
  }
  std::uint64_t states_without_end() const {
    std::vector<std::vector<std::uint32_t>> back(edges_.size() + 1);
    for (std::uint32_t n = 0; n < edges_.size(); ++n)
      for (auto const to : edges_[n]) back[to].push_back(n + 1);
    std::vector<bool> ends(edges_.size() + 1);
    std::vector<std::uint32_t> open{kEnd};
    ends[kEnd] = true;
    std::uint64_t left = edges_.size();
    while (!open.empty()) {
      auto const n = open.back();
      open.pop_back();
      for (auto const from : back[n]) {
        if (ends[from]) continue;
        ends[from] = true;
        --left;
        open.push_back(from);
      }
    }
    return left;
  }

  World world_;
  Result result_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by hash
  std::vector<std::pair<std::uint32_t, Packed>> open_;        // states to be followed
  std::vector<std::vector<std::uint32_t>> edges_;             // by state
};

}  // namespace farfault::page_world
