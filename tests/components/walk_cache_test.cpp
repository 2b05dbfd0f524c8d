// SPDX-License-Identifier: Apache-2.0
// Contract of every page-walk cache, and the contents of the unified one.
#include "farfault/translation/walk_cache.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>

#include "choices.hpp"
#include "farfault/translation/page_table.hpp"

namespace walk_cache_test {

using namespace farfault;
using test::kLru;

namespace {

std::uint64_t page_of(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  return ((a * 512 + b) * 512 + c) * 512 + d;
}

constexpr PageLevels kLevels{12};
constexpr std::uint64_t kSpace = std::uint64_t{1} << 36;  // first page of the second address space

Policy<WalkCache> make(PolicyChoice<WalkCache> const& choice, std::uint32_t entries) {
  return choice.make({entries, kLru});
}

// Nodes of a table in which every path has its own nodes, by level and path; the path includes the address
// space.
std::uint64_t node_of(std::uint64_t page, unsigned level, unsigned page_bits) {
  auto const path = page << page_bits >> (12 + (4 - level) * 9);  // a node of level 3 covers 2 MiB
  return (path * 8 + level) * 2 + 1;
}

// Walks from the cached start to the leaf. Returns the number of entries read.
unsigned walk(Policy<WalkCache>& cache, std::uint64_t page, unsigned page_bits = 12) {
  PageLevels const levels(page_bits);
  auto const start = cache->start(page, levels);
  REQUIRE(start.level < levels.count());
  REQUIRE(start.node == (start.level == 0 ? 0 : node_of(page, start.level, page_bits)));
  for (auto level = start.level + 1; level < levels.count(); ++level)
    cache->remember(page, level, levels, node_of(page, level, page_bits));
  return levels.count() - start.level;
}

}  // namespace

TEST_CASE("every page-walk cache starts a walk on the page's own path, in its own address space") {
  for (auto const& name : test::names_of_known<WalkCache>()) {
    CAPTURE(name);
    PolicyChoice<WalkCache> const choice(name);
    for (auto const entries : {1U, 4U, 64U}) {
      auto cache = make(choice, entries);
      auto loaded = make(choice, entries);
      std::mt19937_64 random(entries);
      std::uint64_t short_walks = 0;
      for (int i = 0; i < 10'000; ++i) {
        if (i == 5000) test::copy_state(cache, loaded);
        auto const page =
            random() % 2 << 36 | page_of(random() % 2, random() % 2, random() % 4, random() % 4);
        auto const reads = walk(cache, page);
        if (i >= 5000) REQUIRE(walk(loaded, page) == reads);
        short_walks += reads < 4 ? 1 : 0;
      }
      CHECK(short_walks > 100);
      CHECK(test::hash_of(cache) == test::hash_of(loaded));
    }
  }
}

TEST_CASE("every page-walk cache starts a walk for a 64 KiB page on its own path: last nodes are for 2 MiB") {
  for (auto const& name : test::names_of_known<WalkCache>()) {
    CAPTURE(name);
    auto cache = make(PolicyChoice<WalkCache>(name), 64);
    std::mt19937_64 random(3);
    std::uint64_t one_read = 0;
    for (int i = 0; i < 2000; ++i) {
      auto const page = random() % 2 << 32 | random() % 2 << 14 | random() % 128;
      one_read += walk(cache, page, 16) == 1 ? 1 : 0;
    }
    CHECK(one_read > 1000);
  }
}

TEST_CASE("every page-walk cache without entries starts each walk at the root") {
  for (auto const& name : test::names_of_known<WalkCache>()) {
    CAPTURE(name);
    PolicyChoice<WalkCache> const choice(name);
    auto cache = make(choice, 0);
    cache->remember(5, 3, kLevels, 1);
    CHECK(cache->start(5, kLevels).level == 0);
    CHECK(cache->start(5, kLevels).node == 0);
    cache->sample(nullptr);
  }
}

TEST_CASE("a unified page-walk cache starts a walk at the deepest cached node") {
  PolicyChoice<WalkCache> const choice("unified");
  auto cache = make(choice, 8);
  auto const page = page_of(1, 2, 3, 4);
  CHECK(cache->start(page, kLevels).level == 0);
  cache->remember(page, 1, kLevels, 11);
  CHECK(cache->start(page, kLevels).level == 1);
  CHECK(cache->start(page, kLevels).node == 11);
  cache->remember(page, 3, kLevels, 33);
  CHECK(cache->start(page, kLevels).level == 3);
  CHECK(cache->start(page, kLevels).node == 33);
  // Pages with a shorter common path start at a higher level.
  CHECK(cache->start(page_of(1, 2, 3, 500), kLevels).level == 3);
  CHECK(cache->start(page_of(1, 2, 4, 4), kLevels).level == 1);
  CHECK(cache->start(page_of(2, 2, 3, 4), kLevels).level == 0);
  CHECK(cache->start(kSpace + page, kLevels).level == 0);
}

TEST_CASE("a unified page-walk cache replaces the least recently used node if configured") {
  PolicyChoice<WalkCache> const choice("unified");
  auto cache = make(choice, 2);
  cache->remember(page_of(0, 0, 1, 0), 3, kLevels, 1);
  cache->remember(page_of(0, 0, 2, 0), 3, kLevels, 2);
  CHECK(cache->start(page_of(0, 0, 1, 7), kLevels).level == 3);  // used: 2 is the older one now
  cache->remember(page_of(0, 0, 3, 0), 3, kLevels, 3);
  CHECK(cache->start(page_of(0, 0, 2, 0), kLevels).level == 0);
  CHECK(cache->start(page_of(0, 0, 1, 0), kLevels).node == 1);
  CHECK(cache->start(page_of(0, 0, 3, 0), kLevels).node == 3);
  cache->remember(page_of(0, 0, 1, 0), 3, kLevels, 9);  // present: replaced in place
  CHECK(cache->start(page_of(0, 0, 1, 0), kLevels).node == 9);
  CHECK(cache->start(page_of(0, 0, 3, 0), kLevels).node == 3);
}

}  // namespace walk_cache_test
