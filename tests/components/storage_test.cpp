// SPDX-License-Identifier: Apache-2.0
// Passive storage parts: set-associative arrays, caches, MSHRs and rings.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <random>
#include <vector>

#include "choices.hpp"
#include "farfault/engine/archive.hpp"
#include "farfault/memory/cache.hpp"
#include "farfault/parts/mshr.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/parts/set_associative.hpp"

namespace storage_test {

using namespace farfault;
using test::kLru;

namespace {

// LRU reference, as plain as possible: one list per set, most recent key first.
class ObviousLru {
 public:
  ObviousLru(std::uint32_t sets, std::uint32_t ways) : ways_(ways), lists_(sets) {}
  bool find(std::uint32_t set, std::uint64_t key) {
    auto& l = lists_[set];
    auto const it = std::find(l.begin(), l.end(), key);
    if (it == l.end()) return false;
    l.splice(l.begin(), l, it);
    return true;
  }
  std::uint64_t insert(std::uint32_t set, std::uint64_t key) {
    auto& l = lists_[set];
    auto evicted = SetAssociative::kEmpty;
    if (l.size() == ways_) {
      evicted = l.back();
      l.pop_back();
    }
    l.push_front(key);
    return evicted;
  }
  bool erase(std::uint32_t set, std::uint64_t key) {
    auto const n = lists_[set].size();
    lists_[set].remove(key);
    return lists_[set].size() != n;
  }
  void clear() {
    for (auto& l : lists_) l.clear();
  }

 private:
  std::uint32_t ways_;
  std::vector<std::list<std::uint64_t>> lists_;
};

struct Shape {
  std::uint32_t sets;
  std::uint32_t ways;
};

}  // namespace

TEST_CASE("a set-associative array finds, replaces and erases like a simple LRU list") {
  std::mt19937_64 random(1);
  for (auto const [sets, ways] : {Shape{1, 1}, Shape{1, 2}, Shape{3, 4}, Shape{8, 32}, Shape{64, 1}}) {
    SetAssociative array(sets, ways, kLru);
    ObviousLru reference(sets, ways);
    std::uint64_t evictions = 0;
    for (int i = 0; i < 40'000; ++i) {
      auto const set = static_cast<std::uint32_t>(random() % sets);
      auto const key = random() % (2 * ways + 2);
      switch (random() % 16) {
        case 0:
          REQUIRE(array.erase(set, key) == reference.erase(set, key));
          break;
        case 1:
          if (random() % 200 == 0) {
            array.clear();
            reference.clear();
          }
          break;
        default: {
          auto const slot = array.find(set, key);
          REQUIRE(slot.has_value() == reference.find(set, key));
          if (slot) {
            REQUIRE(array.key(*slot) == key);
            REQUIRE(*slot < array.slots());
          } else {
            auto const evicted = array.insert(set, key).evicted;
            REQUIRE(evicted == reference.insert(set, key));
            if (evicted != SetAssociative::kEmpty) ++evictions;
          }
        }
      }
    }
    CHECK(evictions > 1000);
  }
}

TEST_CASE("a look-up without touching does not affect the replacement order") {
  SetAssociative array(1, 2, kLru);
  array.insert(0, 10);
  array.insert(0, 11);
  CHECK(array.peek(0, 10).has_value());
  CHECK(array.insert(0, 12).evicted == 10);
  CHECK(array.find(0, 11).has_value());
  CHECK(array.insert(0, 13).evicted == 12);
}

TEST_CASE("a slot keeps its number until its key is replaced") {
  SetAssociative array(2, 2, kLru);
  auto const a = array.insert(1, 7).slot;
  array.insert(1, 8);
  array.insert(0, 7);
  CHECK(array.find(1, 7) == a);
  array.insert(1, 9);
  CHECK(array.find(1, 7) == a);
}

namespace {

template <class T>
std::vector<std::byte> saved(T& part) {
  std::vector<std::byte> bytes;
  Saver saver(bytes);
  saver(part);
  return bytes;
}

}  // namespace

TEST_CASE("unused caches and MSHRs allocate nothing at any size") {
  Cache small(4 << 10, 16, 64, kLru);
  Cache large(64 << 20, 16, 64, kLru);
  MshrTable<std::uint64_t> few(4, 4);
  MshrTable<std::uint64_t> many(4096, 65'536);
  CHECK(large.lookup(7) == false);
  CHECK(saved(large).size() == saved(small).size());
  CHECK(saved(many).size() == saved(few).size());
}

TEST_CASE("the memory of a cache grows with the used sets, not with its size") {
  Cache cache(1 << 20, 16, 64, kLru);  // 1,024 sets
  for (std::uint64_t line = 0; line < 10; ++line) cache.fill(line, false);
  // 64 sets of 16 ways, each with a key, a time and a dirty bit, and 8 bytes per set.
  CHECK(saved(cache).size() < 64 * 16 * 17 + 1024 * 8 + 256);
  for (std::uint64_t line = 0; line < 1024; ++line) cache.fill(line, false);
  CHECK(saved(cache).size() > 1024 * 16 * 17);
}

TEST_CASE("dirty lines are found set by set, in any order of use, also in a loaded cache") {
  std::mt19937_64 random(7);
  Cache cache(64 << 10, 4, 64, kLru);   // 256 sets
  std::map<std::uint64_t, bool> dirty;  // by line; no set exceeds its ways
  for (int i = 0; i < 300; ++i) {
    auto const line = random() % 1024;
    bool const written = random() % 2 == 0;
    cache.fill(line, written);
    dirty[line] = dirty[line] || written;
  }
  auto const bytes = saved(cache);
  Cache loaded(64 << 10, 4, 64, kLru);
  Loader loader(bytes);
  loader(loaded);
  CHECK(loader.at_end());
  for (auto* c : {&cache, &loaded}) {
    std::uint64_t found = 0;
    std::uint64_t from = 0;
    while (auto const next = c->first_dirty(from)) {
      REQUIRE(dirty[next->line]);
      REQUIRE(next->place / 4 == next->line % 256);
      REQUIRE(next->place >= from);
      c->clean(next->place);
      from = next->place + 1;
      ++found;
    }
    CHECK(found ==
          static_cast<std::uint64_t>(std::ranges::count_if(dirty, [](auto const& d) { return d.second; })));
    CHECK_FALSE(c->first_dirty(0).has_value());
  }
}

TEST_CASE("a cache reports the evicted line and its dirty state") {
  Cache cache(4 * 64, 2, 64, kLru);  // two sets of two ways
  CHECK_FALSE(cache.fill(0, false).has_value());
  CHECK_FALSE(cache.fill(2, true).has_value());
  CHECK(cache.write(0));
  CHECK_FALSE(cache.write(4));  // absent: not inserted
  CHECK(cache.lookup(2));
  auto const dirty = cache.fill(4, false);  // line 0 is the least recent
  REQUIRE(dirty.has_value());
  CHECK(dirty->line == 0);
  CHECK(dirty->dirty);
  auto const born_dirty = cache.fill(6, false);
  REQUIRE(born_dirty.has_value());
  CHECK(born_dirty->line == 2);
  CHECK(born_dirty->dirty);
  auto const clean = cache.fill(8, false);
  REQUIRE(clean.has_value());
  CHECK(clean->line == 4);
  CHECK_FALSE(clean->dirty);
  CHECK_FALSE(cache.lookup(1));  // the other set is empty
}

TEST_CASE("filling a resident line keeps it dirty and evicts nothing") {
  Cache cache(2 * 64, 2, 64, kLru);
  cache.fill(0, true);
  cache.fill(1, false);
  CHECK_FALSE(cache.fill(0, false).has_value());
  cache.fill(1, false);
  auto const out = cache.fill(2, false);
  REQUIRE(out.has_value());
  CHECK(out->line == 0);
  CHECK(out->dirty);
}

TEST_CASE("an emptied cache holds nothing, including dirty lines") {
  Cache cache(4 * 64, 4, 64, kLru);
  for (std::uint64_t line = 0; line < 4; ++line) cache.fill(line, true);
  cache.clear();
  for (std::uint64_t line = 0; line < 4; ++line) CHECK_FALSE(cache.lookup(line));
  for (std::uint64_t line = 4; line < 8; ++line) CHECK_FALSE(cache.fill(line, false).has_value());
  auto const out = cache.fill(8, false);
  REQUIRE(out.has_value());
  CHECK_FALSE(out->dirty);
}

TEST_CASE("a cache's dirty lines match a map of lines written and not yet evicted") {
  Cache cache(32 * 128, 4, 128, kLru);
  std::map<std::uint64_t, bool> inside;
  std::mt19937_64 random(3);
  std::uint64_t dirty_victims = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto const line = random() % 64;
    bool const write = random() % 4 == 0;
    bool const hit = write ? cache.write(line) : cache.lookup(line);
    REQUIRE(hit == (inside.count(line) != 0));
    if (!hit) {
      if (auto const out = cache.fill(line, write)) {
        REQUIRE(inside.at(out->line) == out->dirty);
        dirty_victims += out->dirty ? 1 : 0;
        inside.erase(out->line);
      }
      inside[line] = write;
    } else if (write) {
      inside[line] = true;
    }
    REQUIRE(inside.size() <= 32);
  }
  CHECK(dirty_victims > 1000);
}

TEST_CASE("an MSHR table returns waiters in their order of arrival") {
  MshrTable<std::uint32_t> table(2, 5);
  auto const a = table.allocate(100);
  auto const b = table.allocate(200);
  CHECK(table.full());
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK(table.can_wait());
    table.wait(i % 2 == 0 ? a : b, i);
  }
  CHECK_FALSE(table.can_wait());
  std::vector<std::uint32_t> first;
  table.first_waiter(b, [&](std::uint32_t w) { first.push_back(w); });
  CHECK(first == std::vector<std::uint32_t>{1});
  std::vector<std::uint32_t> got;
  table.release(a, [&](std::uint32_t w) { got.push_back(w); });
  CHECK(got == std::vector<std::uint32_t>{0, 2, 4});
  CHECK(table.in_use() == 1);
  CHECK_FALSE(table.find(100).has_value());
  CHECK(table.find(200) == b);
  got.clear();
  table.release(b, [&](std::uint32_t w) { got.push_back(w); });
  CHECK(got == std::vector<std::uint32_t>{1, 3});
}

TEST_CASE("a waiter called back by an MSHR table may take the entry and wait again") {
  MshrTable<std::uint32_t> table(1, 2);
  table.wait(table.allocate(1), 7);
  table.wait(*table.find(1), 8);
  std::vector<std::uint32_t> got;
  table.release(*table.find(1), [&](std::uint32_t w) {
    got.push_back(w);
    auto const entry = table.find(2);
    table.wait(entry ? *entry : table.allocate(2), w + 10);
  });
  CHECK(got == std::vector<std::uint32_t>{7, 8});
  got.clear();
  table.release(*table.find(2), [&](std::uint32_t w) { got.push_back(w); });
  CHECK(got == std::vector<std::uint32_t>{17, 18});
  CHECK(table.in_use() == 0);
}

TEST_CASE("an MSHR table agrees with a map of lists under random use and never loses an entry") {
  constexpr std::uint32_t kEntries = 6;
  constexpr std::uint32_t kWaiters = 20;
  MshrTable<std::uint32_t> table(kEntries, kWaiters);
  std::map<std::uint64_t, std::vector<std::uint32_t>> reference;
  std::size_t waiting = 0;
  std::mt19937_64 random(4);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    auto const key = random() % 12;
    auto entry = table.find(key);
    REQUIRE(entry.has_value() == (reference.count(key) != 0));
    REQUIRE(table.full() == (reference.size() == kEntries));
    REQUIRE(table.can_wait() == (waiting < kWaiters));
    REQUIRE(table.in_use() == reference.size());
    if (entry && random() % 4 == 0) {
      REQUIRE(table.key(*entry) == key);
      std::vector<std::uint32_t> got;
      table.release(*entry, [&](std::uint32_t w) { got.push_back(w); });
      REQUIRE(got == reference[key]);
      waiting -= got.size();
      reference.erase(key);
    } else if (table.can_wait() && (entry || !table.full())) {
      table.wait(entry ? *entry : table.allocate(key), i);
      reference[key].push_back(i);
      ++waiting;
    }
  }
}

TEST_CASE("a ring is first in, first out through many wraps, full, empty, and while it grows") {
  for (std::uint64_t const capacity : {1U, 3U, 8U, 100U}) {
    Ring<std::uint32_t> ring(capacity);
    std::deque<std::uint32_t> reference;
    std::mt19937_64 random(5);
    CHECK(ring.capacity() == capacity);
    std::uint64_t longest = 0;
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      REQUIRE(ring.size() == reference.size());
      REQUIRE(ring.empty() == reference.empty());
      REQUIRE(ring.full() == (reference.size() == capacity));
      if (!reference.empty()) REQUIRE(ring.front() == reference.front());
      bool const filling = i / 500 % 2 == 0;
      if (random() % 4 < (filling ? 3U : 1U) && !ring.full()) {
        ring.push(i);
        reference.push_back(i);
      } else if (!ring.empty()) {
        ring.pop();
        reference.pop_front();
      }
      longest = std::max(longest, ring.size());
    }
    CHECK(longest == capacity);
  }
}

}  // namespace storage_test
