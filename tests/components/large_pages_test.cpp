// SPDX-License-Identifier: Apache-2.0
// Parts that support pages of several sizes: page tables, walkers, selection of large pages, and frames.
#include "farfault/paging/large_pages.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "farfault/paging/application_memory.hpp"
#include "farfault/paging/page_placement.hpp"
#include "farfault/translation/walker.hpp"
#include "hand_kernel.hpp"

namespace large_pages_test {

using namespace farfault;

namespace {

constexpr PhysAddr kBase = 0x7000'0000;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr unsigned kLarge = 9;  // 2 MiB
constexpr unsigned kHuge = 18;  // 1 GiB

std::uint64_t page_of(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  return ((a * 512 + b) * 512 + c) * 512 + d;
}

using Pages = std::map<std::uint64_t, PageTranslation>;  // by first base page

Pages pages_of(PageTable const& table) {
  Pages pages;
  table.each_page(
      [&](std::uint64_t page, PageTranslation const& t) { CHECK(pages.emplace(page, t).second); });
  return pages;
}

// The mapped page that contains the base page.
Pages::const_iterator holder(Pages const& pages, std::uint64_t page) {
  auto it = pages.upper_bound(page);
  if (it == pages.begin()) return pages.end();
  --it;
  return page - it->first < std::uint64_t{1} << it->second.size ? it : pages.end();
}

// Walks from the root to the end. Returns the addresses read.
std::vector<PhysAddr> walk(Walker& walker, PageTable const& table, std::uint64_t page, Walker::Step& end) {
  walker.enqueue(page, 0);
  auto const first = walker.start(table);
  std::vector<PhysAddr> read{first->address};
  for (end = walker.advance(first->walker, table); !end.ended; end = walker.advance(first->walker, table))
    read.push_back(end.address);
  return read;
}

Walker walker_of(std::uint32_t cache_entries) {
  static PolicyChoice<WalkCache> const choice("unified");
  return {1, 1, 8, [&] { return choice.make({cache_entries, test::kLru}); }};
}

Workload buffers(std::vector<std::pair<std::string, std::uint64_t>> const& sizes) {
  std::vector<Buffer> all;
  std::uint64_t base = 4096 * kMiB;
  for (auto const& [name, bytes] : sizes) {
    all.push_back({name, base, bytes, true});
    base += (bytes + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB;
  }
  return {"w", std::move(all), {}};
}
std::vector<PageRange> base_pages_of(Workload const& w) {
  std::vector<PageRange> pages;
  for (auto const& b : w.buffers()) pages.push_back({b.base >> 12, (b.bytes + 4095) >> 12});
  return pages;
}
std::string refusal(Workload const& w, std::string const& names) {
  try {
    LargePages const refused({names, kLarge}, Applications(w), {base_pages_of(w)});
  } catch (UserError const& e) {
    return e.what();
  }
  return {};
}

struct Placed {
  Placed(Workload const& w, std::string const& large, std::uint64_t gpu_bytes, std::string const& how,
         std::uint32_t gpus = 2)
      : memory({.applications = mock::alone(w),
                .devices = NodeDevices(gpus),
                .names = nullptr,
                .page_bits = 12,
                .bytes_of_gpu = gpu_bytes,
                .bytes_of_cpu = 512 * kMiB,
                .frames = PolicyChoice<FrameAllocator>("on_demand"),
                .large = {large, kLarge}}) {
    ApplicationMemory of_the_only_one(memory, 0);
    PolicyChoice<PagePlacement>(how).make({})->place(of_the_only_one);
  }
  InitialMemory memory;
};

}  // namespace

TEST_CASE("a large page is a leaf above the last level: all its base pages have its frame and its size") {
  PageTable table(kBase, 12);
  auto const page = page_of(1, 2, 3, 0);
  table.map(page + 77, 0x4000'0000, kLarge);
  CHECK(table.nodes() == 3);
  CHECK(table.mapped_pages() == 512);
  for (auto const p : {page, page + 77, page + 511})
    CHECK(table.find(p) == PageTranslation{0x4000'0000, kLarge});
  CHECK_FALSE(table.find(page - 1).has_value());
  CHECK_FALSE(table.find(page + 512).has_value());
  table.map(page_of(1, 3, 0, 0), physical(kFirstCpu, 0x8000'0000), kHuge);
  CHECK(table.find(page_of(1, 3, 9, 9)) == PageTranslation{physical(kFirstCpu, 0x8000'0000), kHuge});
  CHECK(table.nodes() == 3);
  table.map(page + 512, physical(kFirstCpu, 0x3000));  // base pages next to it
  CHECK(table.find(page + 512) == PageTranslation{physical(kFirstCpu, 0x3000)});
  CHECK(table.mapped_pages() == 512 + 512 * 512 + 1);
  table.map(page, 0x2000'0000, kLarge);  // somewhere else
  CHECK(table.find(page + 5) == PageTranslation{0x2000'0000, kLarge});
  CHECK(table.unmap(page + 300));
  CHECK_FALSE(table.unmap(page + 300));
  CHECK_FALSE(table.find(page).has_value());
  CHECK(table.mapped_pages() == 512 * 512 + 1);
}

TEST_CASE("32 pages of 64 KiB make a large page of 2 MiB, and 512 of 2 MiB one of 1 GiB") {
  PageTable table(kBase, 16);
  table.map(32 + 7, 0x4020'0000, 5);
  CHECK(table.mapped_pages() == 32);
  CHECK(table.nodes() == 3);
  for (std::uint64_t const p : {32U, 39U, 63U}) CHECK(table.find(p) == PageTranslation{0x4020'0000, 5});
  CHECK_FALSE(table.find(31).has_value());
  CHECK_FALSE(table.find(64).has_value());
  table.map(31, 0x7'0000);  // a base page in front
  CHECK(table.find(31) == PageTranslation{0x7'0000});
  CHECK_FALSE(table.takes(0, 5));
  CHECK(table.takes(64, 5));
  CHECK_FALSE(table.takes(0, 14));
  CHECK(table.takes(1 << 14, 14));
  table.map((1 << 14) + 999, 0x8000'0000, 14);
  CHECK(table.find((2 << 14) - 1) == PageTranslation{0x8000'0000, 14});
  CHECK_FALSE(table.takes(1 << 14, 0));
  std::vector<std::uint64_t> pages;
  table.each_page([&](std::uint64_t page, PageTranslation const&) { pages.push_back(page); });
  CHECK(pages == std::vector<std::uint64_t>{31, 32, 1 << 14});
  CHECK(table.unmap(40));
  CHECK(table.mapped_pages() == 1 + (1 << 14));
}

TEST_CASE("a large page can have frame 0") {
  PageTable table(kBase, 12);
  table.map(512, 0, kLarge);
  CHECK(table.find(513) == PageTranslation{0, kLarge});
  CHECK(table.unmap(512));
  CHECK_FALSE(table.find(513).has_value());
}

TEST_CASE("a page table with several sizes agrees with a map and rejects overlapping pages") {
  PageTable table(kBase, 12);
  Pages reference;
  std::set<std::pair<unsigned, std::uint64_t>> nodes;  // that once mapped smaller pages
  std::mt19937_64 random(9);
  std::uint64_t refused = 0;
  for (int i = 0; i < 6000; ++i) {
    auto const page = page_of(random() % 2, random() % 24, random() % 6, random() % 3);
    auto const held = holder(reference, page);
    auto const draw = random() % 64;
    unsigned const size = draw == 0 ? kHuge : draw < 16 ? kLarge : 0;
    if (random() % 3 == 0) {
      REQUIRE(table.unmap(page) == (held != reference.end()));
      if (held != reference.end()) reference.erase(held->first);
      REQUIRE_FALSE(table.find(page).has_value());
    } else {
      bool const inside = held != reference.end() && held->second.size > size;
      bool const taken = !inside && nodes.count({size, first_of(page, size)}) == 0;
      REQUIRE(table.takes(page, size) == taken);
      refused += taken ? 0 : 1;
      if (!taken) continue;
      auto const device = random() % 3 == 0 ? kFirstCpu : DeviceId{2};
      auto const frame = physical(device, random() % 50 << (12 + size));
      table.map(page, frame, size);
      reference[first_of(page, size)] = {frame, static_cast<std::uint8_t>(size)};
      for (auto const larger : {kLarge, kHuge})
        if (larger > size) nodes.insert({larger, first_of(page, larger)});
      REQUIRE(table.find(page) == reference.at(first_of(page, size)));
    }
  }
  CHECK(refused > 100);
  CHECK(pages_of(table) == reference);
  std::uint64_t mapped = 0;
  for (auto const& [page, t] : reference) mapped += std::uint64_t{1} << t.size;
  CHECK(table.mapped_pages() == mapped);
}

TEST_CASE("walker: a walk to a large page ends one level earlier and returns the size") {
  PageTable table(kBase, 12);
  table.map(page_of(0, 1, 2, 0), 0x4000'0000, kLarge);
  table.map(page_of(0, 2, 0, 0), physical(3, 0x4000'0000), kHuge);
  auto walker = walker_of(0);
  Walker::Step end{};
  CHECK(walk(walker, table, page_of(0, 1, 2, 3), end) ==
        std::vector<PhysAddr>{kBase, kBase + 0x1000 + 8, kBase + 0x2000 + 16});
  CHECK(end.found);
  CHECK(end.page == page_of(0, 1, 2, 3));
  CHECK(end.translation() == PageTranslation{0x4000'0000, kLarge});
  CHECK(walk(walker, table, page_of(0, 2, 5, 5), end) == std::vector<PhysAddr>{kBase, kBase + 0x1000 + 16});
  CHECK(end.translation() == PageTranslation{physical(3, 0x4000'0000), kHuge});
  // A fixed-latency walk finds the same.
  walker.enqueue(page_of(0, 1, 2, 9), 0);
  CHECK(walker.end(walker.begin()->walker, table).translation() == PageTranslation{0x4000'0000, kLarge});
}

TEST_CASE("walker: the page-walk cache holds the nodes above a large page, and none below") {
  PageTable table(kBase, 12);
  table.map(page_of(0, 1, 2, 0), 0x4000'0000, kLarge);
  table.map(page_of(0, 1, 3, 0), 0x9000);
  auto walker = walker_of(64);
  Walker::Step end{};
  auto const reads = [&](std::uint64_t page) { return walk(walker, table, page, end).size(); };
  CHECK(reads(page_of(0, 1, 2, 7)) == 3);
  CHECK(reads(page_of(0, 1, 2, 8)) == 1);
  CHECK(end.translation() == PageTranslation{0x4000'0000, kLarge});
  CHECK(reads(page_of(0, 1, 3, 0)) == 2);
  CHECK(end.translation() == PageTranslation{0x9000});
  CHECK(reads(page_of(0, 1, 3, 0)) == 1);
}

TEST_CASE("large pages are the pages entirely within the selected buffers") {
  auto const w = buffers({{"a", 5 * kMiB}, {"b", 4 * kMiB}, {"c", kMiB}});
  auto const pages = base_pages_of(w);
  auto const sizes = [&](std::string const& names) {
    LargePages const large({names, kLarge}, Applications(w), {pages});
    std::vector<unsigned> of;
    for (auto const& p : {pages[0].first, pages[0].first + 1023, pages[0].first + 1024, pages[1].first + 1023,
                          pages[2].first, pages[0].first - 1})
      of.push_back(large.size_of(p));
    CHECK(large.any() == (names != "none"));
    return of;
  };
  CHECK(sizes("none") == std::vector<unsigned>{0, 0, 0, 0, 0, 0});
  CHECK(sizes("all") == std::vector<unsigned>{9, 9, 0, 9, 0, 0});
  CHECK(sizes("a") == std::vector<unsigned>{9, 9, 0, 0, 0, 0});
  CHECK(sizes("b, a") == std::vector<unsigned>{9, 9, 0, 9, 0, 0});
  // A buffer that begins in the middle of a large page.
  auto const one = buffers({{"a", 5 * kMiB}});
  LargePages const shifted({"all", kLarge}, Applications(one), {{{0x100001, 1300}}});
  CHECK(shifted.size_of(0x1001ff) == 0);
  CHECK(shifted.size_of(0x100200) == 9);
  CHECK(shifted.size_of(0x1003ff) == 9);
  CHECK(shifted.size_of(0x100400) == 0);
}

TEST_CASE("an unknown buffer, or one without room for a large page, cannot have large pages") {
  auto const w = buffers({{"a", 5 * kMiB}, {"c", kMiB}});
  CHECK(refusal(w, "a").empty());
  CHECK(refusal(w, "all").empty());
  CHECK(refusal(w, "a,b") == "memory.large_pages: workload 'w' has no buffer 'b'; its buffers: a, c");
  CHECK(refusal(w, "") == "memory.large_pages: workload 'w' has no buffer ''; its buffers: a, c");
  CHECK(refusal(w, "a,") == "memory.large_pages: workload 'w' has no buffer ''; its buffers: a, c");
  CHECK(refusal(w, "c") ==
        "memory.large_pages: no whole page of memory.large_page_size fits in buffer 'c' of workload 'w', of "
        "1 MiB");
}

TEST_CASE("on_demand returns an aligned large frame of free frames, or none without side effects") {
  PolicyChoice<FrameAllocator> const choice("on_demand");
  auto frames = choice.make({16});
  CHECK(frames->allocate(70) == 0);
  CHECK(frames->allocate_large(100, 2) == 4);
  CHECK(frames->allocate(71) == 1);  // skipped before the large frame
  CHECK(frames->allocate_large(200, 2) == 8);
  CHECK(frames->allocate_large(300, 3) == std::nullopt);
  CHECK(frames->allocate(72) == 2);
  for (auto const f : {5, 6, 7}) frames->release(static_cast<std::uint64_t>(f));
  CHECK(frames->allocate_large(300, 2) == 12);
  CHECK(frames->allocate_large(400, 2) == std::nullopt);
  CHECK(frames->allocate(73) == 7);
  frames->release(7);
  frames->release(4);
  CHECK(frames->allocate_large(400, 2) == 4);  // all of it free again
  CHECK(frames->allocate(74) == 3);
  CHECK(frames->empty());
}

TEST_CASE("on_demand: no frame has two owners, and a large frame is rejected only if none is free") {
  PolicyChoice<FrameAllocator> const choice("on_demand");
  constexpr std::uint64_t kFrames = 61;
  auto frames = choice.make({kFrames});
  std::vector<bool> used(kFrames);
  std::mt19937_64 random(5);
  std::uint64_t large = 0;
  std::uint64_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    bool const full = std::find(used.begin(), used.end(), false) == used.end();
    REQUIRE(frames->empty() == full);
    auto const draw = random() % 8;
    if (draw < 4) {
      auto const f = random() % kFrames;
      if (!used[f]) continue;
      used[f] = false;
      frames->release(f);
    } else if (draw < 7) {
      if (full) continue;
      auto const f = frames->allocate(1);
      REQUIRE(f < kFrames);
      REQUIRE_FALSE(used[f]);
      used[f] = true;
    } else {
      unsigned const size = 1 + random() % 2;
      auto const n = std::uint64_t{1} << size;
      bool free = false;
      for (std::uint64_t first = 0; first + n <= kFrames; first += n) {
        bool all = true;
        for (auto f = first; f < first + n; ++f) all = all && !used[f];
        free = free || all;
      }
      auto const first = frames->allocate_large(1, size);
      REQUIRE(first.has_value() == free);
      ++(first ? large : refused);
      if (!first) continue;
      REQUIRE(*first % n == 0);
      for (auto f = *first; f < *first + n; ++f) {
        REQUIRE_FALSE(used[f]);
        used[f] = true;
      }
    }
  }
  CHECK(large > 100);
  CHECK(refused > 100);
}

TEST_CASE(
    "before the first kernel large pages are placed whole, interleaved or contiguous, the rest as base "
    "pages") {
  auto const w = buffers({{"a", 9 * kMiB}, {"b", 4 * kMiB}});
  auto const first = base_pages_of(w)[0].first;
  Placed const turns(w, "a", 512 * kMiB, "interleave");
  auto const& table = turns.memory.iommu_table();
  CHECK(table.mapped_pages() == 13 * 256);
  CHECK(pages_of(table).size() == 4 + 256 + 1024);
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto const found = table.find(first + i * 512);
    REQUIRE(found.has_value());
    CHECK(found->size == kLarge);
    CHECK(device_of(found->frame) == i % 2);
    CHECK(turns.memory.gpu_table(i % 2).find(first + i * 512 + 9) == found);
    CHECK(offset_of(found->frame) % (2 * kMiB) == 0);
  }
  CHECK(table.find(first + 2048)->size == 0);
  CHECK(turns.memory.unmapped_pages() == 0);
  Placed const parts(w, "all", 512 * kMiB, "contiguous");
  std::vector<int> devices;
  for (auto const& [page, t] : pages_of(parts.memory.iommu_table()))
    if (t.size != 0) devices.push_back(device_of(t.frame));
  CHECK(devices == std::vector<int>{0, 0, 0, 1, 0, 1});
}

TEST_CASE(
    "without a free large frame, a large page is placed as base pages; with a full GPU, on the next device") {
  auto const w = buffers({{"a", 12 * kMiB}});
  // 7 MiB for data: three large frames and 256 frames.
  Placed const one(w, "all", 8 * kMiB, "contiguous", 1);
  auto const pages = pages_of(one.memory.iommu_table());
  std::map<std::pair<DeviceId, unsigned>, int> counted;
  std::set<PhysAddr> frames;
  for (auto const& [page, t] : pages) {
    ++counted[{device_of(t.frame), t.size}];
    for (std::uint64_t i = 0; i < std::uint64_t{1} << t.size; ++i)
      CHECK(frames.insert(t.frame + (i << 12)).second);
  }
  CHECK(counted == std::map<std::pair<DeviceId, unsigned>, int>{
                       {{0, kLarge}, 3}, {{0, 0}, 256}, {{kFirstCpu, 0}, 256}, {{kFirstCpu, kLarge}, 2}});
  CHECK(one.memory.iommu_table().mapped_pages() == 12 * 256);
}

TEST_CASE("pages mapped remotely at the start have the frame and the size of their owner's table") {
  auto const w = buffers({{"a", 4 * kMiB}, {"b", 3 * kMiB}});
  Placed p(w, "a", 512 * kMiB, "contiguous");
  auto const own = std::array{pages_of(p.memory.gpu_table(0)), pages_of(p.memory.gpu_table(1))};
  CHECK(own[0].size() != 0);
  CHECK(own[1].size() != 0);
  p.memory.map_remotely();
  auto const all = pages_of(p.memory.iommu_table());
  CHECK(pages_of(p.memory.gpu_table(0)) == all);
  CHECK(pages_of(p.memory.gpu_table(1)) == all);
  CHECK(all.size() == own[0].size() + own[1].size());
}

}  // namespace large_pages_test
