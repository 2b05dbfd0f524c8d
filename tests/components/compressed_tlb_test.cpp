// SPDX-License-Identifier: Apache-2.0
// TLB compression step by step: compressible translations, choice of the base, re-basing, and victims.
#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tlb_traffic.hpp"

namespace compressed_tlb_test {

using namespace farfault;
using test::kLru;

namespace {

constexpr std::uint64_t kSpace = std::uint64_t{1} << 36;  // first page of the second address space
constexpr std::uint32_t kSizes = 1U | 1U << 2U | 1U << 9U;

// The paper's L2 TLB: 32 sets of 16 ways.
test::ChosenTlb l2(std::vector<test::Setting> const& settings = {}) {
  return {"compressed", settings, {512, 16, 12, kLru}};
}
// Sets of four ways: two uncompressed translations, four compressed ones.
test::ChosenTlb small(std::uint32_t sets, std::vector<test::Setting> const& settings = {},
                      std::uint32_t sizes = 1) {
  return {"compressed",
          settings,
          {.entries = 4 * sets, .ways = 4, .page_bits = 12, .replacement = kLru, .sizes = sizes}};
}

// A page of a set by its tag, and a frame by its number.
constexpr std::uint64_t page_at(std::uint64_t tag, std::uint64_t set = 0) {
  return tag << 5U | set;
}
constexpr PageTranslation frame_at(std::uint64_t number) {
  return {number << 12U};
}
void fill(test::ChosenTlb& tlb, std::uint64_t page, std::uint64_t frame) {
  tlb->fill(page, frame_at(frame));
}
// True if the page's translation is compressed. The page must be present.
bool is_compressed(test::ChosenTlb& tlb, std::uint64_t page) {
  auto const before = tlb.stat("compressed_hits");
  REQUIRE(tlb->lookup(page).has_value());
  return tlb.stat("compressed_hits") != before;
}
std::set<std::uint64_t> pages_of(test::ChosenTlb const& tlb) {
  std::set<std::uint64_t> pages;
  for (auto const& [page, frame] : test::entries_of(tlb.tlb)) pages.insert(page.second);
  return pages;
}
std::string refusal(std::vector<test::Setting> const& settings, std::uint32_t entries = 512,
                    std::uint32_t ways = 16, std::uint32_t sizes = 1) {
  return test::chosen<TlbOrganization>("compressed", settings)
      .why_not({.entries = entries, .ways = ways, .page_bits = 12, .replacement = kLru, .sizes = sizes});
}

}  // namespace

TEST_CASE(
    "compressed: a translation is compressed if its upper 18 virtual and 10 physical bits match the base") {
  auto tlb = l2();
  constexpr std::uint64_t kTag = 5U << 13U;     // 18 bits above 13
  constexpr std::uint64_t kFrame = 7U << 9U;    // 10 bits above 9
  fill(tlb, page_at(kTag + 100), kFrame + 30);  // the first one is the base
  CHECK(is_compressed(tlb, page_at(kTag + 100)));
  for (std::uint64_t const tag : {kTag, kTag + (1U << 13U) - 1})
    for (std::uint64_t const frame : {kFrame, kFrame + (1U << 9U) - 1}) {
      fill(tlb, page_at(tag), frame);
      CHECK(is_compressed(tlb, page_at(tag)));
      CHECK(tlb->lookup(page_at(tag)) == frame_at(frame));
    }
  // One away on either side. Compression compares bits, not differences, and these bits differ.
  for (std::uint64_t const tag : {kTag - 1, kTag + (1U << 13U)}) {
    fill(tlb, page_at(tag), kFrame + 1);
    CHECK_FALSE(is_compressed(tlb, page_at(tag)));
  }
  for (std::uint64_t const frame : {kFrame - 1, kFrame + (1U << 9U)}) {
    fill(tlb, page_at(kTag + 200), frame);
    CHECK_FALSE(is_compressed(tlb, page_at(kTag + 200)));
    CHECK(tlb->lookup(page_at(kTag + 200)) == frame_at(frame));
  }
  CHECK(tlb.stat("compressed_fills") == 5);
  CHECK(tlb.stat("uncompressed_fills") == 4);
}

TEST_CASE("compressed: a base belongs to one address space and one device's memory") {
  auto tlb = l2();
  fill(tlb, 0, 0);
  fill(tlb, kSpace, 1);
  CHECK_FALSE(is_compressed(tlb, kSpace));
  tlb->fill(page_at(1), {physical(1, 0x2000)});
  CHECK_FALSE(is_compressed(tlb, page_at(1)));
  CHECK(tlb->lookup(page_at(1)) == PageTranslation{physical(1, 0x2000)});
  CHECK(tlb->lookup(kSpace) == frame_at(1));
  CHECK(tlb->lookup(0) == frame_at(0));
}

TEST_CASE("compressed: a read-only page is compressed and stays read-only") {
  auto tlb = l2();
  fill(tlb, page_at(1), 1);
  tlb->fill(page_at(2), {read_only(0x2000)});
  CHECK(is_compressed(tlb, page_at(2)));
  CHECK(tlb->lookup(page_at(2)) == PageTranslation{read_only(0x2000)});
  CHECK_FALSE(tlb->lookup(page_at(2))->allows(Access::write));
  CHECK(tlb->lookup(page_at(1)) == frame_at(1));
}

TEST_CASE("compressed: each set has its own base, its first translation") {
  auto tlb = l2();
  fill(tlb, page_at(0, 3), 0);
  fill(tlb, page_at(9U << 13U, 4), 5U << 9U);
  CHECK(is_compressed(tlb, page_at(9U << 13U, 4)));
  fill(tlb, page_at(1, 4), 1);
  CHECK_FALSE(is_compressed(tlb, page_at(1, 4)));
  fill(tlb, page_at(1, 3), 1);
  CHECK(is_compressed(tlb, page_at(1, 3)));
  CHECK(tlb.stat("rebasings") == 0);
}

TEST_CASE("compressed: a set of sixteen ways holds eight uncompressed and sixteen compressed translations") {
  auto tlb = l2();
  for (std::uint64_t t = 0; t < 40; ++t) fill(tlb, page_at(t), t);
  for (std::uint64_t t = 0; t < 12; ++t) fill(tlb, page_at(t), (t + 1) << 9U);  // other bases: uncompressed
  std::set<std::uint64_t> expected;
  for (std::uint64_t t = 24; t < 40; ++t) expected.insert(page_at(t));
  for (std::uint64_t t = 4; t < 12; ++t) expected.insert(page_at(t));
  CHECK(pages_of(tlb) == expected);
}

TEST_CASE("compressed: the least recently used translation of the same partition is replaced") {
  auto tlb = small(1);
  for (std::uint64_t page = 0; page < 4; ++page) fill(tlb, page, page);
  fill(tlb, 100, 1U << 9U);
  fill(tlb, 101, 2U << 9U);
  CHECK(tlb->lookup(0).has_value());
  CHECK(tlb->lookup(100).has_value());
  fill(tlb, 4, 4);
  CHECK(pages_of(tlb) == std::set<std::uint64_t>{0, 2, 3, 4, 100, 101});
  fill(tlb, 102, 3U << 9U);
  CHECK(pages_of(tlb) == std::set<std::uint64_t>{0, 2, 3, 4, 100, 102});
}

TEST_CASE(
    "compressed: after sixteen uncompressed translations, the next one becomes the base, and the set is "
    "empty") {
  auto tlb = l2();
  for (std::uint64_t t = 0; t < 10; ++t) fill(tlb, page_at(t), t);
  for (std::uint64_t t = 0; t < 3; ++t) fill(tlb, page_at(t, 1), t);  // of another set
  // Compressed translations in between do not reset the counter.
  for (std::uint64_t n = 0; n < 16; ++n) {
    fill(tlb, page_at(n % 2, 0), n % 2);
    fill(tlb, page_at(n << 13U), n << 9U | 1U << 18U);
    CHECK(tlb.stat("rebasings") == 0);
  }
  CHECK(is_compressed(tlb, page_at(5)));
  fill(tlb, page_at(77U << 13U), 88U << 9U);
  CHECK(tlb.stat("rebasings") == 1);
  CHECK(tlb.stat("flushed_translations") == 10);
  CHECK(is_compressed(tlb, page_at(77U << 13U)));
  CHECK_FALSE(tlb->lookup(page_at(5)).has_value());
  for (std::uint64_t n = 8; n < 16; ++n) CHECK_FALSE(is_compressed(tlb, page_at(n << 13U)));
  for (std::uint64_t t = 0; t < 3; ++t) CHECK(is_compressed(tlb, page_at(t, 1)));
  // After sixteen more, the next translation becomes the base, whatever it is.
  for (std::uint64_t n = 0; n < 16; ++n) fill(tlb, page_at(n << 13U), n << 9U | 1U << 18U);
  CHECK(tlb.stat("rebasings") == 1);
  fill(tlb, page_at((77U << 13U) + 5), (88U << 9U) + 5);
  CHECK(tlb.stat("rebasings") == 2);
  CHECK(tlb.stat("flushed_translations") == 11);
  CHECK_FALSE(tlb->lookup(page_at(77U << 13U)).has_value());
}

TEST_CASE("compressed: with consecutive counting, a compressed translation resets the counter") {
  auto tlb = l2({{"rebasing", "consecutive"}, {"rebase_after", "3"}});
  fill(tlb, page_at(0), 0);
  auto const elsewhere = [&](std::uint64_t n) { fill(tlb, page_at(n << 13U), n << 9U | 1U << 18U); };
  for (std::uint64_t round = 0; round < 4; ++round) {
    elsewhere(1);
    elsewhere(2);
    fill(tlb, page_at(1), 1);
  }
  CHECK(tlb.stat("rebasings") == 0);
  for (std::uint64_t n = 1; n <= 3; ++n) elsewhere(n);
  fill(tlb, page_at(2), 2);  // too late: the counter is zero
  CHECK(tlb.stat("rebasings") == 1);
  CHECK(tlb.stat("flushed_translations") == 2);
  CHECK(is_compressed(tlb, page_at(2)));
}

TEST_CASE("compressed: with stream counting, hits count like fills") {
  auto tlb = l2({{"rebasing", "stream"}, {"rebase_after", "3"}});
  auto const stranger = page_at(1U << 13U);
  fill(tlb, page_at(0), 0);
  fill(tlb, stranger, 1U << 9U | 1U << 18U);
  for (int round = 0; round < 4; ++round) {  // two, then reset by a hit
    CHECK(tlb->lookup(stranger).has_value());
    CHECK(tlb->lookup(page_at(0)).has_value());
    CHECK(tlb->lookup(stranger).has_value());
    CHECK(tlb->lookup(page_at(0)).has_value());
  }
  fill(tlb, page_at(1), 1);
  CHECK(tlb.stat("rebasings") == 0);
  for (int i = 0; i < 4; ++i) CHECK(tlb->lookup(stranger).has_value());
  CHECK(tlb->lookup(page_at(0)).has_value());  // the counter was zero, and is reset again
  fill(tlb, page_at(1), 1);
  CHECK(tlb.stat("rebasings") == 0);
  for (int i = 0; i < 4; ++i) CHECK(tlb->lookup(stranger).has_value());
  fill(tlb, page_at(2), 2);
  CHECK(tlb.stat("rebasings") == 1);
  CHECK(tlb.stat("flushed_translations") == 2);
}

TEST_CASE("compressed: without re-basing, the first base is kept") {
  auto tlb = l2({{"rebasing", "none"}});
  fill(tlb, page_at(0), 0);
  for (std::uint64_t n = 1; n < 1000; ++n) fill(tlb, page_at(n << 13U), n << 9U);
  CHECK(tlb.stat("rebasings") == 0);
  CHECK(is_compressed(tlb, page_at(0)));
  fill(tlb, page_at(1), 1);
  CHECK(is_compressed(tlb, page_at(1)));
}

TEST_CASE("compressed: sets whose numbers are a stride apart share a base and are emptied together") {
  for (std::uint64_t const sharing : {2U, 4U, 0U}) {
    CAPTURE(sharing);
    auto tlb = l2({{"sets_per_base", std::to_string(sharing)}, {"rebase_after", "4"}});
    auto const bases = sharing == 0 ? 1 : 32 / sharing;
    for (std::uint64_t set = 0; set < 32; ++set)
      fill(tlb, page_at(0, set), 0);  // with the first page of each base
    for (std::uint64_t set = 0; set < 32; ++set) CHECK(is_compressed(tlb, page_at(0, set)));
    // Counted over all sets of base 0; this is the last one.
    auto const last = 32 - bases;
    for (std::uint64_t n = 1; n <= 4; ++n) fill(tlb, page_at(n << 13U, n % 2 == 0 ? 0 : last), n << 9U);
    fill(tlb, page_at(9U << 13U, last), 9U << 9U);
    CHECK(tlb.stat("rebasings") == 1);
    CHECK(tlb.stat("flushed_translations") == 32 / bases);
    for (std::uint64_t set = 0; set < 32; ++set)
      CHECK(tlb->lookup(page_at(0, set)).has_value() == (set % bases != 0));
    fill(tlb, page_at((9U << 13U) + 1, 0), (9U << 9U) + 1);
    CHECK(is_compressed(tlb, page_at((9U << 13U) + 1, 0)));
  }
}

TEST_CASE("compressed: base search selects the uncompressed translation with the fewest differing bits") {
  auto tlb = l2({{"base", "searched"}, {"rebase_after", "4"}});
  fill(tlb, page_at(0), 0);
  fill(tlb, page_at(3U << 20U), 1U << 12U);
  fill(tlb, page_at((5U << 20U) + 4), (1U << 14U) + 16);
  fill(tlb, page_at(5U << 20U), 1U << 14U);  // the next differs by 1 and 1 bits, the previous by 3 and 5
  CHECK(is_compressed(tlb, page_at(0)));
  fill(tlb, page_at((5U << 20U) + 1), (1U << 14U) + 1);
  CHECK(tlb.stat("rebasings") == 1);  // immediately
  CHECK_FALSE(tlb->lookup(page_at(0)).has_value());
  for (std::uint64_t const tag : {0U, 1U, 4U}) CHECK_FALSE(is_compressed(tlb, page_at((5U << 20U) + tag)));
  fill(tlb, page_at((5U << 20U) + 2), (1U << 14U) + 2);
  CHECK(is_compressed(tlb, page_at((5U << 20U) + 2)));
  fill(tlb, page_at((3U << 20U) + 1), (1U << 12U) + 1);
  CHECK_FALSE(is_compressed(tlb, page_at((3U << 20U) + 1)));
}

TEST_CASE("compressed: with ratio 3, an entry holds three narrower translations") {
  auto tlb = l2({{"ratio", "3"}, {"virtual_delta", "9"}, {"physical_delta", "6"}});
  for (std::uint64_t t = 0; t < 30; ++t) fill(tlb, page_at(t), t);
  std::set<std::uint64_t> expected;
  for (std::uint64_t t = 6; t < 30; ++t) expected.insert(page_at(t));
  CHECK(pages_of(tlb) == expected);
  fill(tlb, page_at(511), 63);
  CHECK(is_compressed(tlb, page_at(511)));
  fill(tlb, page_at(512), 63);
  CHECK_FALSE(is_compressed(tlb, page_at(512)));
  fill(tlb, page_at(510), 64);
  CHECK_FALSE(is_compressed(tlb, page_at(510)));
}

TEST_CASE("compressed: partitions of 75/25 and 25/75 of (uncompressed, compressed) ways") {
  auto const held = [](std::string const& percent) {
    auto tlb = l2({{"compressed_percent", percent}});
    for (std::uint64_t t = 0; t < 100; ++t) fill(tlb, page_at(t), t);
    auto const compressed = pages_of(tlb).size();
    for (std::uint64_t t = 0; t < 15; ++t) fill(tlb, page_at(t), (t + 1) << 9U);
    return std::pair(pages_of(tlb).size() - compressed, compressed);
  };
  CHECK(held("25") == std::pair<std::size_t, std::size_t>{12, 8});
  CHECK(held("75") == std::pair<std::size_t, std::size_t>{4, 24});
}

TEST_CASE("compressed: a fill in the other form removes the page's first entry") {
  auto tlb = l2();
  fill(tlb, page_at(1), 1);
  fill(tlb, page_at(1), 1U << 9U);
  CHECK(tlb->lookup(page_at(1)) == frame_at(1U << 9U));
  CHECK(test::entries_of(tlb.tlb).size() == 1);
  fill(tlb, page_at(1), 2);
  CHECK(tlb->lookup(page_at(1)) == frame_at(2));
  CHECK(test::entries_of(tlb.tlb).size() == 1);
  CHECK(tlb->invalidate(page_at(1)));
  CHECK_FALSE(tlb->invalidate(page_at(1)));
}

TEST_CASE("compressed: an invalidation removes pages of every size in both forms, and no others") {
  for (auto const* large_entries : {"0", "16"}) {
    CAPTURE(large_entries);
    auto tlb = small(8, {{"large_entries", large_entries}}, kSizes);
    auto const at = [](std::uint64_t page, std::uint8_t size) {
      return PageTranslation{page >> size << (12U + size), size};
    };
    tlb->fill(512, at(512, 0));  // compressed, with the base of its set
    tlb->fill(512, at(512, 2));  // uncompressed if it shares the set's base
    tlb->fill(512, at(512, 9));
    tlb->fill(1024, at(1024, 9));
    tlb->fill(513, at(513, 0));
    CHECK(tlb->lookup(512 + 3).has_value());
    CHECK(tlb->invalidate(512));
    CHECK(test::entries_of(tlb.tlb) ==
          test::Entries{{{0, 513}, at(513, 0).frame}, {{9, 1024}, at(1024, 9).frame}});
    CHECK(tlb->invalidate(1535));
    CHECK(tlb->invalidate(513));
    CHECK(test::entries_of(tlb.tlb).empty());
  }
}

TEST_CASE("compressed: large pages are compressed by their own numbers, and a base has one page size") {
  auto tlb = small(8, {}, kSizes);
  for (std::uint64_t n = 0; n < 3; ++n) tlb->fill(n * 8 * 512 + 7, {n << 21U, 9});  // all of set 0
  for (std::uint64_t n = 0; n < 3; ++n) {
    CHECK(is_compressed(tlb, n * 8 * 512 + 511));
    CHECK(tlb->lookup(n * 8 * 512 + 5) == PageTranslation{n << 21U, 9});
  }
  tlb->fill(8, {0x8000});
  CHECK_FALSE(is_compressed(tlb, 8));
  // The tag's 13 bits are above the set index: 8 sets of 2^13 large pages.
  tlb->fill((8U << 13U) * 512, {0x20'0000, 9});
  CHECK_FALSE(is_compressed(tlb, (8U << 13U) * 512));
}

TEST_CASE("compressed: frames are compressed by frame number at any base page size") {
  for (unsigned const page_bits : {16U, 21U}) {
    CAPTURE(page_bits);
    test::ChosenTlb tlb{"compressed", {}, {512, 16, page_bits, kLru}};
    auto const at = [&](std::uint64_t number) { return PageTranslation{number << page_bits}; };
    tlb->fill(page_at(0), at(0));
    tlb->fill(page_at(1), at((1U << 9U) - 1));
    tlb->fill(page_at(2), at(1U << 9U));
    CHECK(is_compressed(tlb, page_at(1)));
    CHECK(tlb->lookup(page_at(1)) == at((1U << 9U) - 1));
    CHECK_FALSE(is_compressed(tlb, page_at(2)));
    CHECK(tlb->lookup(page_at(2)) == at(1U << 9U));
  }
}

TEST_CASE("compressed: only compressed translations have the extra latency, at any size and in any entries") {
  for (auto const* large_entries : {"0", "8"}) {
    CAPTURE(large_entries);
    test::ChosenTlb tlb{"compressed",
                        {{"latency", "7"}, {"large_entries", large_entries}, {"large_ways", "4"}},
                        {.entries = 16,
                         .ways = 4,
                         .page_bits = 12,
                         .replacement = kLru,
                         .sizes = kSizes,
                         .mapped = nullptr,
                         .takes_delays = true}};
    tlb->fill(512, {0x4000'0000, 9});              // the base of its set
    tlb->fill(512 + 8 * 512, {0x4'0000'0000, 9});  // of the same set, far from it
    REQUIRE(is_compressed(tlb, 512));
    CHECK(tlb->hit_delay() == 7);
    REQUIRE_FALSE(is_compressed(tlb, 512 + 8 * 512));
    CHECK(tlb->hit_delay() == 0);
    fill(tlb, 0, 0);  // of another set
    REQUIRE(is_compressed(tlb, 0));
    CHECK(tlb->hit_delay() == 7);
  }
}

TEST_CASE("compressed: with separate entries, large pages and base pages do not evict each other") {
  auto tlb = small(1, {{"large_entries", "4"}, {"large_ways", "2"}}, kSizes);
  CHECK(tlb->arrays()[2].sets() == 2);
  for (std::uint64_t page = 0; page < 4; ++page) fill(tlb, page, page);
  for (std::uint64_t n = 1; n < 20; ++n) tlb->fill(n * 512, {n << 21U, 9});
  std::set<std::uint64_t> expected{0, 1, 2, 3};
  for (std::uint64_t n = 16; n < 20; ++n) expected.insert(n * 512);  // two sets, a way of two each
  CHECK(pages_of(tlb) == expected);
  // A look-up that hits a large page does not update the recency of base pages inside it.
  tlb->fill(0, {0, 9});
  CHECK(tlb->lookup(0) == PageTranslation{0, 9});
  fill(tlb, 4, 4);
  CHECK(pages_of(tlb).contains(1));
  CHECK(tlb->invalidate(511));
  CHECK_FALSE(tlb->lookup(0).has_value());
}

TEST_CASE("compressed: incompatible parameters are rejected in one sentence") {
  CHECK(refusal({}).empty());
  CHECK(refusal({{"ratio", "3"}}) ==
        "ratio = 3: deltas of 13 and 9 bits, each with 2 status bits, take 72 bits, but an "
        "entry has 52");
  CHECK(refusal({{"ratio", "3"}, {"virtual_delta", "9"}, {"physical_delta", "6"}}).empty());
  CHECK(refusal({{"ratio", "3"}, {"virtual_delta", "10"}, {"physical_delta", "6"}}).find("ratio = 3: ") == 0);
  CHECK(refusal({{"virtual_delta", "32"}}) == "virtual_delta = 32 must not be above the tag's 31 bits");
  CHECK(refusal({{"virtual_delta", "31"}, {"ratio", "1"}}).empty());
  CHECK(refusal({{"virtual_delta", "32"}, {"ratio", "1"}}, 256).empty());  // 16 sets: a bit more
  // 48 sets: the page-number bits above the set index are below 2^36 / 48, i.e. 31 bits.
  CHECK(refusal({{"virtual_delta", "31"}, {"ratio", "1"}}, 48 * 16).empty());
  CHECK(refusal({{"virtual_delta", "32"}, {"ratio", "1"}}, 48 * 16) ==
        "virtual_delta = 32 must not be above the tag's 31 bits");
  CHECK(refusal({{"physical_delta", "20"}}) == "physical_delta = 20 must not be above the frame's 19 bits");
  CHECK(refusal({{"virtual_delta", "16"}}) ==
        "ratio = 2: deltas of 16 and 9 bits, each with 2 status bits, take 54 bits, but an "
        "entry has 52");
  for (auto const* percent : {"0", "3", "99", "100"})
    CHECK(refusal({{"compressed_percent", percent}}) ==
          "compressed_percent = " + std::string(percent) +
              " must leave both partitions a whole number of the 16 ways, at least one");
  CHECK(refusal({}, 8, 1) ==
        "compressed_percent = 50 must leave both partitions a whole number of the 1 ways, at least one");
  CHECK(refusal({{"sets_per_base", "64"}}) == "sets_per_base = 64 must not be above the number of sets, 32");
  CHECK(refusal({{"sets_per_base", "3"}}) == "sets_per_base = 3 must divide the number of sets, 32");
  CHECK(refusal({{"sets_per_base", "32"}}).empty());
  CHECK(refusal({{"latency", "1"}}) ==
        "latency = 1 must be 0: only the L2 TLB has an additional latency of compressed translations");
  CHECK(refusal({{"large_entries", "16"}, {"large_ways", "3"}}) ==
        "large_ways = 3 must divide large_entries, 16");
  CHECK(refusal({{"large_entries", "16"}, {"large_ways", "1"}}) ==
        "compressed_percent = 50 must leave both partitions a whole number of the 1 ways for large pages, at "
        "least one");
  CHECK(refusal({{"large_entries", "24"}, {"large_ways", "4"}, {"sets_per_base", "4"}}) ==
        "sets_per_base = 4 must divide the number of sets for large pages, 6");
  CHECK(refusal({{"large_entries", "16"}, {"large_ways", "4"}, {"sets_per_base", "8"}}).empty());
  CHECK(refusal({{"compressed_percent", "0"}, {"ratio", "9"}}, 0, 16).empty());  // of no entries
}

}  // namespace compressed_tlb_test
