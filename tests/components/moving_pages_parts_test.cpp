// SPDX-License-Identifier: Apache-2.0
// Parts for page migration: frame allocators, page directories, drains, and invalidation in TLBs, caches and
// page tables.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "farfault/memory/cache.hpp"
#include "farfault/paging/frame_allocator.hpp"
#include "farfault/paging/page_directory.hpp"
#include "farfault/parts/access_drain.hpp"
#include "farfault/parts/draining_invalidations.hpp"
#include "farfault/translation/page_table.hpp"

namespace moving_pages_parts_test {

using namespace farfault;

TEST_CASE("on_demand allocates frames in order, freed ones first, and no frame twice") {
  PolicyChoice<FrameAllocator> const choice("on_demand");
  auto frames = choice.make({3});
  CHECK(frames->allocate(70) == 0);
  CHECK(frames->allocate(71) == 1);
  frames->release(0);
  frames->release(1);
  CHECK(frames->allocate(72) == 1);
  CHECK(frames->allocate(73) == 0);
  CHECK(!frames->empty());
  CHECK(frames->allocate(74) == 2);
  CHECK(frames->empty());
  frames->release(1);
  CHECK(!frames->empty());
}

TEST_CASE(
    "a page directory tracks the holders of a page until it is removed; beyond 64 GPUs they share bits") {
  PageDirectory d(12);
  CHECK(!d.may_hold(7, 3));
  d.add_holder(7, 3);
  d.add_holder(7, 63);
  for (std::uint32_t gpu = 0; gpu < 64; ++gpu) CHECK(d.may_hold(7, gpu) == (gpu == 3 || gpu == 63));
  CHECK(!d.may_hold(8, 3));
  CHECK(d.may_hold(7, 3 + 64));
  d.add_holder(8, 100);
  CHECK(d.may_hold(8, 100));
  CHECK(d.may_hold(8, 36));
  d.forget(7);
  CHECK(!d.may_hold(7, 3));
  CHECK(d.may_hold(8, 100));
}

TEST_CASE("a drain ends when no earlier access is outstanding, regardless of later ones") {
  AccessDrain d;
  auto const a = d.send();
  auto const b = d.send();
  CHECK(d.done());
  d.begin(0);
  CHECK(!d.done());
  auto const c = d.send();
  d.responded(b);
  CHECK(!d.done());
  d.responded(a);
  CHECK(d.done());
  d.begin(0);
  CHECK(!d.done());
  d.responded(c);
  CHECK(d.done());
}

TEST_CASE("a drain counts translated accesses that are not yet sent") {
  AccessDrain d;
  d.begin(2);
  CHECK(!d.done());
  d.leave_queue();  // a hit: nothing is sent
  auto const old = d.send();
  d.leave_queue();
  auto const young = d.send();
  CHECK(old != young);
  CHECK(!d.done());
  d.responded(old);
  CHECK(d.done());
  d.responded(young);
}

TEST_CASE("invalidations received during a drain are acknowledged together after the next one") {
  AccessDrain drain;
  DrainingInvalidations queue(4);
  std::vector<std::uint32_t> acknowledged;
  auto const advance = [&] {
    queue.advance(drain, 0, [&](Invalidate const& m) { acknowledged.push_back(m.move); });
    return acknowledged;
  };
  auto const push = [&](std::uint32_t move) {
    Invalidate m{};
    m.move = move;
    queue.push(m);
    return advance();
  };
  using Moves = std::vector<std::uint32_t>;
  auto const first = drain.send();
  CHECK(push(7).empty());
  auto const second = drain.send();
  CHECK(push(8).empty());
  CHECK(push(9).empty());
  drain.responded(first);
  CHECK(advance() == Moves{7});
  CHECK(advance() == Moves{7});
  drain.responded(second);
  CHECK(advance() == Moves{7, 8, 9});
  CHECK(queue.empty());
  CHECK(push(10) == Moves{7, 8, 9, 10});  // nothing is outstanding
}

TEST_CASE("an unmapped page is not found, its neighbours are, and it can be mapped elsewhere") {
  PageTable table(0x1000, 12);
  table.map(77, 0x5000);
  table.map(78, 0x6000);
  CHECK(table.unmap(77));
  CHECK(!table.unmap(77));
  CHECK(!table.unmap(std::uint64_t{1} << 30));
  CHECK(!table.find(77));
  CHECK(table.find(78) == PageTranslation{0x6000});
  CHECK(table.mapped_pages() == 1);
  table.map(77, 0x9000);
  CHECK(table.find(77) == PageTranslation{0x9000});
  CHECK(table.mapped_pages() == 2);
  CHECK(table.nodes() == 4);
}

TEST_CASE("each_page visits all mapped pages in order, under random mapping and unmapping") {
  std::mt19937_64 random(4);
  for (unsigned const page_bits : {12U, 21U}) {
    PageTable table(0, page_bits);
    std::map<std::uint64_t, PhysAddr> reference;
    for (int i = 0; i < 3000; ++i) {
      auto const page = (random() % 5) << 20 | (random() % 40) * 31;
      if (random() % 3 == 0) {
        REQUIRE(table.unmap(page) == (reference.erase(page) == 1));
      } else {
        table.map(page, random() >> 28 << 12);
        reference[page] = table.find(page)->frame;
      }
    }
    std::vector<std::pair<std::uint64_t, PhysAddr>> visited;
    table.each_page(
        [&](std::uint64_t page, PageTranslation const& t) { visited.emplace_back(page, t.frame); });
    CHECK(visited == std::vector<std::pair<std::uint64_t, PhysAddr>>(reference.begin(), reference.end()));
    CHECK(table.mapped_pages() == reference.size());
  }
}

TEST_CASE("a cache drops the lines of a range, clean and dirty, and keeps the others") {
  Cache cache(64 * 64, 4, 64, test::kLru);
  for (std::uint64_t line = 100; line < 164; ++line) cache.fill(line, line % 2 == 0);
  cache.invalidate(110, 120);
  for (std::uint64_t line = 100; line < 164; ++line) CHECK(cache.lookup(line) == (line < 110 || line >= 120));
  // Dirty lines of the range are not written back when they are replaced.
  for (std::uint64_t line = 110; line < 120; ++line) CHECK(!cache.fill(line + 64, false));
}

}  // namespace moving_pages_parts_test
