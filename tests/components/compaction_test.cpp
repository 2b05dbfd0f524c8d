// SPDX-License-Identifier: Apache-2.0
// Selection of pages to move so that a large frame becomes free, and memory that is fragmented from the
// start.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string_view>
#include <vector>

#include "choices.hpp"
#include "farfault/paging/fragmentation.hpp"
#include "farfault/paging/frame_allocator.hpp"
#include "farfault/protocols/kernel.hpp"
#include "policies.hpp"

namespace compaction_test {

using namespace farfault;

namespace {

constexpr unsigned kPageBits = 12;
constexpr std::uint64_t kUnowned = FrameAllocator::kUnownedPage;
using Moves = std::vector<FrameAllocator::Move>;

std::uint64_t page_of(std::uint32_t space, std::uint64_t number) {
  return (first_address_of(space) >> kPageBits) + number;
}
PolicyChoice<FrameAllocator> const& choice() {
  static PolicyChoice<FrameAllocator> const chosen("contiguity_conserving");
  return chosen;
}
// Large frames of 2^size base pages. Pages 0 to 63 of each of two spaces are allocated en masse.
FrameAllocator::Setup memory(std::uint64_t frames, std::uint64_t max_moved, unsigned size = 2) {
  return {.frames = frames,
          .page_bits = kPageBits,
          .spaces = 2,
          .large_size = size,
          .large_regions = {size, {{page_of(0, 0), 64}, {page_of(1, 0), 64}}},
          .max_moved = max_moved};
}
bool all_may(std::uint64_t) {
  return true;
}
std::vector<std::uint64_t> flat(Moves const& moves) {
  std::vector<std::uint64_t> all;
  for (auto const& m : moves) all.insert(all.end(), {m.page, m.from, m.to});
  return all;
}

}  // namespace

TEST_CASE("compaction: a page lacks a large frame if it would start one and none is free") {
  auto frames = choice().make(memory(8, 2));
  frames->occupy(1);
  CHECK(!frames->lacks_large_frame(page_of(0, 0)));
  CHECK(frames->allocate(page_of(0, 1)) == 5);
  CHECK(!frames->lacks_large_frame(page_of(0, 0)));  // it has its frame
  CHECK(frames->lacks_large_frame(page_of(0, 4)));
  CHECK(frames->lacks_large_frame(page_of(1, 1)));
  CHECK(frames->lacks_large_frame(page_of(0, 100)));  // no base pages of its space
  frames->release(1);
  CHECK(!frames->lacks_large_frame(page_of(0, 100)));
  CHECK(frames->allocate(page_of(0, 100)) == 0);
  CHECK(!frames->lacks_large_frame(page_of(0, 101)));
}

TEST_CASE("compaction: without the limit, no large frame is lacking and none is emptied") {
  auto frames = choice().make(memory(8, 0));
  frames->occupy(0);
  frames->occupy(4);
  CHECK(!frames->lacks_large_frame(page_of(0, 0)));
}

TEST_CASE(
    "compaction: preoccupied data moves from the large frame with the least of it to the fullest frames") {
  auto frames = choice().make(memory(16, 2));
  for (auto const f : {0U, 1U, 2U, 4U, 5U, 9U, 12U, 13U}) frames->occupy(f);
  Moves moves;
  REQUIRE(frames->plan_emptying(all_may, moves));
  CHECK(flat(moves) == std::vector<std::uint64_t>{kUnowned, 9, 3});
  CHECK(frames->available() == 7);  // the old one is still in use
  CHECK(frames->lacks_large_frame(page_of(0, 0)));
  frames->release(9);
  CHECK(frames->lacks_large_frame(page_of(0, 0)));
  CHECK(frames->end_emptying());
  CHECK(!frames->lacks_large_frame(page_of(0, 0)));
  CHECK(frames->allocate(page_of(0, 1)) == 9);
  moves.clear();
  REQUIRE(frames->plan_emptying(all_may, moves));
  CHECK(flat(moves) == std::vector<std::uint64_t>{kUnowned, 4, 14, kUnowned, 5, 15});
  for (auto const& m : moves) frames->release(m.from);
  CHECK(frames->end_emptying());
  moves.clear();
  CHECK(!frames->plan_emptying(all_may, moves));  // no room for four
  CHECK(moves.empty());
  CHECK(frames->allocate(page_of(1, 0)) == 4);
}

TEST_CASE(
    "compaction: a large frame above the limit is on the emergency list and gets pages if no large frame is "
    "free or can be emptied") {
  auto frames = choice().make(memory(16, 2));
  auto const stat = [&](std::string_view name) { return test::stat_of(choice(), frames, name); };
  for (auto const f : {0U, 1U, 2U, 4U, 5U, 6U, 8U, 9U, 10U}) frames->occupy(f);
  CHECK(!frames->lacks_large_frame(page_of(0, 0)));
  CHECK(frames->allocate(page_of(0, 1)) == 13);  // the last free one
  CHECK(!frames->lacks_large_frame(page_of(0, 2)));
  CHECK(frames->lacks_large_frame(page_of(0, 4)));
  CHECK(frames->lacks_large_frame(page_of(0, 100)));
  CHECK(stat("emergency_allocations") == 0);
  Moves moves;
  CHECK(!frames->plan_emptying(all_may, moves));    // three in use are above the limit
  CHECK(frames->allocate(page_of(0, 100)) == 12);   // in the region of its space, before regions of others
  CHECK(frames->lacks_large_frame(page_of(0, 0)));  // its own frame is taken: it needs another one
  CHECK(!frames->lacks_large_frame(page_of(0, 3)));
  CHECK(stat("emergency_allocations") == 1);
  CHECK(stat("shared_allocations") == 0);
  CHECK(frames->allocate(page_of(1, 100)) == 3);
  CHECK(stat("emergency_allocations") == 2);
  CHECK(stat("shared_allocations") == 1);
  frames->release(8);  // two in use are within the limit; other frames lack room
  CHECK(!frames->plan_emptying(all_may, moves));
  frames->release(9);
  REQUIRE(frames->plan_emptying(all_may, moves));
  CHECK(flat(moves) == std::vector<std::uint64_t>{kUnowned, 10, 7});
}

TEST_CASE("compaction: base pages move to frames with base pages of the same space, up to the limit") {
  auto frames = choice().make(memory(16, 2));
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(frames->allocate(page_of(0, 100 + i)) == i);
  CHECK(frames->allocate(page_of(1, 100)) == 8);
  CHECK(frames->allocate(page_of(0, 0)) == 12);  // a region that fills up is left alone
  Moves moves;
  CHECK(!frames->plan_emptying(all_may, moves));
  frames->release(3);
  CHECK(!frames->plan_emptying(all_may, moves));  // three are above the limit
  frames->release(6);
  frames->release(5);
  CHECK(!frames->plan_emptying(all_may, moves));  // no room for two
  frames->release(0);
  REQUIRE(frames->plan_emptying(all_may, moves));
  // Equally full: the lower one is emptied.
  CHECK(flat(moves) == std::vector<std::uint64_t>{page_of(0, 101), 1, 5, page_of(0, 102), 2, 6});
}

TEST_CASE("compaction: a region with unmapped pages is emptied, and accepts pages like base pages") {
  auto frames = choice().make(memory(12, 2));
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(frames->allocate(page_of(0, i)) == i);
  CHECK(frames->allocate(page_of(0, 8)) == 8);
  for (auto const f : {0U, 1U, 3U, 6U, 7U}) frames->release(f);
  Moves moves;
  REQUIRE(frames->plan_emptying(all_may, moves));
  CHECK(flat(moves) == std::vector<std::uint64_t>{page_of(0, 2), 2, 6});
  frames->release(2);
  CHECK(frames->end_emptying());
  CHECK(frames->allocate(page_of(1, 3)) == 3);
}

TEST_CASE(
    "compaction: a large frame being emptied gets a page only if no other is free, and is then not freed") {
  auto frames = choice().make(memory(12, 4));
  for (std::uint64_t i = 0; i < 12; ++i) CHECK(frames->allocate(page_of(0, i)) == i);
  for (auto const f : {1U, 2U, 3U, 5U, 6U}) frames->release(f);
  Moves moves;
  REQUIRE(frames->plan_emptying(all_may, moves));
  CHECK(flat(moves) == std::vector<std::uint64_t>{page_of(0, 0), 0, 5});
  CHECK(frames->allocate(page_of(0, 1)) == 6);  // not its own frame
  CHECK(frames->allocate(page_of(0, 2)) == 1);  // the only one left
  frames->release(0);
  CHECK(!frames->end_emptying());
  CHECK(frames->allocate(page_of(0, 3)) == 3);  // its own frame again
}

TEST_CASE("compaction: a large frame with an unmovable page is skipped and tried again later") {
  auto frames = choice().make(memory(12, 2));
  for (std::uint64_t i = 0; i < 12; ++i) CHECK(frames->allocate(page_of(0, 100 + i)) == i);
  for (auto const f : {1U, 2U, 3U, 5U, 6U, 9U, 10U}) frames->release(f);
  Moves moves;
  REQUIRE(frames->plan_emptying([](std::uint64_t p) { return p != page_of(0, 100); }, moves));
  CHECK(moves[0].from == 4);
  for (auto const& m : moves) frames->release(m.to);  // the moves are cancelled
  CHECK(!frames->end_emptying());
  moves.clear();
  CHECK(!frames->plan_emptying([](std::uint64_t) { return false; }, moves));
  REQUIRE(frames->plan_emptying(all_may, moves));
  CHECK(flat(moves) == std::vector<std::uint64_t>{page_of(0, 100), 0, 5});
}

namespace {

// A memory's contents, and the large frames that could be emptied, found by exhaustive search.
struct Reference {
  static constexpr std::uint32_t kOwnedByNone = 100, kOwnedBySeveral = 101;
  struct Large {
    std::uint64_t used = 0;
    std::uint32_t owner = kOwnedByNone;
    bool is_region = false, shrunk = false;
  };
  Reference(std::uint64_t frames, unsigned size) : count(frames), in_large(std::uint64_t{1} << size) {
    large.resize((count + in_large - 1) / in_large);
  }
  static std::uint32_t owner_of(std::uint64_t page) {
    return page == kUnowned ? kOwnedByNone : space_of_page(page, kPageBits);
  }
  std::uint64_t frames_in(std::uint64_t n) const { return std::min(in_large, count - n * in_large); }
  void put(std::uint64_t page, std::uint64_t frame) {
    REQUIRE(frame < count);
    REQUIRE(page_at.emplace(frame, page).second);
    auto& l = large[frame / in_large];
    auto const owner = owner_of(page);
    if (l.used++ == 0) l.owner = owner;
    if (l.owner != owner) l.owner = kOwnedBySeveral;
    if (page != kUnowned) frame_of[page] = frame;
  }
  void allocated(std::uint64_t page, std::uint64_t frame) {
    auto const n = frame / in_large;
    auto const region = page / in_large;
    bool const large_regions = page % (first_address_of(1) >> kPageBits) < 64;
    if (large_regions && regions.count(region) == 0 && large[n].used == 0 && frames_in(n) == in_large &&
        frame % in_large == page % in_large) {
      regions[region] = n;
      large[n].is_region = true;
    }
    put(page, frame);
  }
  void remove(std::uint64_t frame, bool moved = false) {
    auto const page = page_at.at(frame);
    page_at.erase(frame);
    if (page != kUnowned && !moved) frame_of.erase(page);
    auto& l = large[frame / in_large];
    l.shrunk = true;
    if (--l.used != 0) return;
    std::erase_if(regions, [&](auto const& r) { return r.second == frame / in_large; });
    l = {};
  }
  // Group of a large frame: its pages may move into others of the group. 0: unowned or shared frames; ~0: no
  // group; else 1 + space.
  std::uint32_t group(std::uint64_t n) const {
    auto const& l = large[n];
    if (l.used == 0 || l.used == frames_in(n)) return ~0U;
    if (l.owner >= kOwnedByNone) return 0;
    return l.is_region && !l.shrunk ? ~0U : 1 + l.owner;
  }
  std::vector<std::uint64_t> can_be_emptied(std::uint64_t most, std::uint64_t fixed) const {
    std::vector<std::uint64_t> found;
    for (std::uint64_t n = 0; n < large.size(); ++n) {
      auto const g = group(n);
      if (g == ~0U || frames_in(n) != in_large || large[n].used > most) continue;
      std::uint64_t room = 0;
      for (std::uint64_t o = 0; o < large.size(); ++o)
        if (o != n && group(o) == g) room += frames_in(o) - large[o].used;
      bool may = room >= large[n].used;
      for (auto f = n * in_large; f < (n + 1) * in_large; ++f)
        may = may && (page_at.count(f) == 0 || page_at.at(f) != fixed);
      if (may) found.push_back(n);
    }
    return found;
  }

  std::uint64_t count, in_large;
  std::vector<Large> large;
  std::map<std::uint64_t, std::uint64_t> page_at, frame_of, regions;
};

}  // namespace

TEST_CASE(
    "compaction: under random use no frame has two owners, groups stay apart, and the best frame is "
    "emptied") {
  std::mt19937_64 random(13);
  std::uint64_t planned = 0, refused = 0, steps = 0;
  for (int round = 0; round < 1500; ++round) {
    auto const size = static_cast<unsigned>(1 + random() % 3);
    auto const in_large = std::uint64_t{1} << size;
    auto const count = in_large * (2 + random() % 6) + random() % in_large;
    auto const most = 1 + random() % in_large;
    auto frames = choice().make(memory(count, most, size));
    Reference reference(count, size);
    auto const some_page = [&] { return page_of(static_cast<std::uint32_t>(random() % 2), random() % 128); };
    for (std::uint64_t f = 0; f < count; ++f)
      if (random() % 4 == 0) {
        frames->occupy(f);
        reference.put(kUnowned, f);
      }
    for (int step = 0; step < 150; ++step, ++steps) {
      REQUIRE(frames->available() == count - reference.page_at.size());
      auto const draw = random() % 8;
      if (draw < 4) {
        auto const page = some_page();
        if (reference.frame_of.count(page) != 0 || frames->empty()) continue;
        reference.allocated(page, frames->allocate(page));
      } else if (draw < 7) {
        if (reference.page_at.empty()) continue;
        auto it = reference.page_at.lower_bound(random() % count);
        if (it == reference.page_at.end()) it = reference.page_at.begin();
        auto const frame = it->first;
        reference.remove(frame);
        frames->release(frame);
      } else {
        auto const fixed = random() % 3 == 0 ? some_page() : kUnowned - 1;
        auto const can_be = reference.can_be_emptied(most, fixed);
        Moves moves;
        if (!frames->plan_emptying([&](std::uint64_t p) { return p != fixed; }, moves)) {
          REQUIRE(moves.empty());
          REQUIRE(can_be.empty());
          ++refused;
          continue;
        }
        ++planned;
        REQUIRE(!moves.empty());
        auto const number = moves[0].from / in_large;
        REQUIRE(moves.size() == reference.large[number].used);
        auto const least =
            std::ranges::min_element(can_be, {}, [&](std::uint64_t n) { return reference.large[n].used; });
        REQUIRE(number == *least);
        auto const group = reference.group(number);
        for (auto const& m : moves) {
          REQUIRE(m.from / in_large == number);
          REQUIRE(m.to / in_large != number);
          REQUIRE(reference.page_at.at(m.from) == m.page);
          REQUIRE(reference.group(m.to / in_large) == group);
          reference.put(m.page, m.to);
        }
        for (auto const& m : moves) {
          reference.remove(m.from, true);
          frames->release(m.from);
        }
        REQUIRE(frames->end_emptying());
        REQUIRE(!frames->lacks_large_frame(page_of(0, 0)));
        REQUIRE(!frames->lacks_large_frame(page_of(1, 100)));
      }
    }
  }
  CHECK(steps == 225'000);
  CHECK(planned > 3000);
  CHECK(refused > 3000);
}

TEST_CASE("fragmentation: index and occupancy are shares of the large frames and of each one's base pages") {
  struct Case {
    double index, occupancy;
    std::uint32_t large, taken;
  };
  for (std::string const name : {"on_demand", "contiguity_conserving"}) {
    CAPTURE(name);
    PolicyChoice<FrameAllocator> const frames_choice(name);
    // 62 large frames and eight more frames.
    FrameAllocator::Setup const setup{.frames = 1000, .page_bits = kPageBits, .spaces = 1, .large_size = 4};
    for (auto const& c : {Case{0.5, 0.25, 31, 4},
                          {1.0, 1.0, 62, 16},
                          {0.01, 0.5, 1, 8},
                          {0.0, 0.5, 0, 0},
                          {0.5, 0.01, 31, 0}}) {
      CAPTURE(c.index);
      auto frames = frames_choice.make(setup);
      Fragmentation const f{c.index, c.occupancy, 3};
      f.occupy(*frames, setup, 0);
      CHECK(f.frames(setup) == c.large * c.taken);
      CHECK(frames->available() == 1000 - c.large * c.taken);
      std::vector<std::uint64_t> free_in(63);
      while (!frames->empty()) ++free_in[frames->allocate(1) / 16];
      CHECK(std::ranges::count(free_in, 16U - c.taken) >= c.large);
      CHECK(free_in[62] == 8);
    }
  }
}

TEST_CASE("fragmentation: seed, GPU and memory size determine the occupied frames") {
  PolicyChoice<FrameAllocator> const on_demand("on_demand");
  FrameAllocator::Setup const setup{.frames = 4096, .page_bits = kPageBits, .spaces = 1, .large_size = 6};
  auto const free_frames = [&](std::uint64_t seed, std::uint32_t gpu) {
    auto frames = on_demand.make(setup);
    Fragmentation{0.5, 0.5, seed}.occupy(*frames, setup, gpu);
    std::vector<std::uint64_t> all;
    while (!frames->empty()) all.push_back(frames->allocate(1));
    return all;
  };
  CHECK(free_frames(1, 0) == free_frames(1, 0));
  CHECK(free_frames(1, 0) != free_frames(1, 1));
  CHECK(free_frames(1, 0) != free_frames(2, 0));
}

}  // namespace compaction_test
