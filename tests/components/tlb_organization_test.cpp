// What every organization of a TLB keeps to, and the plain one's sets.
#include "farfault/translation/tlb_organization.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "choices.hpp"

using namespace farfault;
using test::kLru;

namespace {

using Key = std::uint64_t;  // page, which names its address space

constexpr std::uint64_t kSpace = std::uint64_t{1} << 36;  // first page of the second address space

// The choices outlive what is made of them.
PolicyChoice<TlbOrganization> const& choice_of(std::string const& name) {
  static std::map<std::string, PolicyChoice<TlbOrganization>> choices;
  return choices.try_emplace(name, name).first->second;
}
Policy<TlbOrganization> make(std::string const& name, std::uint32_t entries, std::uint32_t ways) {
  return choice_of(name).make({entries, ways, 12, kLru});
}
Policy<TlbOrganization> plain(std::uint32_t entries, std::uint32_t ways) {
  return make("plain", entries, ways);
}
constexpr std::uint32_t kSizes = 1U | 1U << 2U | 1U << 9U;  // 1, 4 and 512 base pages
Policy<TlbOrganization> make_with_sizes(std::string const& name, std::uint32_t entries, std::uint32_t ways) {
  return choice_of(name).make({entries, ways, 12, kLru, kSizes});
}
constexpr std::uint64_t first_of(std::uint64_t page, unsigned size) {
  return page >> size << size;
}

std::optional<PhysAddr> frame(Policy<TlbOrganization>& tlb, std::uint64_t page) {
  auto const found = tlb->lookup(page);
  return found ? std::optional(found->frame) : std::nullopt;
}

std::map<Key, PhysAddr> entries_of(Policy<TlbOrganization> const& tlb) {
  std::map<Key, PhysAddr> entries;
  tlb->each_entry(
      [&](std::uint64_t page, PageTranslation const& t) { CHECK(entries.emplace(page, t.frame).second); });
  return entries;
}

struct Shape {
  std::uint32_t entries;
  std::uint32_t ways;
};
constexpr Shape kShapes[] = {{2, 1}, {8, 2}, {16, 16}, {32, 32}, {256, 32}};

// One random call, checked against what was filled and not invalidated since.
void step(Policy<TlbOrganization>& tlb, std::map<Key, PhysAddr>& filled, std::mt19937_64& random,
          std::uint64_t pages) {
  auto const page = random() % 4 == 0 ? (std::uint64_t{1} << 52) - 1 - random() % pages
                                      : random() % 3 << 36 | random() % pages;
  auto const known = filled.find(page);
  switch (random() % 8) {
    case 0: {
      bool const there = entries_of(tlb).count(page) != 0;
      REQUIRE(tlb->invalidate(page) == there);
      REQUIRE_FALSE(tlb->lookup(page).has_value());
      filled.erase(page);
      break;
    }
    case 1:
    case 2:
    case 3: {
      auto const to = random() % 1000 << 12;
      tlb->fill(page, {to});
      filled[page] = to;
      REQUIRE(frame(tlb, page) == to);
      break;
    }
    default:
      if (auto const found = frame(tlb, page)) {
        REQUIRE(known != filled.end());
        REQUIRE(*found == known->second);
      }
  }
}

// The same with pages of several sizes: what is filled, by first base page.
using Filled = std::map<Key, PageTranslation>;

Filled pages_of(Policy<TlbOrganization> const& tlb) {
  Filled pages;
  tlb->each_entry([&](std::uint64_t page, PageTranslation const& t) {
    CHECK(page == first_of(page, t.size));
    CHECK(pages.emplace(page, t).second);
  });
  return pages;
}
// Of a space, the page that holds base page `page`.
Filled::const_iterator holder(Filled const& pages, std::uint64_t page) {
  auto it = pages.upper_bound(page);
  if (it == pages.begin()) return pages.end();
  --it;
  return page - it->first < std::uint64_t{1} << it->second.size ? it : pages.end();
}

void step_of_sizes(Policy<TlbOrganization>& tlb, Filled& filled, std::mt19937_64& random) {
  auto const page = random() % 4 == 0 ? (std::uint64_t{1} << 52) - 1 - random() % 2048
                                      : (random() % 2 == 0 ? 0 : 255ULL << 36) | random() % 1536;
  auto const invalidate = [&](std::uint64_t at) {
    auto const held = holder(filled, at);
    bool const there = tlb->lookup(at).has_value();
    REQUIRE(tlb->invalidate(at) == there);
    REQUIRE_FALSE(tlb->lookup(at).has_value());
    if (held != filled.end()) filled.erase(held);
  };
  switch (random() % 4) {
    case 0:
      invalidate(page);
      break;
    case 1: {
      constexpr std::array<std::uint8_t, 4> kDrawn{0, 0, 2, 9};
      auto const size = kDrawn[random() % kDrawn.size()];
      auto const first = first_of(page, size);
      auto const overlaps = [&] {
        auto it = holder(filled, first);
        if (it == filled.end()) it = filled.lower_bound(first);
        return it != filled.end() && it->second.size != size && it->first < first + (std::uint64_t{1} << size)
                   ? it
                   : filled.end();
      };
      for (auto it = overlaps(); it != filled.end(); it = overlaps()) invalidate(it->first);
      PageTranslation const to{random() % 1000 << 30U, size};
      tlb->fill(page, to);
      filled[first] = to;
      REQUIRE(tlb->lookup(first + (random() & ((std::uint64_t{1} << size) - 1))) == to);
      break;
    }
    default:
      if (auto const found = tlb->lookup(page)) {
        auto const held = holder(filled, page);
        REQUIRE(held != filled.end());
        REQUIRE(*found == held->second);
      }
  }
}

}  // namespace

TEST_CASE("every TLB gives only what was filled and not invalidated since, and what was filled last") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    for (auto const& [entries, ways] : kShapes) {
      CAPTURE(name);
      CAPTURE(entries);
      if (!choice_of(name).why_not({entries, ways, 12, kLru}).empty()) continue;  // too small for it
      auto tlb = make(name, entries, ways);
      std::map<Key, PhysAddr> filled;
      std::mt19937_64 random(entries);
      for (int i = 0; i < 10'000; ++i) step(tlb, filled, random, entries);
      // What it lists is what it gives.
      auto const listed = entries_of(tlb);
      CHECK_FALSE(listed.empty());
      for (auto const& [key, to] : filled) {
        auto const it = listed.find(key);
        CHECK(frame(tlb, key) == (it == listed.end() ? std::nullopt : std::optional(it->second)));
      }
      for (auto const& [key, to] : listed) CHECK(filled.at(key) == to);
    }
  }
}

TEST_CASE("every TLB of several page sizes gives only what was filled for the page that holds a base page") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    for (auto const& [entries, ways] : kShapes) {
      CAPTURE(name);
      CAPTURE(entries);
      if (!choice_of(name).why_not({entries, ways, 12, kLru, kSizes}).empty()) continue;
      auto tlb = make_with_sizes(name, entries, ways);
      Filled filled;
      std::mt19937_64 random(entries + 1);
      for (int i = 0; i < 10'000; ++i) step_of_sizes(tlb, filled, random);
      // What it lists is what it gives, for any base page of it.
      auto const listed = pages_of(tlb);
      CHECK_FALSE(listed.empty());
      for (auto const& [key, to] : listed) {
        CHECK(filled.at(key) == to);
        CHECK(tlb->lookup(key + (std::uint64_t{1} << to.size) - 1) == to);
      }
      auto copy = make_with_sizes(name, entries, ways);
      test::copy_state(tlb, copy);
      CHECK(pages_of(copy) == listed);
    }
  }
}

TEST_CASE("every TLB holds a large page for all its base pages, and none of them once one is invalidated") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    CAPTURE(name);
    auto tlb = make_with_sizes(name, 32, 8);
    PageTranslation const large{0x4000'0000, 9};
    tlb->fill(kSpace + 1024 + 77, large);
    tlb->fill(kSpace + 1023, {0x3000});
    for (auto const page : {1024, 1024 + 77, 1024 + 511})
      CHECK(tlb->lookup(kSpace + static_cast<std::uint64_t>(page)) == large);
    CHECK(tlb->lookup(kSpace + 1023) == PageTranslation{0x3000});
    CHECK_FALSE(tlb->lookup(kSpace + 1536).has_value());
    CHECK_FALSE(tlb->lookup(1024).has_value());
    tlb->fill(kSpace + 1024, {0x8000'0000, 9});  // it lies elsewhere now
    CHECK(tlb->lookup(kSpace + 1500) == PageTranslation{0x8000'0000, 9});
    CHECK(tlb->invalidate(kSpace + 1024 + 300));
    CHECK_FALSE(tlb->invalidate(kSpace + 1024 + 300));
    CHECK_FALSE(tlb->lookup(kSpace + 1024 + 77).has_value());
  }
}

TEST_CASE("every TLB goes on after loading as the one that was saved") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    CAPTURE(name);
    auto first = make(name, 32, 8);
    auto second = make(name, 32, 8);
    std::map<Key, PhysAddr> filled;
    std::map<Key, PhysAddr> others;
    std::mt19937_64 random(1);
    for (int i = 0; i < 3000; ++i) step(first, filled, random, 40);
    for (int i = 0; i < 1000; ++i) step(second, others, random, 40);
    test::copy_state(first, second);
    CHECK(test::hash_of(first) == test::hash_of(second));
    CHECK(entries_of(first) == entries_of(second));
    others = filled;
    auto same = random;
    for (int i = 0; i < 3000; ++i) step(first, filled, random, 40);
    for (int i = 0; i < 3000; ++i) step(second, others, same, 40);
    CHECK(entries_of(first) == entries_of(second));
    CHECK(test::hash_of(first) == test::hash_of(second));
  }
}

TEST_CASE("every TLB of no entries misses always") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    CAPTURE(name);
    auto none = make(name, 0, 8);
    none->fill(kSpace + 5, {0x1000});
    CHECK_FALSE(none->lookup(kSpace + 5).has_value());
    CHECK_FALSE(none->invalidate(kSpace + 5));
    CHECK(entries_of(none).empty());
    none->sample(nullptr);
  }
}

TEST_CASE("a TLB keeps address spaces apart and gives the latest frame") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    CAPTURE(name);
    auto tlb = make(name, 8, 2);
    tlb->fill(5, {0x5000});
    tlb->fill(kSpace + 5, {0x9000});
    CHECK(frame(tlb, 5) == 0x5000);
    CHECK(frame(tlb, kSpace + 5) == 0x9000);
    CHECK_FALSE(tlb->lookup(2 * kSpace + 5).has_value());
    tlb->fill(5, {0x6000});
    CHECK(frame(tlb, 5) == 0x6000);
    CHECK(tlb->invalidate(5));
    CHECK_FALSE(tlb->invalidate(5));
    CHECK_FALSE(tlb->lookup(5).has_value());
    CHECK(frame(tlb, kSpace + 5) == 0x9000);
  }
}

TEST_CASE("a plain TLB's set is the page number modulo the sets: conflicts stay within one") {
  auto tlb = plain(8, 2);  // four sets
  for (std::uint64_t page = 0; page < 4; ++page) tlb->fill(page, {page << 12});
  tlb->fill(4, {4 << 12});
  tlb->fill(8, {8 << 12});  // pages 0, 4 and 8 share a set of two ways
  CHECK_FALSE(tlb->lookup(0).has_value());
  for (auto const page : {1ULL, 2ULL, 3ULL, 4ULL, 8ULL}) CHECK(frame(tlb, page) == page << 12);
}

TEST_CASE("a plain TLB's set of a large page is its number modulo the sets; it takes one entry there") {
  auto tlb = make_with_sizes("plain", 8, 2);  // four sets
  for (std::uint64_t n = 0; n < 4; ++n) tlb->fill(n * 512 + 9, {n << 21U, 9});
  for (auto const n : {4U, 8U}) tlb->fill(n, {n << 12U});  // base pages of set 0
  CHECK_FALSE(tlb->lookup(511).has_value());
  for (std::uint64_t n = 1; n < 4; ++n) CHECK(tlb->lookup(n * 512 + 511) == PageTranslation{n << 21U, 9});
  CHECK(tlb->lookup(4) == PageTranslation{4 << 12});
  CHECK(tlb->lookup(8) == PageTranslation{8 << 12});
}

TEST_CASE("a plain TLB agrees with a map of all fills as long as nothing has to be replaced") {
  auto tlb = plain(256, 32);
  std::map<std::uint64_t, PhysAddr> reference;
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    auto const page = random() % 256;
    if (random() % 3 == 0) {
      auto const to = (random() % 1000) << 12;
      tlb->fill(3 * kSpace + page, {to});
      reference[page] = to;
    }
    auto const known = reference.find(page);
    auto const found = frame(tlb, 3 * kSpace + page);
    REQUIRE(found.has_value() == (known != reference.end()));
    if (found) REQUIRE(*found == known->second);
  }
}

TEST_CASE("a plain TLB replaces what its choice of replacement says") {
  PolicyChoice<TlbOrganization> const organization("plain");
  PolicyChoice<Replacement> const fifo("fifo");
  auto const left_by = [&](PolicyChoice<Replacement> const& replacement) {
    auto tlb = organization.make({2, 2, 12, replacement});
    tlb->fill(1, {0x1000});
    tlb->fill(2, {0x2000});
    CHECK(tlb->lookup(1).has_value());
    tlb->fill(3, {0x3000});
    return tlb->lookup(1) ? 1 : 2;
  };
  CHECK(left_by(kLru) == 1);
  CHECK(left_by(fifo) == 2);
}
