// SPDX-License-Identifier: Apache-2.0
// Contract of every TLB organization, and the sets of the plain one.
#include "farfault/translation/tlb_organization.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "choices.hpp"

namespace tlb_organization_test {

using namespace farfault;
using test::kLru;

namespace {

using Key = std::uint64_t;  // page, including its address space

constexpr std::uint64_t kSpace = std::uint64_t{1} << 36;  // first page of the second address space

// The choices outlive their policies.
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
  return choice_of(name).make(
      {.entries = entries, .ways = ways, .page_bits = 12, .replacement = kLru, .sizes = kSizes});
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

// One random call, checked against the valid fills.
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

// The same for pages of several sizes: valid fills by size and first base page.
using Filled = std::map<std::pair<unsigned, Key>, PageTranslation>;

constexpr std::array<std::uint8_t, 3> kEachSize{0, 2, 9};

Filled pages_of(Policy<TlbOrganization> const& tlb) {
  Filled pages;
  tlb->each_entry([&](std::uint64_t page, PageTranslation const& t) {
    CHECK(page == first_of(page, t.size));
    CHECK(pages.emplace(std::pair(t.size, page), t).second);
  });
  return pages;
}
// Calls f(it) with each filled page, of any size, that contains the base page.
template <class F>
void each_holder(Filled& filled, std::uint64_t page, F&& f) {
  for (auto const size : kEachSize)
    if (auto const it = filled.find({size, first_of(page, size)}); it != filled.end()) f(it);
}
bool agree(std::uint64_t page, PageTranslation const& a, PageTranslation const& b) {
  return a.physical_of(page << 12U, 12) == b.physical_of(page << 12U, 12);
}

// Invalidates everything that the TLB holds for a base page, of all sizes.
void invalidate(Policy<TlbOrganization>& tlb, Filled& filled, std::uint64_t page) {
  bool const there = tlb->lookup(page).has_value();
  REQUIRE(tlb->invalidate(page) == there);
  REQUIRE_FALSE(tlb->lookup(page).has_value());
  REQUIRE_FALSE(tlb->invalidate(page));
  each_holder(filled, page, [&](auto it) { filled.erase(it); });
}

// Fills a page, usually in the same memory as the pages around it, otherwise elsewhere. Pages of other sizes
// that disagree are invalidated first.
void fill(Policy<TlbOrganization>& tlb, Filled& filled, std::uint64_t page, std::uint8_t size,
          bool elsewhere) {
  auto const first = first_of(page, size);
  PageTranslation const to{(elsewhere ? 0x40'0000'0000 : 0) | (first & 0xffff) << 12U, size};
  for (auto p = first; p - first < std::uint64_t{1} << size; ++p) {
    bool differs = false;
    each_holder(filled, p, [&](auto it) { differs |= it->second.size != size && !agree(p, it->second, to); });
    if (differs) invalidate(tlb, filled, p);
  }
  tlb->fill(page, to);
  filled[{size, first}] = to;
}

void step_of_sizes(Policy<TlbOrganization>& tlb, Filled& filled, std::mt19937_64& random) {
  auto const page = random() % 4 == 0 ? (std::uint64_t{1} << 52) - 1 - random() % 2048
                                      : (random() % 2 == 0 ? 0 : 255ULL << 36) | random() % 1536;
  switch (random() % 4) {
    case 0:
      invalidate(tlb, filled, page);
      break;
    case 1: {
      constexpr std::array<std::uint8_t, 4> kDrawn{0, 0, 2, 9};
      auto const size = kDrawn[random() % kDrawn.size()];
      fill(tlb, filled, page, size, random() % 8 == 0);
      auto const of_page = first_of(page, size) + (random() & ((std::uint64_t{1} << size) - 1));
      auto const found = tlb->lookup(of_page);
      REQUIRE(found.has_value());
      REQUIRE(agree(of_page, *found, filled.at({size, first_of(page, size)})));
      break;
    }
    default:
      if (auto const found = tlb->lookup(page)) {
        auto const held = filled.find({found->size, first_of(page, found->size)});
        REQUIRE(held != filled.end());
        REQUIRE(*found == held->second);
      }
  }
}

}  // namespace

TEST_CASE("every TLB returns only the last filled translations that were not invalidated") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    for (auto const& shape : kShapes) {
      auto const entries = shape.entries, ways = shape.ways;
      CAPTURE(name);
      CAPTURE(entries);
      if (!choice_of(name).why_not({entries, ways, 12, kLru}).empty()) continue;  // too small for it
      auto tlb = make(name, entries, ways);
      std::map<Key, PhysAddr> filled;
      std::mt19937_64 random(entries);
      for (int i = 0; i < 10'000; ++i) step(tlb, filled, random, entries);
      // Each listed entry is found by a look-up.
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

TEST_CASE(
    "every TLB with several page sizes returns only translations filled for a page containing the base "
    "page") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    for (auto const& shape : kShapes) {
      auto const entries = shape.entries, ways = shape.ways;
      CAPTURE(name);
      CAPTURE(entries);
      if (!choice_of(name)
               .why_not(
                   {.entries = entries, .ways = ways, .page_bits = 12, .replacement = kLru, .sizes = kSizes})
               .empty())
        continue;
      auto tlb = make_with_sizes(name, entries, ways);
      Filled filled;
      std::mt19937_64 random(entries + 1);
      for (int i = 0; i < 10'000; ++i) step_of_sizes(tlb, filled, random);
      // Each listed entry is found by a look-up of any of its base pages.
      auto const listed = pages_of(tlb);
      CHECK_FALSE(listed.empty());
      for (auto const& [key, to] : listed) {
        CHECK(filled.at(key) == to);
        auto const last = key.second + (std::uint64_t{1} << to.size) - 1;
        auto const found = tlb->lookup(last);
        REQUIRE(found.has_value());
        CHECK(agree(last, *found, to));
      }
      auto copy = make_with_sizes(name, entries, ways);
      test::copy_state(tlb, copy);
      CHECK(pages_of(copy) == listed);
    }
  }
}

TEST_CASE("every TLB holds a large page for all its base pages, and for none once one is invalidated") {
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
    tlb->fill(kSpace + 1024, {0x8000'0000, 9});  // moved
    CHECK(tlb->lookup(kSpace + 1500) == PageTranslation{0x8000'0000, 9});
    CHECK(tlb->invalidate(kSpace + 1024 + 300));
    CHECK_FALSE(tlb->invalidate(kSpace + 1024 + 300));
    CHECK_FALSE(tlb->lookup(kSpace + 1024 + 77).has_value());
  }
}

TEST_CASE("every TLB holds base pages and the large page they became, and drops a base page in every size") {
  for (auto const& name : test::names_of_known<TlbOrganization>()) {
    CAPTURE(name);
    auto tlb = make_with_sizes(name, 64, 64);
    auto const at = [](std::uint64_t page) { return PhysAddr{0x4000'0000} + (page << 12U); };
    for (std::uint64_t page = 0; page < 8; ++page) tlb->fill(kSpace + 512 + page, {at(page)});
    tlb->fill(kSpace + 512 + 4, {at(4), 2});
    tlb->fill(kSpace + 512, {at(0), 9});
    auto const physical = [&](std::uint64_t page) {
      auto const found = tlb->lookup(kSpace + 512 + page);
      return found ? found->physical_of((kSpace + 512 + page) << 12U, 12) : kNoFrame;
    };
    for (std::uint64_t page = 0; page < 512; ++page) CHECK(physical(page) == at(page));
    CHECK(tlb->invalidate(kSpace + 512 + 5));
    CHECK(physical(5) == kNoFrame);
    CHECK_FALSE(tlb->invalidate(kSpace + 512 + 5));
    CHECK(physical(8) == kNoFrame);  // the large page is invalid
    CHECK(physical(511) == kNoFrame);
    // The base pages are separate again, and may have other frames.
    tlb->fill(kSpace + 512 + 5, {0x9000'0000});
    CHECK(physical(5) == 0x9000'0000);
    tlb->invalidate(kSpace + 512 + 6);
    CHECK(physical(6) == kNoFrame);
    CHECK(physical(5) == 0x9000'0000);
  }
}

TEST_CASE("every TLB continues after loading like the saved one") {
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

TEST_CASE("every TLB without entries always misses") {
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

TEST_CASE("a TLB separates address spaces and returns the latest frame") {
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

TEST_CASE("a plain TLB's set is the page number modulo the sets; conflicts stay within one set") {
  auto tlb = plain(8, 2);  // four sets
  for (std::uint64_t page = 0; page < 4; ++page) tlb->fill(page, {page << 12});
  tlb->fill(4, {4 << 12});
  tlb->fill(8, {8 << 12});  // pages 0, 4 and 8 share a set of two ways
  CHECK_FALSE(tlb->lookup(0).has_value());
  for (auto const page : {1ULL, 2ULL, 3ULL, 4ULL, 8ULL}) CHECK(frame(tlb, page) == page << 12);
}

TEST_CASE("a plain TLB's set of a large page is its number modulo the sets; it takes one entry") {
  auto tlb = make_with_sizes("plain", 8, 2);  // four sets
  for (std::uint64_t n = 0; n < 4; ++n) tlb->fill(n * 512 + 9, {n << 21U, 9});
  for (auto const n : {4U, 8U}) tlb->fill(n, {n << 12U});  // base pages of set 0
  CHECK_FALSE(tlb->lookup(511).has_value());
  for (std::uint64_t n = 1; n < 4; ++n) CHECK(tlb->lookup(n * 512 + 511) == PageTranslation{n << 21U, 9});
  CHECK(tlb->lookup(4) == PageTranslation{4 << 12});
  CHECK(tlb->lookup(8) == PageTranslation{8 << 12});
}

TEST_CASE("a plain TLB agrees with a map of all fills as long as nothing is replaced") {
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

TEST_CASE("a plain TLB replaces entries by its replacement policy") {
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

}  // namespace tlb_organization_test
