// SPDX-License-Identifier: Apache-2.0
// TLBs that separate page sizes, and ideal TLBs.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "farfault/translation/page_table.hpp"
#include "farfault/translation/tlb_organization.hpp"
#include "policies.hpp"

namespace tlb_page_sizes_test {

using namespace farfault;
using test::kLru;

namespace {

constexpr std::uint64_t kSpace = std::uint64_t{1} << 36;  // first page of the second address space
constexpr std::uint8_t kLarge = 9;                        // 512 base pages
constexpr std::uint32_t kSizes = 1U | 1U << 2U | 1U << kLarge;
constexpr std::uint32_t kOfTable = 1U | 1U << kLarge;

// The choice outlives its policy.
struct Tlb {
  PolicyChoice<TlbOrganization> choice;
  Policy<TlbOrganization> tlb;

  Tlb(PolicyChoice<TlbOrganization> c, TlbOrganization::Setup const& setup)
      : choice(std::move(c)), tlb(choice.make(setup)) {}
  TlbOrganization* operator->() { return &*tlb; }
};
Tlb by_page_size(std::uint32_t entries, std::uint32_t ways, std::vector<test::Setting> const& settings = {}) {
  return {test::chosen<TlbOrganization>("by_page_size", settings),
          {.entries = entries, .ways = ways, .page_bits = 12, .replacement = kLru, .sizes = kSizes}};
}
Tlb ideal(PageTable const* mapped, std::uint32_t entries = 32) {
  return {PolicyChoice<TlbOrganization>("ideal"),
          {.entries = entries,
           .ways = entries,
           .page_bits = 12,
           .replacement = kLru,
           .sizes = kOfTable,
           .mapped = mapped}};
}

// Frames in the order of pages.
PageTranslation at_home(std::uint64_t page, std::uint8_t size = 0) {
  return {page >> size << (12U + size), size};
}
using Page = std::pair<std::uint64_t, unsigned>;  // the first base page, and the size
std::set<Page> pages_of(Policy<TlbOrganization> const& tlb) {
  std::set<Page> pages;
  tlb->each_entry(
      [&](std::uint64_t page, PageTranslation const& t) { CHECK(pages.emplace(page, t.size).second); });
  return pages;
}

std::string refusal(std::vector<test::Setting> const& settings, std::uint32_t entries,
                    PolicyChoice<Replacement> const& replacement) {
  auto const choice = test::chosen<TlbOrganization>("by_page_size", settings);
  return choice.why_not(
      {.entries = entries, .ways = entries, .page_bits = 12, .replacement = replacement, .sizes = kSizes});
}

// Supports sets of up to four ways.
struct FourWays final : Replacement {
  explicit FourWays(Setup const& s) {
    if (s.ways > 4) throw UserError("bits = 2: too few");
  }
  std::uint32_t victim(View const&) override { return 0; }
};

// Base pages and a large page in the first space, and the same page with another frame in the second.
PageTable mapped_pages() {
  PageTable table(0x7000'0000, 12, 2);
  for (std::uint64_t page = 0; page < 3; ++page) table.map(page, at_home(page).frame);
  table.map(1024, 0x4000'0000, kLarge);
  table.map(kSpace + 1, 0x9000);
  return table;
}

}  // namespace

TEST_CASE("by page size: a hit in a large page does not make its base pages more recent") {
  auto tlb = by_page_size(2, 2);
  tlb->fill(512, at_home(512));
  tlb->fill(513, at_home(513));
  tlb->fill(512, at_home(512, kLarge));
  CHECK(tlb->lookup(512) == at_home(512, kLarge));
  tlb->fill(5, at_home(5));
  CHECK(pages_of(tlb.tlb) == std::set<Page>{{5, 0}, {513, 0}, {512, kLarge}});
  // Without it they are as recent as their own hits.
  tlb->invalidate(1023);
  CHECK(tlb->lookup(513) == at_home(513));
  tlb->fill(6, at_home(6));
  CHECK(pages_of(tlb.tlb) == std::set<Page>{{6, 0}, {513, 0}});
}

TEST_CASE("by page size: base pages and large pages do not evict each other") {
  auto tlb = by_page_size(4, 4);
  for (std::uint64_t page = 0; page < 4; ++page) tlb->fill(page, at_home(page));
  for (std::uint64_t n = 1; n <= 100; ++n) tlb->fill(n * 512 + 7, at_home(n * 512, kLarge));
  std::set<Page> expected;
  for (std::uint64_t page = 0; page < 4; ++page) expected.emplace(page, 0);
  for (std::uint64_t n = 85; n <= 100; ++n) expected.emplace(n * 512, kLarge);  // the last 16
  CHECK(pages_of(tlb.tlb) == expected);
  for (std::uint64_t page = 0; page < 4; ++page) CHECK(tlb->lookup(page) == at_home(page));
  for (std::uint64_t page = 10; page < 100; ++page) tlb->fill(page, at_home(page));
  for (std::uint64_t n = 85; n <= 100; ++n) CHECK(tlb->lookup(n * 512 + 511) == at_home(n * 512, kLarge));
}

TEST_CASE("by page size: a hit keeps a large page, and the least recently used one is replaced") {
  auto tlb = by_page_size(4, 4, {{"large_entries", "2"}});
  tlb->fill(512, at_home(512, kLarge));
  tlb->fill(1024, at_home(1024, kLarge));
  CHECK(tlb->lookup(600).has_value());
  tlb->fill(8, at_home(8, 2));  // sizes share the entries
  CHECK(pages_of(tlb.tlb) == std::set<Page>{{512, kLarge}, {8, 2}});
  tlb->fill(11, {0x8000'0000, 2});  // same page, another frame
  CHECK(pages_of(tlb.tlb).size() == 2);
  CHECK(tlb->lookup(9) == PageTranslation{0x8000'0000, 2});
}

TEST_CASE("by page size: the set of a page is the low bits of its number, above its size") {
  auto tlb = by_page_size(8, 2, {{"large_entries", "4"}, {"large_ways", "2"}});
  CHECK(tlb->arrays()[0].sets() == 4);
  CHECK(tlb->arrays()[1].sets() == 2);
  for (auto const page : {0U, 4U, 1U, 8U}) tlb->fill(page, at_home(page));  // 0, 4 and 8 share a set
  for (auto const n : {2U, 4U, 3U, 6U}) tlb->fill(n * 512, at_home(n * 512, kLarge));  // and so do 2, 4 and 6
  CHECK(pages_of(tlb.tlb) ==
        std::set<Page>{{1, 0}, {4, 0}, {8, 0}, {3 * 512, kLarge}, {4 * 512, kLarge}, {6 * 512, kLarge}});
  tlb->fill(36, at_home(36, 2));  // number 9 of its size: the other set
  CHECK(pages_of(tlb.tlb).size() == 7);
  CHECK(tlb->lookup(39) == at_home(36, 2));
}

TEST_CASE("by page size: all large entries form one set unless ways are given") {
  auto tlb = by_page_size(8, 2);
  CHECK(tlb->arrays().size() == 2);
  CHECK(tlb->arrays()[0].slots() == 8);
  CHECK(tlb->arrays()[1].sets() == 1);
  CHECK(tlb->arrays()[1].ways() == 16);
}

TEST_CASE("by page size: an invalidation of a base page removes the containing large page, and no other") {
  auto tlb = by_page_size(8, 8);
  for (auto const page : {512U, 513U, 2000U}) tlb->fill(page, at_home(page));
  tlb->fill(512, at_home(512, 2));
  tlb->fill(512, at_home(512, kLarge));
  tlb->fill(1024, at_home(1024, kLarge));
  CHECK(tlb->invalidate(513));
  CHECK(pages_of(tlb.tlb) == std::set<Page>{{512, 0}, {2000, 0}, {1024, kLarge}});
  CHECK_FALSE(tlb->invalidate(513));
  CHECK(tlb->lookup(512) == at_home(512));
  CHECK(tlb->invalidate(1100));  // large page only
  CHECK(tlb->invalidate(2000));  // base page only
  CHECK(pages_of(tlb.tlb) == std::set<Page>{{512, 0}});
}

TEST_CASE("by page size: hits are counted by size") {
  auto tlb = by_page_size(8, 8);
  tlb->fill(512, at_home(512));
  tlb->fill(3, at_home(3));
  tlb->fill(512, at_home(512, kLarge));
  for (auto const page : {3U, 512U, 513U, 1023U, 1024U}) tlb->lookup(page);
  CHECK(test::stat_of(tlb.choice, tlb.tlb, "large_hits") == 3);
  CHECK(test::stat_of(tlb.choice, tlb.tlb, "base_hits") == 1);
  auto other = by_page_size(8, 8);
  test::copy_state(tlb.tlb, other.tlb);
  CHECK(test::stat_of(other.choice, other.tlb, "large_hits") == 3);
  CHECK(test::hash_of(other.tlb) == test::hash_of(tlb.tlb));
}

TEST_CASE("by page size: with only base pages it is a plain TLB") {
  auto const choice = test::chosen<TlbOrganization>("by_page_size");
  PolicyChoice<TlbOrganization> const plain("plain");
  auto one = choice.make({16, 4, 12, kLru});
  auto other = plain.make({16, 4, 12, kLru});
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    auto const page = random() % 40;
    auto const kind = random() % 8;
    if (kind == 0) REQUIRE(one->invalidate(page) == other->invalidate(page));
    if (kind < 3) one->fill(page, at_home(page)), other->fill(page, at_home(page));
    REQUIRE(one->lookup(page) == other->lookup(page));
  }
  CHECK(pages_of(one) == pages_of(other));
}

TEST_CASE(
    "by page size: ways that do not divide the entries for large pages are rejected, unless there are none") {
  CHECK(refusal({{"large_ways", "3"}}, 8, kLru) == "large_ways = 3 must divide large_entries, 16");
  CHECK(refusal({{"large_ways", "32"}}, 8, kLru) == "large_ways = 32 must divide large_entries, 16");
  CHECK(refusal({{"large_ways", "16"}}, 8, kLru).empty());
  CHECK(refusal({{"large_ways", "3"}, {"large_entries", "9"}}, 8, kLru).empty());
  CHECK(refusal({{"large_ways", "3"}}, 0, kLru).empty());
  // Sizes that the replacement policy does not support are refused, too.
  auto const more = policies().add<FourWays>("four_ways", "of a test");
  PolicyChoice<Replacement> four("lru");
  ParamTable table(&more);
  four.describe(table, "replacement", "of a test", "assumed");
  four.choose("four_ways");
  CHECK(refusal({}, 4, four) == "large_ways = 0: invalid for the replacement policy: bits = 2: too few");
  CHECK(refusal({{"large_ways", "4"}}, 4, four).empty());
}

TEST_CASE("an ideal TLB holds the pages mapped at time zero, of each size and address space") {
  auto const table = mapped_pages();
  auto tlb = ideal(&table);
  for (std::uint64_t page = 0; page < 3; ++page) CHECK(tlb->lookup(page) == at_home(page));
  CHECK(tlb->lookup(1024 + 77) == PageTranslation{0x4000'0000, kLarge});
  CHECK(tlb->lookup(kSpace + 1) == PageTranslation{0x9000});
  for (auto const page : {std::uint64_t{3}, std::uint64_t{1023}, std::uint64_t{1536}, kSpace, kSpace + 1024})
    CHECK_FALSE(tlb->lookup(page).has_value());
  CHECK(pages_of(tlb.tlb) == std::set<Page>{{0, 0}, {1, 0}, {2, 0}, {1024, kLarge}, {kSpace + 1, 0}});
}

TEST_CASE("an ideal TLB drops invalidated initial pages, and returns their later frames") {
  auto const table = mapped_pages();
  auto tlb = ideal(&table);
  CHECK(tlb->invalidate(1));
  CHECK_FALSE(tlb->invalidate(1));
  CHECK_FALSE(tlb->lookup(1).has_value());
  CHECK(tlb->lookup(2).has_value());
  CHECK(tlb->lookup(kSpace + 1) == PageTranslation{0x9000});  // of another space
  tlb->fill(1, {0x5000});
  CHECK(tlb->lookup(1) == PageTranslation{0x5000});
  CHECK(tlb->invalidate(1));
  CHECK_FALSE(tlb->lookup(1).has_value());
  CHECK(pages_of(tlb.tlb) == std::set<Page>{{0, 0}, {2, 0}, {1024, kLarge}, {kSpace + 1, 0}});
  tlb->fill(2, {0x6000});  // without an invalidation
  CHECK(tlb->lookup(2) == PageTranslation{0x6000});
  CHECK(tlb->invalidate(2));
  CHECK_FALSE(tlb->lookup(2).has_value());
}

TEST_CASE("an ideal TLB drops an initial large page as a whole, and accepts its base pages one by one") {
  auto const table = mapped_pages();
  auto tlb = ideal(&table);
  CHECK(tlb->invalidate(1024 + 300));
  for (auto const page : {1024U, 1024U + 300U, 1535U}) CHECK_FALSE(tlb->lookup(page).has_value());
  tlb->fill(1030, {0x5000});
  CHECK(tlb->lookup(1030) == PageTranslation{0x5000});
  CHECK_FALSE(tlb->lookup(1031).has_value());
  tlb->fill(1024, {0x8000'0000, kLarge});
  CHECK(tlb->lookup(1031) == PageTranslation{0x8000'0000, kLarge});
}

TEST_CASE("an ideal TLB drops an initial base page together with the large page that it became") {
  auto const table = mapped_pages();
  auto tlb = ideal(&table);
  tlb->fill(0, {0, kLarge});
  CHECK(tlb->lookup(100) == PageTranslation{0, kLarge});
  CHECK(tlb->invalidate(2));
  CHECK_FALSE(tlb->lookup(2).has_value());
  CHECK_FALSE(tlb->lookup(100).has_value());
  CHECK(tlb->lookup(0) == at_home(0));
}

TEST_CASE("an ideal TLB loses nothing with any number of entries, unless it has none") {
  auto tlb = ideal(nullptr, 1);
  for (std::uint64_t page = 0; page < 10'000; ++page) tlb->fill(page * 7919, at_home(page));
  for (std::uint64_t page = 0; page < 10'000; ++page) CHECK(tlb->lookup(page * 7919) == at_home(page));
  CHECK(pages_of(tlb.tlb).size() == 10'000);
  auto const table = mapped_pages();
  auto none = ideal(&table, 0);
  none->fill(7, at_home(7));
  for (auto const page : {1U, 7U, 1024U}) {
    CHECK_FALSE(none->lookup(page).has_value());
    CHECK_FALSE(none->invalidate(page));
  }
  CHECK(pages_of(none.tlb).empty());
}

TEST_CASE("an ideal TLB's saved state contains only changes since time zero") {
  auto const table = mapped_pages();
  auto with = ideal(&table);
  auto without = ideal(nullptr);
  CHECK(test::hash_of(with.tlb) == test::hash_of(without.tlb));
  with->invalidate(0);
  with->fill(1, {0x5000});
  with->fill(kSpace + 7, {0x6000});
  auto copy = ideal(&table);
  copy->invalidate(2);
  test::copy_state(with.tlb, copy.tlb);
  CHECK(test::hash_of(with.tlb) == test::hash_of(copy.tlb));
  CHECK(pages_of(copy.tlb) == pages_of(with.tlb));
  CHECK_FALSE(copy->lookup(0).has_value());
  CHECK(copy->lookup(1) == PageTranslation{0x5000});
  CHECK(copy->lookup(2) == at_home(2));
}

TEST_CASE("an ideal TLB returns exactly the pages mapped or filled, and not invalidated since") {
  auto const table = mapped_pages();
  auto tlb = ideal(&table);
  std::map<Page, PageTranslation> there;
  table.each_page([&](std::uint64_t page, PageTranslation const& t) { there[{page, t.size}] = t; });
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    auto const page = (random() % 4 == 0 ? kSpace : 0) + random() % 2048;
    auto const large = page >> kLarge << kLarge;
    switch (random() % 6) {
      case 0:
        REQUIRE(tlb->invalidate(page) == (there.erase({page, 0}) + there.erase({large, kLarge}) != 0));
        break;
      case 1: {
        auto const size = random() % 16 == 0 ? kLarge : std::uint8_t{0};
        // The older of two overlapping pages is replaced.
        if (size == 0 && there.erase({large, kLarge}) != 0) REQUIRE(tlb->invalidate(page));
        if (size == 0) there.erase({page, 0});
        for (auto p = large; size != 0 && p < large + 512; ++p)
          if (there.erase({p, 0}) != 0) {
            REQUIRE(tlb->invalidate(p));
            there.erase({large, kLarge});
          }
        PageTranslation const to{random() % 1000 << 30U, size};
        tlb->fill(page, to);
        there[{size == 0 ? page : large, size}] = to;
        break;
      }
      default: {
        auto it = there.find({page, 0});
        if (it == there.end()) it = there.find({large, kLarge});
        REQUIRE(tlb->lookup(page) == (it == there.end() ? std::nullopt : std::optional(it->second)));
      }
    }
  }
  std::set<Page> expected;
  for (auto const& [page, to] : there) expected.insert(page);
  CHECK(pages_of(tlb.tlb) == expected);
}

}  // namespace tlb_page_sizes_test
