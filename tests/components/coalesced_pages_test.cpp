// SPDX-License-Identifier: Apache-2.0
// Base pages that are coalesced in place, and splintered: in a page table, during walks, as writes of
// entries, and in a GMMU.
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "farfault/translation/coalescing.hpp"
#include "gmmu_bench.hpp"

namespace coalesced_pages_test {

using namespace farfault;

namespace {

constexpr PhysAddr kBase = 0x7000'0000;
constexpr unsigned kLarge = 9;
constexpr std::uint64_t kPages = 512;
constexpr std::uint64_t kFirst = ((1 * 512ULL + 2) * 512 + 3) * 512;  // of a large page
constexpr PhysAddr kFrame = 0x4000'0000;

void map_all(PageTable& table, std::uint64_t first = kFirst, PhysAddr frame = kFrame, unsigned bits = 12) {
  for (std::uint64_t i = 0; i < std::uint64_t{1} << table.coalesced_size(); ++i)
    table.map(first + i, frame + (i << bits));
}
PageTable coalesced_table() {
  PageTable table(kBase, 12);
  map_all(table);
  table.coalesce(kFirst);
  return table;
}
std::optional<PhysAddr> byte_of(PageTable const& table, std::uint64_t page, unsigned bits, VirtAddr offset) {
  auto const found = table.find(page);
  if (!found) return std::nullopt;
  return found->physical_of((page << bits) | offset, bits);
}

Walker walker_of(std::uint32_t cache_entries, bool stops_above = false) {
  static PolicyChoice<WalkCache> const choice("unified");
  return Walker(
      1, 1, 8,
      [&] {
        return choice.make({cache_entries, test::kLru});
      },
      stops_above);
}
struct Walked {
  std::vector<PhysAddr> reads;
  Walker::Step end;
};
// A walk; `meanwhile(n)` is called before the n-th entry is read.
template <class F>
Walked walk(Walker& walker, PageTable& table, std::uint64_t page, F&& meanwhile) {
  walker.enqueue(page, 0);
  auto const first = walker.start(table);
  Walked w{{first->address}, {}};
  for (;;) {
    meanwhile(w.reads.size());
    w.end = walker.advance(first->walker, table);
    if (w.end.ended) return w;
    w.reads.push_back(w.end.address);
  }
}
Walked walk(Walker& walker, PageTable& table, std::uint64_t page) {
  return walk(walker, table, page, [](std::size_t) {});
}
std::vector<PhysAddr> entries_on_path(std::uint64_t last) {
  return {kBase + 1 * 8, kBase + 0x1000 + 2 * 8, kBase + 0x2000 + 3 * 8, kBase + 0x3000 + last * 8};
}

Invalidate leaving(std::uint64_t page, std::uint32_t move = 0) {
  Invalidate m{};
  m.page = page;
  m.move = move;
  return m;
}

}  // namespace

TEST_CASE("a page table coalesces base pages only if all are mapped contiguously in one large frame") {
  PageTable table(kBase, 12);
  CHECK_FALSE(table.can_coalesce(kFirst));
  for (std::uint64_t i = 0; i < kPages; ++i) {
    CHECK_FALSE(table.can_coalesce(kFirst + 7));
    table.map(kFirst + i, kFrame + (i << 12));
  }
  CHECK(table.can_coalesce(kFirst));
  CHECK(table.can_coalesce(kFirst + 511));
  CHECK_FALSE(table.can_coalesce(kFirst + 512));
  for (auto const hole : {0, 1, 255, 511}) {
    table.unmap(kFirst + static_cast<unsigned>(hole));
    CHECK_FALSE(table.can_coalesce(kFirst));
    table.map(kFirst + static_cast<unsigned>(hole), kFrame + (600U << 12));  // not in its place
    CHECK_FALSE(table.can_coalesce(kFirst));
    table.map(kFirst + static_cast<unsigned>(hole), kFrame + (static_cast<unsigned>(hole) << 12));
    CHECK(table.can_coalesce(kFirst));
  }
  PageTable shifted(kBase, 12);
  map_all(shifted, kFirst, kFrame + 4096);  // contiguous, not aligned
  CHECK_FALSE(shifted.can_coalesce(kFirst));
  PageTable mixed(kBase, 12);
  map_all(mixed);
  mixed.map(kFirst + 3, read_only(kFrame + 3 * 4096));
  CHECK_FALSE(mixed.can_coalesce(kFirst));
  CHECK(mixed.is_full_on_one_device(kFirst));
  for (unsigned const at : {0U, 3U, 511U}) {
    PageTable of_two(kBase, 12);
    map_all(of_two);
    of_two.map(kFirst + at, physical(1, offset_of(kFrame) + (std::uint64_t{at} << 12)));
    CHECK_FALSE(of_two.can_coalesce(kFirst));
    CHECK_FALSE(of_two.is_full_on_one_device(kFirst));
    of_two.map(kFirst + at, kFrame + (std::uint64_t{at} << 12));
    CHECK(of_two.can_coalesce(kFirst));
    of_two.unmap(kFirst + at);
    CHECK_FALSE(of_two.is_full_on_one_device(kFirst));
  }
  table.coalesce(kFirst + 100);
  CHECK_FALSE(table.can_coalesce(kFirst));  // already coalesced
}

TEST_CASE("a coalesced page translates every address like its base pages") {
  for (unsigned const bits : {12U, 16U}) {
    PageTable table(kBase, bits);
    auto const size = table.coalesced_size();
    CHECK(size == (bits == 12 ? 9 : 5));
    auto const first = std::uint64_t{7} << size;
    map_all(table, first, physical(2, 3ULL << (size + bits)), bits);
    std::vector<std::optional<PhysAddr>> before;
    for (std::uint64_t p = 0; p < std::uint64_t{1} << size; ++p)
      for (VirtAddr const offset : {0U, 64U, 4095U})
        before.push_back(byte_of(table, first + p, bits, offset));
    CHECK(table.mapped_pages() == std::uint64_t{1} << size);
    auto const check = [&](std::uint8_t found_size) {
      std::size_t n = 0;
      for (std::uint64_t p = 0; p < std::uint64_t{1} << size; ++p) {
        CHECK(table.find(first + p)->size == found_size);
        CHECK(table.find_mapped(first + p)->size == 0);
        CHECK(table.find_mapped(first + p)->frame == before[n]);
        for (VirtAddr const offset : {0U, 64U, 4095U})
          CHECK(byte_of(table, first + p, bits, offset) == before[n++]);
      }
    };
    check(0);
    table.coalesce(first);
    CHECK(table.is_coalesced(first + 3));
    check(static_cast<std::uint8_t>(size));
    table.splinter(first + 5);
    CHECK_FALSE(table.is_coalesced(first));
    check(0);
    CHECK(table.mapped_pages() == std::uint64_t{1} << size);
  }
}

TEST_CASE("a base page unmapped while coalesced keeps its frame until the page is splintered") {
  auto table = coalesced_table();
  CHECK(table.unmap(kFirst + 9));
  CHECK_FALSE(table.unmap(kFirst + 9));
  CHECK(table.unmap(kFirst));
  CHECK(table.mapped_pages() == kPages - 2);
  CHECK_FALSE(table.find_mapped(kFirst + 9).has_value());
  CHECK(table.find(kFirst + 9) == PageTranslation{kFrame, kLarge});
  CHECK(table.find(kFirst + 1) == PageTranslation{kFrame, kLarge});
  table.map(kFirst, kFrame);  // mapped again
  CHECK(table.find_mapped(kFirst) == PageTranslation{kFrame, 0});
  std::uint64_t pages = 0;
  table.each_page([&](std::uint64_t, PageTranslation const&) { ++pages; });
  CHECK(pages == kPages - 1);
  std::map<std::uint64_t, PhysAddr> unmapped;
  table.splinter(kFirst + 1, [&](std::uint64_t page, PhysAddr frame) { unmapped[page] = frame; });
  CHECK(unmapped == std::map<std::uint64_t, PhysAddr>{{kFirst + 9, kFrame + 9 * 4096}});
  CHECK_FALSE(table.find(kFirst + 9).has_value());
  CHECK(table.find(kFirst) == PageTranslation{kFrame, 0});
  table.map(kFirst + 9, 0x1000);  // anywhere
  CHECK(table.find(kFirst + 9) == PageTranslation{0x1000, 0});
  CHECK(table.mapped_pages() == kPages);
}

TEST_CASE("page tables that coalesce and splinter agree with a map of base pages, in random sequences") {
  std::mt19937_64 random(20171014);
  PageTable table(kBase, 16, 2);  // large pages of 32 base pages
  std::map<std::uint64_t, PhysAddr> mapped;
  std::set<std::uint64_t> coalesced;
  constexpr std::uint64_t kRegions = 2, kOfRegion = 32;
  auto const region_of = [](std::uint64_t page) { return page / kOfRegion * kOfRegion; };
  auto const home = [](std::uint64_t page) { return (page % (kRegions * kOfRegion)) << 16; };
  std::uint64_t made = 0;
  for (int i = 0; i < 300'000; ++i) {
    auto const page = (random() % 2 << 32) + random() % (kRegions * kOfRegion);
    auto const region = region_of(page);
    bool const is = coalesced.contains(region);
    switch (random() % 24) {
      case 0:
        REQUIRE(table.unmap(page) == (mapped.erase(page) != 0));
        break;
      case 1: {
        bool full = !is;
        for (auto p = region; p < region + kOfRegion; ++p)
          full = full && mapped.contains(p) && mapped[p] == home(p);
        REQUIRE(table.can_coalesce(page) == full);
        if (full) table.coalesce(page), coalesced.insert(region), ++made;
        break;
      }
      case 2:
        if (is && random() % 4 == 0) table.splinter(page), coalesced.erase(region);
        break;
      default: {
        auto const frame = is || random() % 256 != 0 ? home(page) : PhysAddr{0x7777'0000};
        table.map(page, frame);
        mapped[page] = frame;
      }
    }
    REQUIRE(table.mapped_pages() == mapped.size());
    REQUIRE(table.is_coalesced(page) == coalesced.contains(region));
    auto const found = table.find_mapped(page);
    REQUIRE(found.has_value() == mapped.contains(page));
    if (found) REQUIRE(found->frame == mapped[page]);
    if (coalesced.contains(region)) REQUIRE(table.find(page) == PageTranslation{home(region), 5});
  }
  CHECK(made > 100);
}

TEST_CASE("a walk to a coalesced page reads the first entry of its node and finds the large page") {
  auto table = coalesced_table();
  auto walker = walker_of(0);
  auto const w = walk(walker, table, kFirst + 77);
  CHECK(w.reads == entries_on_path(0));
  CHECK(w.end.found);
  CHECK(w.end.translation() == PageTranslation{kFrame, kLarge});
  CHECK(w.end.page == kFirst + 77);
  auto stopping = walker_of(0, true);
  auto const s = walk(stopping, table, kFirst + 77);
  CHECK(s.reads == std::vector<PhysAddr>{kBase + 8, kBase + 0x1010, kBase + 0x2018});
  CHECK(s.end.translation() == PageTranslation{kFrame, kLarge});
}

TEST_CASE("a walk that begins at the node of a coalesced page finds the large page by the disabled bit") {
  auto table = coalesced_table();
  auto walker = walker_of(16);
  walk(walker, table, kFirst + 1);
  auto const w = walk(walker, table, kFirst + 77);
  CHECK(w.reads == std::vector<PhysAddr>{kBase + 0x3000 + 77 * 8});
  CHECK(w.end.translation() == PageTranslation{kFrame, kLarge});
}

TEST_CASE("a walk whose page is splintered meanwhile reads and uses the entry of its base page") {
  for (bool const first_is_gone : {false, true}) {
    auto table = coalesced_table();
    auto walker = walker_of(0);
    auto const w = walk(walker, table, kFirst + 77, [&](std::size_t read) {
      if (read != 4) return;
      table.splinter(kFirst);
      if (first_is_gone) table.unmap(kFirst);
    });
    auto reads = entries_on_path(0);
    reads.push_back(kBase + 0x3000 + 77 * 8);
    CHECK(w.reads == reads);
    CHECK(w.end.translation() == PageTranslation{kFrame + 77 * 4096, 0});
  }
  auto table = coalesced_table();
  auto walker = walker_of(0);
  auto const gone = walk(walker, table, kFirst + 77, [&](std::size_t read) {
    if (read == 4) table.splinter(kFirst), table.unmap(kFirst + 77);
  });
  CHECK(gone.reads.size() == 5);
  CHECK_FALSE(gone.end.found);
}

TEST_CASE("a walk whose page is coalesced meanwhile finds the large page by its disabled bit") {
  PageTable table(kBase, 12);
  map_all(table);
  auto walker = walker_of(0);
  auto const w = walk(walker, table, kFirst + 77, [&](std::size_t read) {
    if (read == 4) table.coalesce(kFirst);
  });
  CHECK(w.reads == entries_on_path(77));
  CHECK(w.end.translation() == PageTranslation{kFrame, kLarge});
}

TEST_CASE(
    "coalescing writes the large-page bit, which takes effect immediately, and then the disabled bits") {
  PageTable table(kBase, 12);
  map_all(table);
  Coalescing c(4, 64, 64);
  c.coalesce(kFirst + 3, table);
  c.coalesce(kFirst + 4, table);  // the same
  CHECK(c.waiting() == 1);
  auto const bit = c.next_write(table);
  REQUIRE(bit.has_value());
  CHECK(bit->address == kBase + 0x2000 + 3 * 8);
  CHECK(bit->bytes == 8);
  CHECK(bit->above);
  CHECK_FALSE(c.next_write(table).has_value());
  CHECK_FALSE(table.is_coalesced(kFirst));
  c.written(table);
  CHECK(table.is_coalesced(kFirst));
  for (unsigned line = 0; line < 64; ++line) {
    auto const w = c.next_write(table);
    REQUIRE(w.has_value());
    CHECK(w->address == kBase + 0x3000 + line * 64);
    CHECK(w->bytes == 64);
    CHECK_FALSE(w->above);
  }
  CHECK_FALSE(c.next_write(table).has_value());
  for (int line = 0; line < 60; ++line) {
    CHECK_FALSE(c.idle());
    c.written(table);
  }
  c.written(table, 3);  // completed together
  CHECK_FALSE(c.idle());
  c.written(table);
  CHECK(c.idle());
}

TEST_CASE("splintering clears the disabled bits, then the large-page bit, and then the page is unmapped") {
  auto table = coalesced_table();
  Coalescing c(4, 2, 128);  // two writes at a time, of 128-byte lines
  c.splinter(leaving(kFirst + 5, 8));
  c.splinter(leaving(kFirst + 6, 9));
  std::vector<PhysAddr> written;
  for (int line = 0; line < 32; line += 2) {
    for (int n = 0; n < 2; ++n) written.push_back(c.next_write(table)->address);
    CHECK_FALSE(c.next_write(table).has_value());
    for (int n = 0; n < 2; ++n) c.written(table);
    CHECK(table.is_coalesced(kFirst));
    CHECK_FALSE(c.next_invalidation(table).has_value());
  }
  for (unsigned line = 0; line < 32; ++line) CHECK(written[line] == kBase + 0x3000 + line * 128);
  auto const bit = c.next_write(table);
  CHECK(bit->above);
  CHECK_FALSE(c.next_invalidation(table).has_value());
  CHECK(table.is_coalesced(kFirst));
  c.written(table);
  CHECK_FALSE(table.is_coalesced(kFirst));
  CHECK_FALSE(c.next_write(table).has_value());
  CHECK(c.next_invalidation(table)->move == 8);
  CHECK(c.next_invalidation(table)->move == 9);  // no write remains for it
  CHECK_FALSE(c.next_invalidation(table).has_value());
  CHECK(c.idle());
}

TEST_CASE("coalescing is abandoned if no longer possible, before its first write and after it") {
  PageTable table(kBase, 12);
  map_all(table);
  Coalescing c(4, 8, 64);
  c.coalesce(kFirst, table);
  table.unmap(kFirst + 1);
  CHECK_FALSE(c.next_write(table).has_value());
  CHECK(c.idle());
  table.map(kFirst + 1, kFrame + 4096);
  c.coalesce(kFirst, table);
  CHECK(c.next_write(table)->above);
  table.unmap(kFirst + 1);
  c.written(table);
  CHECK(c.idle());
  CHECK_FALSE(table.is_coalesced(kFirst));
}

namespace {

using namespace farfault::gmmu_bench;

// Maps all pages of the large page but the last, and then the last one.
std::vector<mock::Record<Invalidate>> map_last(std::int64_t at) {
  Invalidate m{};
  m.page = kFirst + 511;
  m.frame = physical(0, kFrame + 511 * 4096);
  m.move = 3;
  m.step = MoveStep::map;
  return {{Time{Duration{at * 1000}}, m}};
}
PageTable all_but_the_last() {
  PageTable table(kTable, 12);
  for (std::uint64_t i = 0; i < 511; ++i) table.map(kFirst + i, physical(0, kFrame + i * 4096));
  return table;
}
GmmuSpec coalescing(PageTable const& table) {
  auto spec = spec_of("distributed", table);
  spec.coalesces = 8;
  spec.params.walk_cache = 0;
  spec.params.table_writes = 64;
  return spec;
}
std::vector<std::pair<PhysAddr, unsigned>> writes_of(GmmuBench const& b) {
  std::vector<std::pair<PhysAddr, unsigned>> all;
  for (auto const& r : b.cache->records())
    if (r.message.access == Access::write) all.push_back({r.message.address, r.message.bytes});
  return all;
}

}  // namespace

TEST_CASE("GMMU: with the last base page, a large page is mapped once its large-page bit is written") {
  auto const table = all_but_the_last();
  // A walk's four reads take 48 ns. The first walk ends before the bit is written, the second after it.
  GmmuBench b(coalescing(table), {{Time{100ns}, {kFirst + 7, 1}}, {Time{260ns}, {kFirst + 8, 2}}}, 10ns,
              1000ns, map_last(200));
  b.run();
  auto const writes = writes_of(b);
  REQUIRE(writes.size() == 65);
  CHECK(writes[0] == std::pair{PhysAddr{kTable + 0x2000 + 3 * 8}, 8U});
  for (unsigned line = 0; line < 64; ++line)
    CHECK(writes[1 + line] == std::pair{PhysAddr{kTable + 0x3000 + line * 64}, 64U});
  std::vector<std::int64_t> times;
  for (auto const& r : b.cache->records())
    if (r.message.access == Access::write) times.push_back(picoseconds(r.at.time_since_epoch()) / 1000);
  CHECK(times[0] == 201);
  CHECK(times[1] == 213);  // 10 ns and a link each way
  CHECK(times[64] == 213);
  REQUIRE(b.responses->count() == 2);
  CHECK(b.responses->records()[0].message.translation() ==
        PageTranslation{physical(0, kFrame + 7 * 4096), 0});
  CHECK(b.responses->records()[1].message.translation() == PageTranslation{physical(0, kFrame), kLarge});
  CHECK(b.acknowledged->nanoseconds() == Times{201});  // of the mapping, which is not delayed
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU: a base page of a large page is invalidated in the TLBs at the splintering, not earlier") {
  auto table = all_but_the_last();
  table.map(kFirst + 511, physical(0, kFrame + 511 * 4096));
  table.coalesce(kFirst);
  Invalidate m{};
  m.page = kFirst + 40;
  m.move = 3;
  auto other = m;
  other.page = kFirst + 41;
  other.move = 4;
  GmmuBench b(coalescing(table), {{Time{300ns}, {kFirst + 7, 1}}}, 10ns, 1000ns,
              {{Time{200ns}, m}, {Time{201ns}, other}});
  b.run();
  auto const writes = writes_of(b);
  REQUIRE(writes.size() == 65);
  for (unsigned line = 0; line < 64; ++line) CHECK(writes[line].first == kTable + 0x3000 + line * 64);
  CHECK(writes[64] == std::pair{PhysAddr{kTable + 0x2000 + 3 * 8}, 8U});
  // Two consecutive writes of 12 ns each, a cycle and a link.
  CHECK(b.tlb->nanoseconds() == Times{200 + 24 + 2, 200 + 24 + 2});
  CHECK(b.tlb->records()[0].message.move == 3);
  CHECK(b.tlb->records()[0].message.frame == physical(0, kFrame + 40 * 4096));
  CHECK(b.tlb->records()[1].message.move == 4);
  CHECK(b.responses->records()[0].message.translation() ==
        PageTranslation{physical(0, kFrame + 7 * 4096), 0});
  auto const& after = b.gmmu.state().table;
  CHECK_FALSE(after.find(kFirst + 40).has_value());
  CHECK_FALSE(after.find(kFirst + 41).has_value());
  CHECK(after.find(kFirst + 42) == PageTranslation{physical(0, kFrame + 42 * 4096), 0});
}

TEST_CASE(
    "GMMU: a large page returned by the IOMMU is mapped as a base page if the table lacks the large page") {
  auto const table = all_but_the_last();
  GmmuBench b(coalescing(table), {{Time{100ns}, {kFirst + 511, 1}}});
  b.first_touch = true;
  b.size = kLarge;
  b.run();
  CHECK(b.gmmu.state().table.find_mapped(kFirst + 511)->size == 0);
  CHECK(b.gmmu.state().table.find_mapped(kFirst + 511)->frame ==
        local_frame(kFirst + 511) + 511 * 4096);  // the mock's frame is that of the large page
}

}  // namespace coalesced_pages_test
