// SPDX-License-Identifier: Apache-2.0
// The walker alone: entries read, order of walks, and availability of walkers.
#include "farfault/translation/walker.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "choices.hpp"

namespace walker_test {

using namespace farfault;

namespace {

constexpr PhysAddr kBase = 0x100'0000;
constexpr std::uint64_t kPage = ((1 * 512ULL + 2) * 512 + 3) * 512 + 4;
constexpr PhysAddr kFrame = physical(1, 0x5000);

Walker walker_of(std::uint32_t walkers, std::uint64_t queue, std::uint32_t cache_entries,
                 std::uint32_t groups = 1) {
  static PolicyChoice<WalkCache> const choice("unified");
  return {groups, walkers, queue, [&] { return choice.make({cache_entries, test::kLru}); }};
}

PageTable one_page() {
  PageTable table(kBase, 12);
  table.map(kPage, kFrame);
  return table;
}

// Walks to the end. Returns the addresses read.
std::vector<PhysAddr> finish(Walker& walker, Walker::Read const& first, PageTable const& table,
                             Walker::Step& end) {
  std::vector<PhysAddr> read{first.address};
  for (end = walker.advance(first.walker, table); !end.ended; end = walker.advance(first.walker, table))
    read.push_back(end.address);
  return read;
}

}  // namespace

TEST_CASE("walker: a walk reads one entry per level and returns the frame and its request's tag") {
  auto const table = one_page();
  auto walker = walker_of(2, 8, 0);
  CHECK_FALSE(walker.start(table).has_value());
  walker.enqueue(kPage, 77);
  CHECK(walker.queued() == 1);
  auto const first = walker.start(table);
  REQUIRE(first.has_value());
  CHECK(first->tag == 77);
  CHECK(walker.queued() == 0);
  CHECK(walker.busy() == 1);
  Walker::Step end{};
  CHECK(finish(walker, *first, table, end) ==
        std::vector<PhysAddr>{kBase + 8, kBase + 0x1000 + 16, kBase + 0x2000 + 24, kBase + 0x3000 + 32});
  CHECK(end.found);
  CHECK(end.tag == 77);
  CHECK(end.page == kPage);
  CHECK(end.address == kFrame);
  CHECK(first->requester == Requester{0, 0, RequestKind::walk});
  CHECK(walker.busy() == 0);
  CHECK(walker.walks() == 1);
  CHECK(walker.reads() == 4);
}

TEST_CASE("walker: each group has its own walkers, queue and walk cache") {
  auto const table = one_page();
  auto walker = walker_of(2, 8, 16, 3);
  CHECK(walker.walkers() == 6);
  for (std::uint32_t tag = 0; tag < 4; ++tag) walker.enqueue(kPage, tag, 0, 1);
  walker.enqueue(kPage, 4, 0, 2);
  std::vector<std::uint32_t> tags;
  std::vector<Walker::Read> started;
  while (auto const read = walker.start(table)) {
    tags.push_back(read->tag);
    started.push_back(*read);
  }
  CHECK(tags == std::vector<std::uint32_t>{0, 1, 4});
  CHECK(started[0].walker == 2);
  CHECK(started[2].walker == 4);
  CHECK(walker.busy() == 3);
  CHECK(walker.queued() == 2);
  Walker::Step end{};
  CHECK(finish(walker, started[0], table, end).size() == 4);
  CHECK(walker.busy() == 2);
  auto const next = walker.start(table);
  REQUIRE(next);
  CHECK(next->walker == 2);
  CHECK(next->tag == 2);
  CHECK(finish(walker, *next, table, end).size() == 1);  // the nodes are in the cache of its group
  walker.enqueue(kPage, 5, 0, 0);
  auto const other = walker.start(table);
  REQUIRE(other);
  CHECK(other->walker == 0);
  CHECK(finish(walker, *other, table, end).size() == 4);
}

TEST_CASE("walker: walks to 64 KiB pages read four entries, and one after a page of the same 2 MiB") {
  PageTable table(kBase, 16, 2);
  auto const page = (std::uint64_t{1} << 32) + ((1 * 512ULL + 2) * 512 + 3) * 32 + 4;  // of space 1
  table.map(page, kFrame);
  table.map(page + 32, kFrame + 0x10000);  // the next 2 MiB
  auto walker = walker_of(1, 8, 64);
  auto const walk_to = [&](std::uint64_t to, PhysAddr frame) {
    walker.enqueue(to, 5);
    Walker::Step end{};
    auto const first = walker.start(table);
    CHECK(first->requester.space == 1);
    auto const read = finish(walker, *first, table, end);
    CHECK(end.found);
    CHECK(end.address == frame);
    return read;
  };
  using Read = std::vector<PhysAddr>;
  CHECK(walk_to(page, kFrame) ==
        Read{kBase + 0x1000 + 8, kBase + 0x2000 + 16, kBase + 0x3000 + 24, kBase + 0x4000 + 32});
  CHECK(walk_to(page, kFrame) == Read{kBase + 0x4000 + 32});
  CHECK(walk_to(page + 32, kFrame + 0x10000) == Read{kBase + 0x3000 + 32, kBase + 0x4100 + 32});
}

TEST_CASE("walker: a walk with a fixed length reads nothing and finds the table's entry at its end") {
  auto table = one_page();
  auto walker = walker_of(1, 8, 4);
  walker.enqueue(kPage, 77);
  walker.enqueue(kPage + 1, 78);
  auto const first = walker.begin();
  REQUIRE(first.has_value());
  CHECK(first->tag == 77);
  CHECK(walker.busy() == 1);
  CHECK_FALSE(walker.begin().has_value());  // the only walker is busy
  auto const end = walker.end(first->walker, table);
  CHECK(end.ended);
  CHECK(end.found);
  CHECK(end.tag == 77);
  CHECK(end.page == kPage);
  CHECK(end.address == kFrame);
  CHECK(walker.busy() == 0);
  auto const second = walker.begin();
  REQUIRE(second.has_value());
  table.map(kPage + 1, kFrame + 4096);  // during the walk
  CHECK(walker.end(second->walker, table).address == kFrame + 4096);
  walker.enqueue(kPage + 2, 79);
  CHECK_FALSE(walker.end(walker.begin()->walker, table).found);
  CHECK(walker.walks() == 3);
  CHECK(walker.reads() == 0);
}

TEST_CASE("walker: a walk ends without a result at the first entry that is not present") {
  auto const table = one_page();
  auto walker = walker_of(1, 8, 0);
  for (auto const& [page, reads] :
       {std::pair{kPage + 1, 4U}, {kPage + 512, 3U}, {kPage + 512 * 512, 2U}, {0ULL, 1U}}) {
    walker.enqueue(page, 3);
    auto const first = walker.start(table);
    REQUIRE(first.has_value());
    Walker::Step end{};
    CHECK(finish(walker, *first, table, end).size() == reads);
    CHECK_FALSE(end.found);
    CHECK(end.page == page);
    CHECK(end.tag == 3);
  }
  CHECK(walker.busy() == 0);
}

TEST_CASE("walker: the number of concurrent walks equals the walkers, further ones start in order") {
  auto const table = one_page();
  for (std::uint32_t const walkers : {1U, 2U, 7U, 64U}) {
    CAPTURE(walkers);
    auto walker = walker_of(walkers, 100, 0);
    for (std::uint32_t i = 0; i < 100; ++i) walker.enqueue(kPage, i);
    std::set<std::uint32_t> used;
    for (std::uint32_t i = 0; i < walkers; ++i) {
      auto const read = walker.start(table);
      REQUIRE(read.has_value());
      CHECK(read->tag == i);
      used.insert(read->walker);
    }
    CHECK(used.size() == walkers);
    CHECK(*used.rbegin() == walkers - 1);
    CHECK(walker.busy() == walkers);
    CHECK_FALSE(walker.start(table).has_value());
    CHECK(walker.queued() == 100 - walkers);
    // The walk that ends makes room for one more.
    auto const last = walkers - 1;
    while (!walker.advance(last, table).ended) continue;
    auto const next = walker.start(table);
    REQUIRE(next.has_value());
    CHECK(next->walker == last);
    CHECK(next->tag == walkers);
    CHECK_FALSE(walker.start(table).has_value());
  }
}

TEST_CASE("walker: the page-walk cache starts a walk below the entries of earlier walks, hits or not") {
  auto table = one_page();
  table.map(kPage + 512, kFrame);
  auto walker = walker_of(1, 8, 64);
  auto const reads_of = [&](std::uint64_t page) {
    walker.enqueue(page, 0);
    Walker::Step end{};
    return finish(walker, *walker.start(table), table, end).size();
  };
  CHECK(reads_of(kPage) == 4);
  CHECK(reads_of(kPage + 1) == 1);        // same last node
  CHECK(reads_of(kPage + 512) == 2);      // another last node
  CHECK(reads_of(kPage + 512 + 1) == 1);  // cached by now
  CHECK(reads_of(kPage + 1024) == 1);     // its parent's entry is not present
  CHECK(walker.reads() == 9);
}

TEST_CASE("walker: a page that is unmapped during its walk is not found") {
  auto table = one_page();
  auto walker = walker_of(1, 8, 0);
  walker.enqueue(kPage, 0);
  auto const first = walker.start(table);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(walker.advance(first->walker, table).ended);
  table.unmap(kPage);
  auto const end = walker.advance(first->walker, table);
  CHECK(end.ended);
  CHECK_FALSE(end.found);
}

TEST_CASE("walker: each read has the address space, the application, and the depth of its entry") {
  constexpr std::uint32_t kSpace = 3;
  auto const page = kPage + (std::uint64_t{kSpace} << 36);
  PageTable table(0x10000, 12, kSpace + 1);
  table.map(page, 0x5000);
  auto walker = walker_of(1, 8, 64);
  walker.enqueue(page, 1, 7);
  auto const first = walker.start(table);
  REQUIRE(first.has_value());
  CHECK(first->requester == Requester{kSpace, 7, walk_read(0)});
  for (unsigned level = 1; level < 4; ++level)
    CHECK(walker.advance(first->walker, table).requester == Requester{kSpace, 7, walk_read(level)});
  CHECK(walker.advance(first->walker, table).ended);
  walker.enqueue(page, 2, 7);  // a page-walk-cache hit
  CHECK(walker.start(table)->requester == Requester{kSpace, 7, walk_read(3)});
}

}  // namespace walker_test
