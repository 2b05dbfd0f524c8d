// SPDX-License-Identifier: Apache-2.0
// Range TLBs: pages that form a range, the effect of an invalidation on a range, and correct frames
// throughout.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "farfault/translation/page_table.hpp"
#include "tlb_traffic.hpp"

namespace range_tlb_test {

using namespace farfault;
using test::kLru;
using test::TlbTraffic;

namespace {

constexpr std::uint64_t kSpace = std::uint64_t{1} << 36;  // first page of the second address space
constexpr std::uint32_t kSizes = 1U | 1U << 2U | 1U << 9U;

test::ChosenTlb range_tlb(std::vector<test::Setting> const& settings = {},
                          PageTable const* mapped = nullptr) {
  return {"range",
          settings,
          {.entries = 8, .ways = 4, .page_bits = 12, .replacement = kLru, .sizes = kSizes, .mapped = mapped}};
}
void fill(test::ChosenTlb& tlb, std::uint64_t page, std::uint64_t frame) {
  tlb->fill(page, {frame << 12U});
}
// Number of the page's frame.
std::optional<std::uint64_t> frame(test::ChosenTlb& tlb, std::uint64_t page) {
  auto const found = tlb->lookup(page);
  return found ? std::optional(found->frame >> 12U) : std::nullopt;
}
std::pair<std::uint64_t, std::uint64_t> ranges_and_pages(test::ChosenTlb const& tlb) {
  return {tlb.stat("ranges"), tlb.stat("pages_in_ranges")};
}
using Pair = std::pair<std::uint64_t, std::uint64_t>;

// Pages 0 to 99 and 200 to 299, each in contiguous frames, except for page 250.
PageTable mapped_pages(std::uint32_t spaces = 1) {
  PageTable table(0x7000'0000, 12, spaces);
  for (std::uint64_t page = 0; page < 100; ++page) table.map(page, (1000 + page) << 12U);
  for (std::uint64_t page = 200; page < 300; ++page)
    table.map(page, (page == 250 ? 7000 : 3000 + page) << 12U);
  return table;
}

}  // namespace

TEST_CASE("range: contiguous pages with contiguous frames become a range, extended at either end") {
  auto tlb = range_tlb();
  fill(tlb, 10, 110);
  CHECK(ranges_and_pages(tlb) == Pair{0, 0});
  fill(tlb, 11, 111);
  CHECK(ranges_and_pages(tlb) == Pair{1, 2});
  fill(tlb, 9, 109);
  fill(tlb, 12, 112);
  CHECK(ranges_and_pages(tlb) == Pair{1, 4});
  fill(tlb, 14, 114);
  fill(tlb, 15, 115);
  CHECK(ranges_and_pages(tlb) == Pair{2, 6});
  fill(tlb, 13, 113);  // joins both
  CHECK(ranges_and_pages(tlb) == Pair{1, 7});
  for (std::uint64_t page = 9; page <= 15; ++page) CHECK(frame(tlb, page) == page + 100);
  CHECK_FALSE(frame(tlb, 8).has_value());
  CHECK_FALSE(frame(tlb, 16).has_value());
  CHECK(tlb.stat("range_hits") == 7);
  CHECK(tlb.stat("page_hits") == 0);
  CHECK(tlb.stat("joined") == 6);
}

TEST_CASE("range: pages with different frames, sizes, spaces, devices or permissions are not merged") {
  auto tlb = range_tlb();
  fill(tlb, 10, 110);
  fill(tlb, 11, 112);
  fill(tlb, 12, 111);
  tlb->fill(13, {read_only(112 << 12U)});
  CHECK(ranges_and_pages(tlb) == Pair{0, 0});
  CHECK(tlb->lookup(13) == PageTranslation{read_only(112 << 12U)});
  fill(tlb, kSpace - 1, 500);
  fill(tlb, kSpace, 501);
  CHECK(ranges_and_pages(tlb) == Pair{0, 0});
  CHECK(frame(tlb, kSpace) == 501);
  auto other = range_tlb();
  other->fill(512, {0x4000'0000, 9});
  other->fill(1024, {0x4020'0000});
  CHECK(ranges_and_pages(other) == Pair{0, 0});
  other->fill(1024, {0x4020'0000, 9});
  CHECK(ranges_and_pages(other) == Pair{1, 2});
  CHECK(other->lookup(1024 + 77) == PageTranslation{0x4020'0000, 9});
  other->fill(3, {physical(1, 0x3000)});
  other->fill(4, {physical(2, 0x4000)});
  CHECK(ranges_and_pages(other) == Pair{1, 2});
}

TEST_CASE("range: read-only pages are separate ranges") {
  auto tlb = range_tlb();
  for (std::uint64_t page = 1; page < 5; ++page) tlb->fill(page, {read_only(page << 12U)});
  CHECK(ranges_and_pages(tlb) == Pair{1, 4});
  CHECK(tlb->lookup(3) == PageTranslation{read_only(0x3000)});
}

TEST_CASE("range: the least recently used range is replaced, and pages replace pages") {
  auto tlb = range_tlb({{"range_entries", "2"}});
  for (std::uint64_t const page : {10U, 20U, 30U}) {
    fill(tlb, page, page);
    fill(tlb, page + 1, page + 1);
    if (page == 20) CHECK(frame(tlb, 11) == 11);
  }
  CHECK(frame(tlb, 10) == 10);
  CHECK_FALSE(frame(tlb, 20).has_value());
  CHECK(frame(tlb, 31) == 31);
  for (std::uint64_t page = 100; page < 200; page += 2) fill(tlb, page, 500 - page);  // one of two sets
  CHECK(test::entries_of(tlb.tlb).size() == 4 + 4);
  CHECK(frame(tlb, 10) == 10);
  CHECK(frame(tlb, 198) == 302);
}

TEST_CASE("range: refilling an unchanged page counts as a use of its range") {
  auto tlb = range_tlb({{"range_entries", "2"}});
  for (std::uint64_t const page : {10U, 20U}) {
    fill(tlb, page, page);
    fill(tlb, page + 1, page + 1);
  }
  fill(tlb, 10, 10);
  fill(tlb, 30, 30);
  fill(tlb, 31, 31);
  CHECK(frame(tlb, 11) == 11);
  CHECK_FALSE(frame(tlb, 21).has_value());
}

TEST_CASE("range: contiguity of frames is measured in base pages") {
  for (unsigned const page_bits : {16U, 21U}) {
    CAPTURE(page_bits);
    test::ChosenTlb tlb{"range", {}, {8, 4, page_bits, kLru}};
    for (std::uint64_t page = 0; page < 3; ++page) tlb->fill(page, {(page + 5) << page_bits});
    CHECK(ranges_and_pages(tlb) == Pair{1, 3});
    CHECK(tlb->lookup(2) == PageTranslation{std::uint64_t{7} << page_bits});
  }
}

TEST_CASE("range: an invalidation splits or shortens a range, and removes single pages") {
  auto tlb = range_tlb();
  for (std::uint64_t page = 0; page < 10; ++page) fill(tlb, page, page + 50);
  CHECK(tlb->invalidate(3));
  CHECK_FALSE(tlb->invalidate(3));
  CHECK(tlb.stat("splits") == 1);
  CHECK(ranges_and_pages(tlb) == Pair{2, 9});
  for (std::uint64_t page = 0; page < 10; ++page)
    CHECK(frame(tlb, page) == (page == 3 ? std::nullopt : std::optional(page + 50)));
  CHECK(tlb->invalidate(0));
  CHECK(tlb->invalidate(9));
  CHECK(tlb.stat("splits") == 1);
  CHECK(ranges_and_pages(tlb) == Pair{2, 7});
  CHECK(tlb->invalidate(1));
  CHECK(tlb->invalidate(2));
  CHECK(ranges_and_pages(tlb) == Pair{1, 5});
  fill(tlb, 100, 7);
  CHECK(tlb->invalidate(100));
  CHECK_FALSE(tlb->invalidate(100));
  fill(tlb, 3, 53);  // contiguous again
  CHECK(ranges_and_pages(tlb) == Pair{1, 6});
}

TEST_CASE("range: the last free entry is used for the second part of a split range") {
  auto tlb = range_tlb({{"range_entries", "2"}});
  for (std::uint64_t page = 0; page < 10; ++page) fill(tlb, page, page + 50);
  CHECK(tlb->invalidate(3));
  CHECK(ranges_and_pages(tlb) == Pair{2, 9});
  CHECK(frame(tlb, 0) == 50);
  CHECK(frame(tlb, 9) == 59);
}

TEST_CASE("range: without a free entry, the shorter part of a split range is dropped") {
  for (bool const near_the_end : {false, true}) {
    auto tlb = range_tlb({{"range_entries", "1"}});
    for (std::uint64_t page = 0; page < 10; ++page) fill(tlb, page, page + 50);
    CHECK(tlb->invalidate(near_the_end ? 7 : 2));
    CHECK(ranges_and_pages(tlb) == Pair{1, 7});
    CHECK(frame(tlb, 0).has_value() == near_the_end);
    CHECK(frame(tlb, 9).has_value() != near_the_end);
    CHECK(frame(tlb, 5) == 55);
  }
}

TEST_CASE("range: both parts of a split range keep its last use") {
  auto tlb = range_tlb({{"range_entries", "3"}});
  for (std::uint64_t page = 100; page < 110; ++page) fill(tlb, page, page);
  for (std::uint64_t page = 0; page < 10; ++page) fill(tlb, page, page);
  CHECK(tlb->invalidate(3));
  fill(tlb, 50, 50);
  fill(tlb, 51, 51);
  CHECK(frame(tlb, 0) == 0);
  CHECK(frame(tlb, 9) == 9);
  CHECK_FALSE(frame(tlb, 100).has_value());
}

TEST_CASE("range: a page refilled with a different frame is removed from its range") {
  auto tlb = range_tlb();
  for (std::uint64_t page = 0; page < 10; ++page) fill(tlb, page, page + 50);
  fill(tlb, 4, 54);  // unchanged
  CHECK(ranges_and_pages(tlb) == Pair{1, 10});
  fill(tlb, 4, 99);
  CHECK(frame(tlb, 4) == 99);
  CHECK(frame(tlb, 3) == 53);
  CHECK(frame(tlb, 5) == 55);
  CHECK(ranges_and_pages(tlb) == Pair{2, 9});
  fill(tlb, 20, 5);
  fill(tlb, 20, 6);
  CHECK(frame(tlb, 20) == 6);
  CHECK(test::entries_of(tlb.tlb).size() == 11);
}

TEST_CASE("range: an invalidation of a base page removes the containing pages of every size") {
  auto tlb = range_tlb();
  for (std::uint64_t page = 512; page < 520; ++page) fill(tlb, page, page);
  tlb->fill(512, {512 << 12U, 2});
  tlb->fill(512, {512 << 12U, 9});
  tlb->fill(1024, {1024 << 12U, 9});
  CHECK(tlb->invalidate(514));
  CHECK_FALSE(frame(tlb, 514).has_value());
  CHECK(frame(tlb, 513) == 513);
  CHECK_FALSE(frame(tlb, 700).has_value());
  CHECK(frame(tlb, 1100) == 1024);
}

TEST_CASE("range: pages adjacent in the page table are filled together, up to the configured number") {
  auto const table = mapped_pages();
  auto tlb = range_tlb({}, &table);
  CHECK_FALSE(frame(tlb, 50).has_value());
  fill(tlb, 50, 1050);
  CHECK(ranges_and_pages(tlb) == Pair{1, 100});
  CHECK(tlb.stat("fetched_pages") == 99);
  for (std::uint64_t page = 0; page < 100; ++page) CHECK(frame(tlb, page) == 1000 + page);
  fill(tlb, 260, 3260);
  CHECK(ranges_and_pages(tlb) == Pair{2, 149});
  CHECK_FALSE(frame(tlb, 250).has_value());
  auto some = range_tlb({{"fetched_pages", "3"}}, &table);
  fill(some, 50, 1050);
  CHECK(ranges_and_pages(some) == Pair{1, 7});
  fill(some, 55, 1055);  // the fetched pages overlap
  CHECK(ranges_and_pages(some) == Pair{1, 12});
  fill(some, 1, 1001);
  CHECK(ranges_and_pages(some) == Pair{2, 17});
  auto none = range_tlb({{"fetched_pages", "0"}}, &table);
  fill(none, 50, 1050);
  CHECK(ranges_and_pages(none) == Pair{0, 0});
}

TEST_CASE("range: pages invalidated since time zero, or with other frames, are not filled together") {
  auto const table = mapped_pages(2);
  auto tlb = range_tlb({}, &table);
  CHECK_FALSE(tlb->invalidate(40));  // not present, and not to be fetched
  fill(tlb, 60, 1060);
  CHECK(ranges_and_pages(tlb) == Pair{1, 59});
  CHECK_FALSE(frame(tlb, 40).has_value());
  fill(tlb, 40, 9);
  fill(tlb, 39, 1039);
  CHECK(ranges_and_pages(tlb) == Pair{2, 99});
  CHECK(frame(tlb, 40) == 9);
  CHECK(tlb->invalidate(70));
  CHECK(tlb->invalidate(80));
  CHECK(tlb->invalidate(75));
  fill(tlb, 78, 1078);
  for (std::uint64_t const page : {70U, 75U, 80U}) CHECK_FALSE(frame(tlb, page).has_value());
  for (std::uint64_t const page : {69U, 71U, 76U, 79U, 81U}) CHECK(frame(tlb, page) == 1000 + page);
  // A page that was filled with another frame without an invalidation.
  fill(tlb, 210, 5);
  CHECK_FALSE(tlb->invalidate(212));
  fill(tlb, 211, 3211);
  CHECK(frame(tlb, 210) == 5);
  CHECK(frame(tlb, 209) == std::nullopt);
  fill(tlb, kSpace + 260, 3260);  // of another space, whose table has nothing
  CHECK_FALSE(frame(tlb, kSpace + 261).has_value());
}

TEST_CASE("range: large pages are filled together unless one of their base pages was invalidated") {
  PageTable table(0x7000'0000, 12);
  auto const large_at = [](std::uint64_t n) { return PageTranslation{0x4000'0000 + (n << 21U), 9}; };
  for (std::uint64_t n = 1; n < 6; ++n) table.map(n * 512, large_at(n).frame, 9);
  auto tlb = range_tlb({}, &table);
  tlb->fill(3 * 512, large_at(3));
  CHECK(ranges_and_pages(tlb) == Pair{1, 5});
  CHECK(tlb.stat("fetched_pages") == 4);
  for (std::uint64_t n = 1; n < 6; ++n) CHECK(tlb->lookup(n * 512 + 511) == large_at(n));
  CHECK_FALSE(tlb->lookup(6 * 512).has_value());
  auto other = range_tlb({}, &table);
  CHECK_FALSE(other->invalidate(2 * 512 + 7));
  CHECK_FALSE(other->invalidate(5 * 512 + 511));
  other->fill(3 * 512, large_at(3));
  CHECK(ranges_and_pages(other) == Pair{1, 2});
  CHECK_FALSE(other->lookup(2 * 512).has_value());
  CHECK_FALSE(other->lookup(5 * 512).has_value());
}

TEST_CASE(
    "range: after a refill of a large page with another frame, its base pages are not filled together") {
  PageTable table(0x7000'0000, 12);
  for (std::uint64_t page = 1020; page < 1600; ++page) table.map(page, page << 12U);
  auto tlb = range_tlb({}, &table);
  tlb->fill(1024, {0x4000'0000, 9});
  fill(tlb, 1540, 1540);
  CHECK(ranges_and_pages(tlb) == Pair{1, 1600 - 1536});
  CHECK(tlb->lookup(1535) == PageTranslation{0x4000'0000, 9});
  fill(tlb, 1022, 1022);
  CHECK(ranges_and_pages(tlb) == Pair{2, 1600 - 1536 + 4});
}

TEST_CASE("range: a single page has no other entry once it is filled together with a neighbour") {
  auto const table = mapped_pages();
  auto tlb = range_tlb({}, &table);
  tlb->invalidate(39);
  tlb->invalidate(41);
  fill(tlb, 40, 1040);
  CHECK(ranges_and_pages(tlb) == Pair{0, 0});
  fill(tlb, 39, 1039);
  CHECK(ranges_and_pages(tlb) == Pair{1, 41});
  CHECK(test::entries_of(tlb.tlb).size() == 41);
  CHECK(tlb->invalidate(40));
  CHECK_FALSE(frame(tlb, 40).has_value());
}

TEST_CASE("range: after an invalidation of everything, it is empty and fills no adjacent pages") {
  auto const table = mapped_pages();
  auto tlb = range_tlb({}, &table);
  fill(tlb, 50, 1050);
  fill(tlb, 400, 7);
  CHECK(tlb->invalidate_all() == 101);
  CHECK(test::entries_of(tlb.tlb).empty());
  fill(tlb, 60, 1060);
  fill(tlb, 61, 1061);
  CHECK(ranges_and_pages(tlb) == Pair{1, 2});
  auto copy = range_tlb({}, &table);
  test::copy_state(tlb.tlb, copy.tlb);
  fill(copy, 62, 1062);
  CHECK(ranges_and_pages(copy) == Pair{1, 3});
  CHECK(test::hash_of(tlb.tlb) != test::hash_of(copy.tlb));
}

TEST_CASE("range: over a million random calls, no wrong frame, no excess entries, and no overlap") {
  struct Case {
    std::string entries;
    bool is_mapped;
  };
  for (auto const& c : {Case{"1", false}, {"4", false}, {"32", false}, {"4", true}, {"32", true}}) {
    auto const entries = c.entries;
    auto const is_mapped = c.is_mapped;
    CAPTURE(entries);
    CAPTURE(is_mapped);
    TlbTraffic traffic(3, true);
    PageTable table(0x7000'0000, 12, 256);
    traffic.each_page([&](std::uint64_t page, PhysAddr at) { table.map(page, at); });
    auto tlb = range_tlb({{"range_entries", entries}}, is_mapped ? &table : nullptr);
    std::uint64_t found_of = 0, lookups = 0;
    for (int i = 0; i < 1'000'000; ++i) {
      traffic.step([&](auto const& call) {
        using Call = std::decay_t<decltype(call)>;
        if constexpr (std::is_same_v<Call, TlbTraffic::Fill>) {
          tlb->fill(call.page, call.to);
          auto const found = tlb->lookup(call.page);
          REQUIRE(found.has_value());
          REQUIRE(found->base_page(call.page, 12).frame == traffic.at_home(call.page));
        } else if constexpr (std::is_same_v<Call, TlbTraffic::Invalidation>) {
          bool const there = tlb->lookup(call.page).has_value();
          REQUIRE(tlb->invalidate(call.page) == there);
          REQUIRE_FALSE(tlb->lookup(call.page).has_value());
        } else {
          auto const found = tlb->lookup(call.page);
          ++lookups;
          found_of += found ? 1 : 0;
          if (found) REQUIRE(found->base_page(call.page, 12).frame == traffic.at_home(call.page));
        }
      });
      if (i % 4096 != 0) continue;
      auto const there = test::entries_of(tlb.tlb);  // each page once
      auto const [ranges, pages] = ranges_and_pages(tlb);
      REQUIRE(ranges <= std::stoul(entries));
      REQUIRE(there.size() - pages <= 8);
      for (auto const& [page, at] : there) REQUIRE(at == traffic.at_home(page.second));
    }
    CHECK(found_of > lookups / 20);
    CHECK(tlb.stat("splits") > 10);
    CHECK(tlb.stat("joined") > 1000);
  }
}

TEST_CASE(
    "range: without replacement it holds exactly the filled pages, and each contiguous run is one range") {
  auto tlb = range_tlb({{"range_entries", "4096"}});
  std::map<std::uint64_t, std::uint64_t> there;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    auto const page = random() % 1024 * 2 + random() % 2;  // single pages may be replaced
    if (random() % 3 == 0) {
      tlb->invalidate(page);
      there.erase(page);
    } else if (!there.contains(page)) {
      auto const at = page + (random() % 4 == 0 ? 5000 : 0);
      fill(tlb, page, at);
      there[page] = at;
    }
    auto const found = frame(tlb, page);
    if (!there.contains(page)) REQUIRE_FALSE(found.has_value());
    if (i % 997 != 0) continue;
    for (auto const& [p, at] : there) {
      auto const answer = frame(tlb, p);
      if (answer) REQUIRE(*answer == at);
      if (!answer) there.at(p) = ~std::uint64_t{0};  // replaced
    }
    std::erase_if(there, [](auto const& entry) { return entry.second == ~std::uint64_t{0}; });
    auto const listed = test::entries_of(tlb.tlb);
    REQUIRE(listed.size() == there.size());
    // One range or single-page entry per run.
    std::uint64_t runs = 0;
    for (auto const& [p, at] : there) {
      auto const before = there.find(p - 1);
      runs += before == there.end() || before->second + 1 != at ? 1 : 0;
    }
    auto const [ranges, pages] = ranges_and_pages(tlb);
    REQUIRE(ranges + (listed.size() - pages) == runs);
  }
}

}  // namespace range_tlb_test
