// SPDX-License-Identifier: Apache-2.0
// Contiguity-conserving frame allocation: CoCoA of Mosaic (MICRO 2017).
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "choices.hpp"
#include "farfault/paging/frame_allocator.hpp"
#include "farfault/protocols/kernel.hpp"
#include "policies.hpp"

namespace contiguity_conserving_test {

using namespace farfault;

namespace {

constexpr unsigned kPageBits = 12;
constexpr std::uint32_t kNobody = 1000;

std::uint64_t page_of(std::uint32_t space, std::uint64_t number) {
  return (first_address_of(space) >> kPageBits) + number;
}

PolicyChoice<FrameAllocator> const& choice() {
  static PolicyChoice<FrameAllocator> const chosen("contiguity_conserving");
  return chosen;
}

// Large frames of four base pages. Pages 8 to 31 of each of three spaces are allocated en masse: six regions.
FrameAllocator::Setup small_memory(std::uint64_t frames) {
  std::vector<PageRange> ranges;
  for (std::uint32_t space = 0; space < 3; ++space) ranges.push_back({page_of(space, 8), 24});
  return {
      .frames = frames, .page_bits = kPageBits, .spaces = 3, .large_size = 2, .large_regions = {2, ranges}};
}

std::uint64_t stat(Policy<FrameAllocator> const& frames, std::string_view name) {
  return test::stat_of(choice(), frames, name);
}

}  // namespace

TEST_CASE("a region allocated en masse gets a large frame, with each page at its offset, in any order") {
  auto frames = choice().make(small_memory(16));
  CHECK(frames->allocate(page_of(0, 10)) == 2);
  CHECK(frames->allocate(page_of(0, 12)) == 4);  // another region: the next large frame
  CHECK(frames->allocate(page_of(0, 8)) == 0);
  CHECK(frames->allocate(page_of(0, 11)) == 3);
  CHECK(frames->allocate(page_of(0, 15)) == 7);
  CHECK(frames->allocate(page_of(0, 9)) == 1);
  CHECK(stat(frames, "large_frames_in_use") == 2);
  CHECK(stat(frames, "large_frames_assigned") == 2);
  CHECK(stat(frames, "shared_allocations") == 0);
  CHECK(frames->available() == 10);
}

TEST_CASE("other pages get free base pages of their space, and a large frame if none are left") {
  auto frames = choice().make(small_memory(16));
  for (std::uint64_t i = 0; i < 5; ++i) CHECK(frames->allocate(page_of(0, 100 + 7 * i)) == i);
  CHECK(frames->allocate(page_of(1, 100)) == 8);  // a separate large frame
  CHECK(frames->allocate(page_of(0, 200)) == 5);
  CHECK(frames->allocate(page_of(1, 101)) == 9);
  CHECK(stat(frames, "large_frames_in_use") == 3);
  CHECK(stat(frames, "large_frames_assigned") == 0);
}

TEST_CASE("pages with and without contiguity share a large frame only if none are free") {
  auto frames = choice().make(small_memory(16));
  CHECK(frames->allocate(page_of(0, 100)) == 0);
  CHECK(frames->allocate(page_of(0, 9)) == 5);
  CHECK(frames->allocate(page_of(0, 101)) == 1);
  CHECK(frames->allocate(page_of(1, 9)) == 9);  // same page number, another space
  CHECK(frames->allocate(page_of(1, 8)) == 8);
}

TEST_CASE("a large frame without pages is free again for any space, and ends its region") {
  auto frames = choice().make(small_memory(8));
  CHECK(frames->allocate(page_of(0, 8)) == 0);
  CHECK(frames->allocate(page_of(0, 9)) == 1);
  CHECK(frames->allocate(page_of(1, 12)) == 4);
  frames->release(0);
  CHECK(frames->allocate(page_of(0, 8)) == 0);  // one page remained: the same frame
  frames->release(0);
  frames->release(1);
  CHECK(stat(frames, "large_frames_in_use") == 1);
  CHECK(frames->allocate(page_of(1, 101)) == 0);
  frames->release(4);
  CHECK(frames->allocate(page_of(0, 9)) == 5);  // the region's new large frame
  CHECK(stat(frames, "large_frames_assigned") == 3);
}

TEST_CASE("the large frame freed first is reused first, and before unused ones") {
  auto frames = choice().make(small_memory(16));
  CHECK(frames->allocate(page_of(0, 8)) == 0);
  CHECK(frames->allocate(page_of(0, 12)) == 4);
  frames->release(4);
  frames->release(0);
  CHECK(frames->allocate(page_of(0, 100)) == 4);
  CHECK(frames->allocate(page_of(1, 100)) == 0);
  CHECK(frames->allocate(page_of(2, 100)) == 8);
}

TEST_CASE("without a free large frame, a page gets the unused frames of its space's regions, oldest first") {
  auto frames = choice().make(small_memory(12));
  CHECK(frames->allocate(page_of(1, 8)) == 0);
  CHECK(frames->allocate(page_of(0, 9)) == 5);
  CHECK(frames->allocate(page_of(0, 13)) == 9);
  CHECK(frames->allocate(page_of(0, 100)) == 4);  // emergency allocation
  CHECK(frames->allocate(page_of(0, 8)) == 6);    // its frame is taken: another frame of its space
  CHECK(frames->allocate(page_of(0, 16)) == 7);   // its region gets no large frame
  CHECK(frames->allocate(page_of(0, 17)) == 8);
  CHECK(frames->allocate(page_of(1, 11)) == 3);  // its frame is still free
  CHECK(stat(frames, "shared_allocations") == 0);
  frames->release(4);
  CHECK(frames->allocate(page_of(0, 8)) == 4);
}

TEST_CASE("the soft guarantee is broken only if no other frame is free, which is counted") {
  auto frames = choice().make(small_memory(8));
  CHECK(frames->allocate(page_of(0, 8)) == 0);
  CHECK(frames->allocate(page_of(1, 100)) == 4);
  CHECK(frames->allocate(page_of(2, 100)) == 5);  // next to another space's base pages, not in a region
  CHECK(stat(frames, "shared_allocations") == 1);
  CHECK(frames->allocate(page_of(1, 101)) == 6);  // the large frame no longer belongs to one space
  CHECK(stat(frames, "shared_allocations") == 2);
  CHECK(frames->allocate(page_of(0, 101)) == 1);
  CHECK(stat(frames, "shared_allocations") == 2);
  CHECK(frames->allocate(page_of(2, 101)) == 7);
  CHECK(frames->allocate(page_of(2, 102)) == 2);  // frame of a region
  CHECK(frames->allocate(page_of(0, 11)) == 3);   // its own frame, though other spaces share the large frame
  CHECK(stat(frames, "shared_allocations") == 4);
  CHECK(frames->empty());
  for (auto const f : {4U, 5U, 6U}) frames->release(f);
  CHECK(frames->allocate(page_of(1, 102)) == 4);  // shared until all of it is free
  CHECK(stat(frames, "shared_allocations") == 5);
  frames->release(4);
  frames->release(7);
  CHECK(frames->allocate(page_of(1, 103)) == 4);
  CHECK(stat(frames, "shared_allocations") == 5);
}

TEST_CASE("preoccupied data makes its large frames unavailable, and they are shared as the last choice") {
  auto frames = choice().make(small_memory(16));
  for (auto const f : {13U, 6U, 1U}) frames->occupy(f);
  CHECK(frames->available() == 13);
  CHECK(stat(frames, "large_frames_in_use") == 3);
  CHECK(frames->allocate(page_of(0, 8)) == 8);
  CHECK(frames->allocate(page_of(0, 100)) == 9);
  CHECK(stat(frames, "shared_allocations") == 0);
  CHECK(frames->allocate(page_of(1, 8)) == 12);  // next to the earlier page
  CHECK(stat(frames, "shared_allocations") == 1);
  frames->occupy(10);
  CHECK(frames->allocate(page_of(0, 11)) == 11);
  for (auto const f : {12U, 13U}) frames->release(f);
  CHECK(frames->allocate(page_of(1, 9)) == 13);  // a large frame again
  CHECK(stat(frames, "shared_allocations") == 1);
}

TEST_CASE("a large page gets a whole free large frame, or none without side effects") {
  auto frames = choice().make(small_memory(14));
  CHECK(frames->allocate(page_of(0, 100)) == 0);
  CHECK(frames->allocate_large(page_of(0, 8), 1) == std::nullopt);
  CHECK(frames->allocate_large(page_of(0, 8), 3) == std::nullopt);
  CHECK(frames->allocate_large(page_of(0, 8), 2) == 4);
  CHECK(frames->allocate_large(page_of(1, 8), 2) == 8);
  auto const before = test::hash_of(frames);
  CHECK(frames->allocate_large(page_of(1, 12), 2) == std::nullopt);
  CHECK(test::hash_of(frames) == before);
  CHECK(frames->available() == 5);
  CHECK(frames->allocate(page_of(1, 100)) == 12);  // the rest at the end is for base pages
  for (auto const f : {4U, 5U, 6U}) frames->release(f);
  CHECK(frames->allocate(page_of(0, 9)) == 5);  // reused for base pages
  for (auto const f : {5U, 7U}) frames->release(f);
  CHECK(frames->allocate_large(page_of(2, 12), 2) == 4);
  CHECK(stat(frames, "large_frames_assigned") == 3);
}

TEST_CASE("the partial large frame at the end of memory is never assigned to a region") {
  auto frames = choice().make(small_memory(6));
  CHECK(frames->allocate(page_of(0, 8)) == 0);
  CHECK(frames->allocate(page_of(1, 8)) == 4);  // like any page
  CHECK(stat(frames, "large_frames_assigned") == 1);
  frames->release(4);
  CHECK(frames->allocate(page_of(1, 9)) == 4);  // not its frame
  CHECK(frames->allocate(page_of(2, 9)) == 5);
  frames->release(5);
  frames->release(4);
  frames->release(0);
  CHECK(frames->allocate(page_of(1, 9)) == 1);  // after it in the list
  CHECK(stat(frames, "large_frames_assigned") == 2);
}

TEST_CASE(
    "unbounded memory has a cost proportional to its use, and large frames of one page are base pages") {
  auto endless = choice().make({});
  CHECK(choice().facts().uses_large_frames);
  CHECK(endless->allocate(7) == 0);
  CHECK(endless->allocate(8) == 1);
  CHECK(endless->available() == FrameAllocator::kUnbounded - 2);
  FrameAllocator::Setup setup{
      .frames = 3, .page_bits = 21, .spaces = 2, .large_size = 0, .large_regions = {0, {{0, 100}}}};
  auto single = choice().make(setup);
  auto const other = first_address_of(1) >> 21;
  CHECK(single->allocate(0) == 0);
  CHECK(single->allocate(other) == 1);
  CHECK(single->allocate(other + 1) == 2);
  CHECK(single->empty());
  single->release(1);
  CHECK(single->allocate(1) == 1);
  CHECK(stat(single, "large_frames_in_use") == 3);
  CHECK(stat(single, "shared_allocations") == 0);
}

namespace {

// An allocator as seen from outside, and its valid answers: sets and exhaustive search.
class Reference {
 public:
  explicit Reference(FrameAllocator::Setup const& setup) : setup_(setup), size_(1ULL << setup.large_size) {
    for (std::uint64_t f = 0; f < setup.frames; ++f) free_.insert(free_.end(), f);
  }
  std::set<std::uint64_t> const& free() const { return free_; }
  std::map<std::uint64_t, std::uint32_t> const& used() const { return used_; }
  std::uint64_t shared() const { return shared_; }
  std::uint64_t assigned() const { return assigned_; }
  std::uint64_t in_use() const { return owners_.size(); }
  std::uint64_t kept() const { return kept_; }

  bool whole_is_free() const {
    return any([&](std::uint64_t l) { return whole(l) && !owners_.contains(l); });
  }

  // True if the page may get the frame; records the allocation.
  bool allocated(std::uint64_t page, std::uint64_t frame) {
    auto const space = space_of_page(page, setup_.page_bits);
    auto const l = frame / size_;
    bool const right =
        setup_.large_regions.size_of(page) != 0 ? of_region(page, space, frame) : other(space, frame);
    return right && free_.erase(frame) == 1 && (enter(frame, space), owners_[l].insert(space), true);
  }
  bool allocated_large(std::uint64_t page, std::uint64_t frame) {
    auto const l = frame / size_;
    if (frame % size_ != 0 || !whole(l) || owners_.contains(l)) return false;
    for (auto f = frame; f < frame + size_; ++f)
      if (free_.erase(f) == 0 || (enter(f, space_of_page(page, setup_.page_bits)), false)) return false;
    owners_[l].insert(space_of_page(page, setup_.page_bits));
    if (region_of_.try_emplace(page / size_, l).second) assigned_to_[l] = page / size_;
    ++assigned_;
    return true;
  }
  void occupied(std::uint64_t frame) {
    free_.erase(frame);
    enter(frame, kNobody);
    owners_[frame / size_].insert(kNobody);
  }
  void released(std::uint64_t frame) {
    used_.erase(frame);
    free_.insert(frame);
    auto const l = frame / size_;
    auto const next = used_.lower_bound(l * size_);
    if (next != used_.end() && next->first < (l + 1) * size_) return;
    owners_.erase(l);
    if (assigned_to_.contains(l)) region_of_.erase(assigned_to_[l]);
    assigned_to_.erase(l);
  }

 private:
  bool whole(std::uint64_t l) const { return (l + 1) * size_ <= setup_.frames; }
  void enter(std::uint64_t frame, std::uint32_t owner) { used_[frame] = owner; }
  // The lowest free frame of a large frame.
  std::uint64_t lowest(std::uint64_t l) const { return *free_.lower_bound(l * size_); }
  template <class F>
  bool any(F&& f) const {
    for (auto at = free_.begin(); at != free_.end(); at = free_.lower_bound((*at / size_ + 1) * size_))
      if (f(*at / size_)) return true;
    return false;
  }
  bool of_region(std::uint64_t page, std::uint32_t space, std::uint64_t frame) {
    auto const assigned = region_of_.find(page / size_);
    if (assigned != region_of_.end()) {
      auto const own = assigned->second * size_ + page % size_;
      if (!free_.contains(own)) return other(space, frame);
      ++kept_;
      return frame == own;
    }
    if (!whole_is_free()) return other(space, frame);
    auto const l = frame / size_;
    region_of_[page / size_] = l;
    assigned_to_[l] = page / size_;
    ++assigned_;
    return frame % size_ == page % size_ && whole(l) && !owners_.contains(l);
  }
  // Rank of the large frame among the kinds of large frames that serve pages of the space, in the order in
  // which they are tried.
  int sort_of(std::uint64_t l, std::uint32_t space) const {
    auto const owners = owners_.find(l);
    if (owners == owners_.end()) return 1;
    bool const shared = owners->second.size() > 1 || owners->second.contains(kNobody);
    bool const own = !shared && owners->second.contains(space);
    bool const region = assigned_to_.contains(l);
    return own ? (region ? 2 : 0) : shared ? 3 : region ? 5 : 4;
  }
  bool other(std::uint32_t space, std::uint64_t frame) {
    auto const sort = sort_of(frame / size_, space);
    if (sort > 2) ++shared_;
    return frame == lowest(frame / size_) && !any([&](std::uint64_t l) { return sort_of(l, space) < sort; });
  }

  FrameAllocator::Setup setup_;
  std::uint64_t size_;
  std::set<std::uint64_t> free_;
  std::map<std::uint64_t, std::uint32_t> used_;              // space of a used frame
  std::map<std::uint64_t, std::set<std::uint32_t>> owners_;  // spaces of a large frame since it was last free
  std::map<std::uint64_t, std::uint64_t> region_of_;         // large frame of a region
  std::map<std::uint64_t, std::uint64_t> assigned_to_;       // region of a large frame
  std::uint64_t shared_ = 0, assigned_ = 0, kept_ = 0;
};

struct Walk {
  explicit Walk(FrameAllocator::Setup const& s, std::uint64_t seed)
      : setup(s), frames(choice().make(s)), reference(s), random(seed) {}

  // Memory fills and empties repeatedly.
  void step() {
    if (random() % 256 == 0) filling = random() % 101;
    bool const release = random() % 100 >= filling;
    if (release && !held.empty()) {
      auto const i = random() % held.size();
      frames->release(held[i]);
      reference.released(held[i]);
      held[i] = held.back();
      held.pop_back();
      return;
    }
    auto const space = static_cast<std::uint32_t>(random() % setup.spaces);
    auto const page = page_of(space, random() % pages);
    auto const draw = random() % 32;
    if (draw == 0) {
      bool const whole = reference.whole_is_free();
      auto const first = page >> setup.large_size << setup.large_size;
      auto const frame = frames->allocate_large(first, setup.large_size);
      REQUIRE(frame.has_value() == whole);
      if (!frame) return;
      REQUIRE(reference.allocated_large(first, *frame));
      for (std::uint64_t i = 0; i < 1ULL << setup.large_size; ++i) held.push_back(*frame + i);
    } else if (!frames->empty() && draw == 1) {
      auto const from = reference.free().lower_bound(random() % setup.frames);
      held.push_back(from == reference.free().end() ? *reference.free().begin() : *from);
      frames->occupy(held.back());
      reference.occupied(held.back());
    } else if (!frames->empty()) {
      held.push_back(frames->allocate(page));
      REQUIRE(reference.allocated(page, held.back()));
    }
  }
  void check() const {
    REQUIRE(frames->available() == reference.free().size());
    REQUIRE(frames->available() + held.size() == setup.frames);
    REQUIRE(stat(frames, "shared_allocations") == reference.shared());
    REQUIRE(stat(frames, "large_frames_assigned") == reference.assigned());
    REQUIRE(stat(frames, "large_frames_in_use") == reference.in_use());
  }

  FrameAllocator::Setup setup;
  Policy<FrameAllocator> frames;
  Reference reference;
  std::mt19937_64 random;
  std::vector<std::uint64_t> held;
  std::uint64_t filling = 60;
  std::uint64_t pages = 3 * setup.frames;
};

// The last two thirds of each space's pages are allocated en masse, in whole large frames.
FrameAllocator::Setup setup_of(std::uint64_t frames, std::uint32_t spaces, unsigned size) {
  std::vector<PageRange> ranges;
  for (std::uint32_t space = 0; space < spaces; ++space) {
    auto const whole = whole_pages({page_of(space, frames), 2 * frames}, size);
    if (whole.count != 0) ranges.push_back(whole);
  }
  return {.frames = frames,
          .page_bits = kPageBits,
          .spaces = spaces,
          .large_size = size,
          .large_regions = {size, ranges}};
}

}  // namespace

TEST_CASE("under random use, each frame matches a search by the paper's rules") {
  std::uint64_t seed = 1, shared = 0, kept = 0;
  struct Case {
    std::uint64_t frames;
    std::uint32_t spaces;
    unsigned size;
    int steps;
  };
  for (auto const& c : std::vector<Case>{{61, 3, 2, 300'000},
                                         {32, 2, 3, 150'000},
                                         {7, 3, 1, 150'000},
                                         {9, 2, 0, 50'000},
                                         {200, 5, 3, 200'000},
                                         {1000, 2, 7, 100'000},
                                         {500, 4, 6, 100'000},
                                         {3, 2, 2, 10'000}}) {
    CAPTURE(c.frames);
    CAPTURE(c.size);
    Walk walk(setup_of(c.frames, c.spaces, c.size), seed++);
    for (int i = 0; i < c.steps; ++i) {
      walk.step();
      walk.check();
    }
    shared += walk.reference.shared();
    kept += walk.reference.kept();
  }
  CHECK(shared > 10'000);
  CHECK(kept > 5'000);
}

TEST_CASE("an allocator saved and loaded returns the same frames as the original") {
  auto const setup = setup_of(61, 3, 2);
  Walk walk(setup, 99);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 150; ++i) walk.step();
    auto loaded = choice().make(setup);
    test::copy_state(walk.frames, loaded);
    REQUIRE(test::hash_of(loaded) == test::hash_of(walk.frames));
    Walk other(walk.setup, 0);
    other.frames = std::move(loaded);
    other.reference = walk.reference;
    other.random = walk.random;
    other.held = walk.held;
    other.filling = walk.filling;
    for (int i = 0; i < 150; ++i) {
      walk.step();
      other.step();
      REQUIRE(walk.held == other.held);
    }
    other.check();
    REQUIRE(test::hash_of(other.frames) == test::hash_of(walk.frames));
  }
}

}  // namespace contiguity_conserving_test
