// SPDX-License-Identifier: Apache-2.0
// Page tables and address maps.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "farfault/parts/address_map.hpp"
#include "farfault/translation/page_table.hpp"

namespace translation_parts_test {

using namespace farfault;

namespace {

constexpr PhysAddr kBase = 0x7000'0000;

// Addresses that a walk from the root reads.
std::vector<PhysAddr> walk(PageTable const& table, std::uint64_t page) {
  std::vector<PhysAddr> read;
  auto node = table.root_of(page);
  for (unsigned level = 0;; ++level) {
    auto const s = table.step(node, level, page);
    read.push_back(s.address);
    if (!s.present || s.leaf) return read;
    node = s.next;
  }
}

std::uint64_t page_of(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  return ((a * 512 + b) * 512 + c) * 512 + d;
}
// Page number for pages of 64 KiB.
std::uint64_t big_page_of(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  return ((a * 512 + b) * 512 + c) * 32 + d;
}

}  // namespace

TEST_CASE("a walk of 4 KiB pages reads four distinct entries, one in the node of each level") {
  PageTable table(kBase, 12);
  CHECK(table.levels().count() == 4);
  CHECK(table.nodes() == 1);
  table.map(page_of(1, 2, 3, 4), 0xABC000);
  CHECK(table.nodes() == 4);
  CHECK(walk(table, page_of(1, 2, 3, 4)) == std::vector<PhysAddr>{kBase + 1 * 8, kBase + 0x1000 + 2 * 8,
                                                                  kBase + 0x2000 + 3 * 8,
                                                                  kBase + 0x3000 + 4 * 8});
  CHECK(table.find(page_of(1, 2, 3, 4)) == PageTranslation{0xABC000});
  // A neighbour shares all nodes; a page 2 MiB away has its own last node.
  table.map(page_of(1, 2, 3, 511), 0xDEF000);
  CHECK(table.nodes() == 4);
  table.map(page_of(1, 2, 4, 0), 0x111000);
  CHECK(table.nodes() == 5);
  CHECK(walk(table, page_of(1, 2, 4, 0)).back() == kBase + 0x4000);
  CHECK(table.mapped_pages() == 3);
}

TEST_CASE("a walk of 2 MiB pages reads three entries") {
  PageTable table(kBase, 21);
  CHECK(table.levels().count() == 3);
  table.map(page_of(0, 5, 6, 7), 0x4000'0000);
  CHECK(walk(table, page_of(0, 5, 6, 7)) ==
        std::vector<PhysAddr>{kBase + 5 * 8, kBase + 0x1000 + 6 * 8, kBase + 0x2000 + 7 * 8});
  CHECK(table.find(page_of(0, 5, 6, 7)) == PageTranslation{0x4000'0000});
}

TEST_CASE("a walk of 64 KiB pages reads four entries: three as for 4 KiB pages, and one of 32") {
  PageTable table(kBase, 16);
  CHECK(table.levels().count() == 4);
  auto const page = big_page_of(1, 2, 3, 4);
  CHECK((page << 16) == (page_of(1, 2, 3, 0) << 12) + (4 << 16));
  table.map(page, 0xAB0000);
  CHECK(walk(table, page) == std::vector<PhysAddr>{kBase + 1 * 8, kBase + 0x1000 + 2 * 8,
                                                   kBase + 0x2000 + 3 * 8, kBase + 0x3000 + 4 * 8});
  CHECK(table.find(page) == PageTranslation{0xAB0000});
  CHECK_FALSE(table.find(page + 1).has_value());
}

TEST_CASE("last nodes of 64 KiB pages are 256 bytes and contiguous, other nodes are 4 KiB") {
  PageTable table(kBase, 16);
  for (std::uint64_t n = 0; n < 17; ++n) {
    table.map(big_page_of(0, 0, n, 31), n << 16);
    auto const node = n < 16 ? 0x3000 + n * 256 : 0x4000;
    CHECK(walk(table, big_page_of(0, 0, n, 31)).back() == kBase + node + 31 * 8);
  }
  CHECK(table.nodes() == 3 + 17);
  CHECK(table.bytes() == 5 * 4096);
  table.map(big_page_of(0, 1, 0, 0), 17 << 16);  // its upper node is at the end, its last one is not
  CHECK(walk(table, big_page_of(0, 1, 0, 0)) ==
        std::vector<PhysAddr>{kBase, kBase + 0x1000 + 8, kBase + 0x5000, kBase + 0x4000 + 256});
  CHECK(table.bytes() == 6 * 4096);
  std::vector<std::pair<std::uint64_t, PhysAddr>> pages;
  table.each_page([&](std::uint64_t page, PageTranslation const& t) { pages.emplace_back(page, t.frame); });
  REQUIRE(pages.size() == 18);
  for (std::uint64_t n = 0; n < 17; ++n)
    CHECK(pages[n] == std::pair<std::uint64_t, PhysAddr>{big_page_of(0, 0, n, 31), n << 16});
  CHECK(pages[17] == std::pair<std::uint64_t, PhysAddr>{big_page_of(0, 1, 0, 0), 17 << 16});
}

TEST_CASE("each address space has a separate root and pages, at any page size") {
  for (unsigned const page_bits : {12U, 16U, 21U, 30U}) {
    CAPTURE(page_bits);
    constexpr std::uint32_t kSpaces = 20;
    PageTable table(kBase, page_bits, kSpaces);
    std::set<PhysAddr> roots, leaves;
    for (std::uint64_t space = 0; space < kSpaces; ++space) {
      auto const page = (first_address_of(static_cast<std::uint32_t>(space)) >> page_bits) + 5;
      CHECK(table.space_of(page) == space);
      CHECK(table.root_of(page) == table.root_of(page - 5));
      CHECK_FALSE(table.find(page).has_value());
      table.map(page, (space + 1) << page_bits);
    }
    for (std::uint64_t space = 0; space < kSpaces; ++space) {
      auto const page = (first_address_of(static_cast<std::uint32_t>(space)) >> page_bits) + 5;
      CHECK(table.find(page) == PageTranslation{(space + 1) << page_bits});
      auto const read = walk(table, page);
      roots.insert(read.front());
      leaves.insert(read.back());
    }
    CHECK(roots.size() == kSpaces);
    CHECK(leaves.size() == kSpaces);
    CHECK(*roots.rbegin() == kBase + (kSpaces - 1) * 4096);
    CHECK(table.nodes() == kSpaces * table.levels().count());
  }
}

TEST_CASE("1 GiB pages take two levels") {
  CHECK(PageTable(kBase, 30).levels().count() == 2);
}

TEST_CASE("a walk for an unmapped page ends at the first entry that is not present") {
  PageTable table(kBase, 12);
  CHECK(walk(table, 0) == std::vector<PhysAddr>{kBase});
  table.map(page_of(0, 0, 0, 1), 0x1000);
  CHECK(walk(table, page_of(0, 0, 0, 2)).size() == 4);  // the leaf's entry itself
  CHECK(walk(table, page_of(0, 0, 1, 0)).size() == 3);
  CHECK(walk(table, page_of(0, 1, 0, 0)).size() == 2);
  CHECK(walk(table, page_of(1, 0, 0, 0)).size() == 1);
  CHECK_FALSE(table.find(page_of(0, 0, 0, 2)).has_value());
}

TEST_CASE("frame 0 can be mapped, and a page can be mapped again") {
  PageTable table(kBase, 12);
  table.map(9, 0);
  CHECK(table.find(9) == PageTranslation{0});
  table.map(9, 0x5000);
  CHECK(table.find(9) == PageTranslation{0x5000});
  CHECK(table.mapped_pages() == 1);
}

TEST_CASE(
    "a page table agrees with a map for pages across 48 bits, and its entries have distinct addresses") {
  for (unsigned const page_bits : {12U, 16U, 21U}) {
    PageTable table(kBase, page_bits);
    std::map<std::uint64_t, PhysAddr> reference;
    std::mt19937_64 random(page_bits);
    auto const pages = std::uint64_t{1} << (48 - page_bits);
    for (int i = 0; i < 300; ++i) {
      auto const page = random() % 4 == 0 ? pages - 1 - random() % 700 : random() % pages;
      auto const frame = physical(static_cast<DeviceId>(random() % 4), random() % (1U << 20) << page_bits);
      table.map(page, frame);
      reference[page] = frame;
    }
    std::set<PhysAddr> leaves;
    for (auto const& [page, frame] : reference) {
      REQUIRE(table.find(page) == PageTranslation{frame});
      leaves.insert(walk(table, page).back());
      if (reference.count(page + 1) == 0) REQUIRE_FALSE(table.find(page + 1).has_value());
    }
    CHECK(leaves.size() == reference.size());
    CHECK(*leaves.rbegin() < kBase + table.nodes() * PageTable::kNodeBytes);
    CHECK(table.mapped_pages() == reference.size());
    // Sparse: at most a path of nodes per page, and the root.
    CHECK(table.nodes() <= 1 + reference.size() * (table.levels().count() - 1));
  }
}

TEST_CASE("slice and local address determine the offset, and blocks are interleaved over the slices") {
  std::mt19937_64 random(6);
  for (std::uint32_t const slices : {1U, 2U, 16U, 256U}) {
    for (std::uint64_t const interleave : {64U, 256U, 4096U}) {
      AddressMap const map(slices, interleave);
      for (int i = 0; i < 2000; ++i) {
        auto const offset = random() % (std::uint64_t{1} << 44);
        auto const slice = map.slice(offset);
        REQUIRE(slice == offset / interleave % slices);
        REQUIRE(map.local(offset) == offset / interleave / slices * interleave + offset % interleave);
        REQUIRE(map.offset(slice, map.local(offset)) == offset);
      }
    }
  }
}

TEST_CASE("a relocated page table is the same table at other addresses") {
  PageTable table(0x10000, 12);
  table.map(5, 0x7000);
  auto copy = table;
  copy.relocate(0x90000);
  CHECK(copy.find(5) == table.find(5));
  CHECK(copy.step(0, 0, 5).address == table.step(0, 0, 5).address + 0x80000);
  CHECK(copy.step(0, 0, 5).next == table.step(0, 0, 5).next);
}

TEST_CASE("page table with parts: nodes are in the part of their first frame, or of their bank of TLBs") {
  constexpr std::uint64_t kBlock = 16384;
  auto const part_of = [](PhysAddr entry) { return offset_of(entry) / kBlock % 4; };
  NodePlaces places{.parts = 4, .block = kBlock};
  places.with_frame = true;
  for (unsigned const bits : {12U, 16U}) {
    CAPTURE(bits);
    PageTable table(0, bits, 3, places);
    std::map<PhysAddr, std::pair<std::size_t, std::uint64_t>> nodes;  // level and path, by first address
    for (std::uint64_t n = 0; n < 200; ++n) {
      auto const page = n << table.coalesced_size();
      table.map(page, n * kBlock);
      auto const read = walk(table, page);
      CHECK(part_of(read.back()) == n % 4);
      for (unsigned level = 0; level < read.size(); ++level) {
        auto const first = read[level] - table.levels().index(page, level) * 8;
        std::pair const node{std::size_t{level}, table.levels().path_to(page, level)};
        CHECK(nodes.emplace(first, node).first->second == node);
      }
    }
    CHECK(nodes.size() == 3 + 200);
  }
  // Large blocks cost no memory of the host, and the roots only their place.
  NodePlaces large{.parts = 4, .block = std::uint64_t{1} << 30};
  large.with_frame = true;
  PageTable sparse(0, 12, 1, large);
  sparse.map(5, std::uint64_t{3} << 30);
  auto const path = walk(sparse, 5);
  CHECK(path[0] == 0);
  for (std::size_t level = 1; level < 4; ++level) CHECK((offset_of(path[level]) >> 30) == 3);
  CHECK((offset_of(path[1]) >> 12) == (3 << 18));
  CHECK(sparse.bytes() == 4 * 4096);
  NodePlaces by_bank{.parts = 4, .block = kBlock};
  by_bank.banks = 8;
  by_bank.pages = 1024;
  PageTable table(0, 12, 1, by_bank);
  for (std::uint64_t page = 0; page < 1024 * 64; page += 512) {
    table.map(page, 0);
    CHECK(part_of(walk(table, page).back()) == page / 1024 % 8 / 2);
  }
}

}  // namespace translation_parts_test
