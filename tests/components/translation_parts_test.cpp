// Page tables, page-walk caches, address maps and the predictor of GMMU bypass.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "farfault/components/parts/address_map.hpp"
#include "farfault/components/parts/page_table.hpp"
#include "farfault/components/parts/page_walk_cache.hpp"
#include "farfault/components/parts/translation_router.hpp"

using namespace farfault;

namespace {

constexpr PhysAddr kBase = 0x7000'0000;

// The addresses that a walk from the root reads.
std::vector<PhysAddr> walk(PageTable const& table, std::uint64_t page) {
  std::vector<PhysAddr> read;
  std::uint64_t node = 0;
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

Time us(std::int64_t n) {
  return Time{n * 1us};
}

}  // namespace

TEST_CASE("a walk of 4 KiB pages reads four real entries, one in the node of each level") {
  PageTable table(kBase, 12);
  CHECK(table.levels() == 4);
  CHECK(table.nodes() == 1);
  table.map(page_of(1, 2, 3, 4), 0xABC000);
  CHECK(table.nodes() == 4);
  CHECK(walk(table, page_of(1, 2, 3, 4)) == std::vector<PhysAddr>{kBase + 1 * 8, kBase + 0x1000 + 2 * 8,
                                                                  kBase + 0x2000 + 3 * 8,
                                                                  kBase + 0x3000 + 4 * 8});
  CHECK(table.find(page_of(1, 2, 3, 4)) == 0xABC000);
  // A neighbour shares all nodes; one 2 MiB further has its own last node.
  table.map(page_of(1, 2, 3, 511), 0xDEF000);
  CHECK(table.nodes() == 4);
  table.map(page_of(1, 2, 4, 0), 0x111000);
  CHECK(table.nodes() == 5);
  CHECK(walk(table, page_of(1, 2, 4, 0)).back() == kBase + 0x4000);
  CHECK(table.mapped_pages() == 3);
}

TEST_CASE("a walk of 2 MiB pages reads three entries") {
  PageTable table(kBase, 21);
  CHECK(table.levels() == 3);
  table.map(page_of(0, 5, 6, 7), 0x4000'0000);
  CHECK(walk(table, page_of(0, 5, 6, 7)) ==
        std::vector<PhysAddr>{kBase + 5 * 8, kBase + 0x1000 + 6 * 8, kBase + 0x2000 + 7 * 8});
  CHECK(table.find(page_of(0, 5, 6, 7)) == 0x4000'0000);
}

TEST_CASE("64 KiB pages take four levels, the first one of 32 entries; 1 GiB pages take two") {
  CHECK(PageTable(kBase, 16).levels() == 4);
  CHECK(PageTable(kBase, 30).levels() == 2);
}

TEST_CASE("a walk for a page that is not mapped ends at the first entry that is not present") {
  PageTable table(kBase, 12);
  CHECK(walk(table, 0) == std::vector<PhysAddr>{kBase});
  table.map(page_of(0, 0, 0, 1), 0x1000);
  CHECK(walk(table, page_of(0, 0, 0, 2)).size() == 4);  // the leaf's entry itself
  CHECK(walk(table, page_of(0, 0, 1, 0)).size() == 3);
  CHECK(walk(table, page_of(0, 1, 0, 0)).size() == 2);
  CHECK(walk(table, page_of(1, 0, 0, 0)).size() == 1);
  CHECK_FALSE(table.find(page_of(0, 0, 0, 2)).has_value());
}

TEST_CASE("frame 0 can be mapped, and a page can be mapped anew") {
  PageTable table(kBase, 12);
  table.map(9, 0);
  CHECK(table.find(9) == 0);
  table.map(9, 0x5000);
  CHECK(table.find(9) == 0x5000);
  CHECK(table.mapped_pages() == 1);
}

TEST_CASE(
    "a page table agrees with a map for pages all over 48 bits, and its entries have addresses of "
    "their own") {
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
      REQUIRE(table.find(page) == frame);
      leaves.insert(walk(table, page).back());
      if (reference.count(page + 1) == 0) REQUIRE_FALSE(table.find(page + 1).has_value());
    }
    CHECK(leaves.size() == reference.size());
    CHECK(*leaves.rbegin() < kBase + table.nodes() * PageTable::kNodeBytes);
    CHECK(table.mapped_pages() == reference.size());
    // Sparse: a path of nodes for a page at most, and the root.
    CHECK(table.nodes() <= 1 + reference.size() * (table.levels() - 1));
  }
}

TEST_CASE("a page-walk cache starts a walk at the deepest node it knows") {
  PageWalkCache cache(8);
  auto const page = page_of(1, 2, 3, 4);
  CHECK(cache.start(page, 4).level == 0);
  cache.remember(page, 1, 4, 11);
  CHECK(cache.start(page, 4).level == 1);
  CHECK(cache.start(page, 4).node == 11);
  cache.remember(page, 3, 4, 33);
  CHECK(cache.start(page, 4).level == 3);
  CHECK(cache.start(page, 4).node == 33);
  // Pages that share less of the path start higher up.
  CHECK(cache.start(page_of(1, 2, 3, 500), 4).level == 3);
  CHECK(cache.start(page_of(1, 2, 4, 4), 4).level == 1);
  CHECK(cache.start(page_of(2, 2, 3, 4), 4).level == 0);
}

TEST_CASE("a page-walk cache replaces the least recently used node") {
  PageWalkCache cache(2);
  cache.remember(page_of(0, 0, 1, 0), 3, 4, 1);
  cache.remember(page_of(0, 0, 2, 0), 3, 4, 2);
  CHECK(cache.start(page_of(0, 0, 1, 7), 4).level == 3);  // used: 2 is older now
  cache.remember(page_of(0, 0, 3, 0), 3, 4, 3);
  CHECK(cache.start(page_of(0, 0, 2, 0), 4).level == 0);
  CHECK(cache.start(page_of(0, 0, 1, 0), 4).node == 1);
  CHECK(cache.start(page_of(0, 0, 3, 0), 4).node == 3);
  cache.remember(page_of(0, 0, 1, 0), 3, 4, 9);  // known: replaced in place
  CHECK(cache.start(page_of(0, 0, 1, 0), 4).node == 9);
  CHECK(cache.start(page_of(0, 0, 3, 0), 4).node == 3);
}

TEST_CASE("a page-walk cache of no entries starts every walk at the root") {
  PageWalkCache cache(0);
  cache.remember(5, 3, 4, 1);
  CHECK(cache.start(5, 4).level == 0);
  CHECK(cache.start(5, 4).node == 0);
}

TEST_CASE("slice and local address determine the offset, and blocks go round the slices") {
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

TEST_CASE("the bypass predictor asks the GMMU above T1, the IOMMU below T2 and both in between") {
  RouterParams const p;  // T1 0.85, T2 0.15, epochs of 10 us
  auto decide = [&](int local, int remote) {
    BypassPredictor predictor;
    for (int i = 0; i < local; ++i) predictor.observe(true, us(1), p);
    for (int i = 0; i < remote; ++i) predictor.observe(false, us(2), p);
    CHECK(predictor.decision(us(9), p) == Route::gmmu);  // the first epoch is not over
    return predictor.decision(us(10), p);
  };
  CHECK(decide(86, 14) == Route::gmmu);
  CHECK(decide(85, 15) == Route::both);  // equal to T1 is not above it
  CHECK(decide(50, 50) == Route::both);
  CHECK(decide(15, 85) == Route::both);  // equal to T2 is not below it
  CHECK(decide(14, 86) == Route::iommu);
  CHECK(decide(1, 0) == Route::gmmu);
  CHECK(decide(0, 1) == Route::iommu);
}

TEST_CASE("an epoch ends exactly at a multiple of its length") {
  RouterParams const p;
  BypassPredictor predictor;
  predictor.observe(false, Time{10us - Duration{1}}, p);
  CHECK(predictor.decision(Time{10us - Duration{1}}, p) == Route::gmmu);
  CHECK(predictor.decision(Time{10us}, p) == Route::iommu);
  // What is seen at the border belongs to the epoch that begins there.
  predictor.observe(true, Time{10us}, p);
  CHECK(predictor.decision(Time{20us - Duration{1}}, p) == Route::iommu);
  CHECK(predictor.decision(Time{20us}, p) == Route::gmmu);
}

TEST_CASE("epochs without a translation keep the last decision") {
  RouterParams const p;
  BypassPredictor predictor;
  predictor.observe(false, us(5), p);
  CHECK(predictor.decision(us(12), p) == Route::iommu);
  CHECK(predictor.decision(us(25), p) == Route::iommu);
  CHECK(predictor.decision(us(999), p) == Route::iommu);
  predictor.observe(true, us(1005), p);
  CHECK(predictor.decision(us(1005), p) == Route::iommu);
  CHECK(predictor.decision(us(5000), p) == Route::gmmu);  // however late the next one comes
}

TEST_CASE("a counter at its end halves both, so that the ratio lives on") {
  RouterParams p;
  p.counter_bits = 8;
  BypassPredictor predictor;
  for (int i = 0; i < 100; ++i) predictor.observe(false, us(1), p);
  for (int i = 0; i < 255; ++i) predictor.observe(true, us(1), p);
  CHECK(predictor.local() == 255);
  CHECK(predictor.remote() == 100);
  predictor.observe(true, us(1), p);
  CHECK(predictor.local() == 128);
  CHECK(predictor.remote() == 50);
  predictor.observe(false, us(1), p);
  CHECK(predictor.remote() == 51);
  for (int i = 0; i < 100'000; ++i) predictor.observe(i % 10 == 0, us(2), p);
  CHECK(predictor.local() <= 255);
  CHECK(predictor.remote() <= 255);
  CHECK(predictor.decision(us(10), p) == Route::iommu);  // a tenth is local
}

TEST_CASE("a new epoch starts counting from nothing") {
  RouterParams const p;
  BypassPredictor predictor;
  for (int i = 0; i < 50; ++i) predictor.observe(false, us(1), p);
  predictor.observe(true, us(11), p);
  CHECK(predictor.local() == 1);
  CHECK(predictor.remote() == 0);
  CHECK(predictor.decision(us(20), p) == Route::gmmu);
}

TEST_CASE("a page table that is moved is the same table at other addresses") {
  PageTable table(0x10000, 12);
  table.map(5, 0x7000);
  auto copy = table;
  copy.relocate(0x90000);
  CHECK(copy.find(5) == table.find(5));
  CHECK(copy.step(0, 0, 5).address == table.step(0, 0, 5).address + 0x80000);
  CHECK(copy.step(0, 0, 5).next == table.step(0, 0, 5).next);
}

TEST_CASE("the predictor has decided once an epoch with a translation is over") {
  RouterParams const p;
  BypassPredictor predictor;
  static_cast<void>(predictor.decision(us(15), p));
  CHECK_FALSE(predictor.decided());
  predictor.observe(true, us(16), p);
  static_cast<void>(predictor.decision(us(19), p));
  CHECK_FALSE(predictor.decided());
  CHECK(predictor.decision(us(20), p) == Route::gmmu);
  CHECK(predictor.decided());
}
