// SPDX-License-Identifier: Apache-2.0
// Frame allocators that differ in the order of allocated frames.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "choices.hpp"
#include "farfault/paging/frame_allocator.hpp"
#include "policies.hpp"

namespace frame_orders_test {

using namespace farfault;

namespace {

constexpr std::uint64_t kSpace = std::uint64_t{1} << 36;  // first page of the second address space

std::vector<std::uint64_t> frames_of(FrameAllocator& frames, std::size_t n, std::uint64_t page = 0) {
  std::vector<std::uint64_t> got;
  for (std::size_t i = 0; i < n; ++i) got.push_back(frames.allocate(page));
  return got;
}
using Frames = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE(
    "every frame allocator returns each free frame once, for any occupied frames, and reuses freed frames") {
  std::mt19937_64 random(5);
  for (auto const& name : test::names_of_known<FrameAllocator>()) {
    for (std::uint64_t const limit : {1U, 2U, 7U, 64U, 97U, 1000U}) {
      CAPTURE(name);
      CAPTURE(limit);
      PolicyChoice<FrameAllocator> const choice(name);
      FrameAllocator::Setup const setup{limit, 12, 3, 2};
      auto frames = choice.make(setup);
      std::set<std::uint64_t> free;
      for (std::uint64_t f = 0; f < limit; ++f) free.insert(f);
      for (int i = 0; i < 3000; ++i) {
        REQUIRE(frames->available() == free.size());
        auto const f = random() % limit;
        auto const draw = i < 20 ? 4 : random() % 5;
        if (draw < 2) {
          if (free.insert(f).second) frames->release(f);
        } else if (draw < 4) {
          if (!free.empty()) REQUIRE(free.erase(frames->allocate(random() % 3 * kSpace + f)) == 1);
        } else if (free.erase(f) == 1) {
          frames->occupy(f);
        }
        if (i != 1500) continue;
        auto copy = choice.make(setup);
        test::copy_state(frames, copy);
        REQUIRE(test::hash_of(copy) == test::hash_of(frames));
        std::swap(copy, frames);
      }
      while (!frames->empty()) REQUIRE(free.erase(frames->allocate(0)) == 1);
      CHECK(free.empty());
    }
  }
}

TEST_CASE("every order returns freed frames first, the latest first") {
  for (std::string const name : {"interleaved", "on_demand", "per_application", "random"}) {
    CAPTURE(name);
    PolicyChoice<FrameAllocator> const choice(name);
    auto frames = choice.make({100});
    auto const got = frames_of(*frames, 4);
    for (std::size_t const i : {0U, 3U, 1U}) frames->release(got[i]);
    CHECK(frames_of(*frames, 3) == Frames{got[1], got[3], got[0]});
  }
}

TEST_CASE("interleaved returns frames of each part of the memory round-robin, and the remainder last") {
  auto const choice = test::chosen<FrameAllocator>("interleaved", {{"parts", "3"}});
  auto frames = choice.make({11});
  CHECK(frames_of(*frames, 7) == Frames{0, 3, 6, 1, 4, 7, 2});
  frames->release(3);
  frames->occupy(8);
  CHECK(frames_of(*frames, 4) == Frames{3, 5, 9, 10});
  CHECK(frames->empty());
  auto few = choice.make({2});  // fewer frames than parts
  CHECK(frames_of(*few, 2) == Frames{0, 1});
}

TEST_CASE("random returns frames in an order drawn from its seed") {
  auto const of_seed = [](std::string const& seed) {
    auto const choice = test::chosen<FrameAllocator>("random", {{"seed", seed}});
    auto frames = choice.make({1 << 16});
    return frames_of(*frames, 4096);
  };
  auto const one = of_seed("1");
  CHECK(one == of_seed("1"));
  CHECK(one != of_seed("2"));
  // No more consecutive frames than by chance, and frames from the whole memory.
  std::size_t follow = 0, below_half = 0;
  for (std::size_t i = 1; i < one.size(); ++i) follow += one[i] == one[i - 1] + 1 ? 1 : 0;
  for (auto const f : one) below_half += f < 1 << 15 ? 1 : 0;
  CHECK(follow < 4);
  CHECK(below_half > 1900);
  CHECK(below_half < 2200);
}

TEST_CASE(
    "per application: each address space has its part of the memory and takes from the next when it is "
    "full") {
  PolicyChoice<FrameAllocator> const choice("per_application");
  auto frames = choice.make({11, 12, 3});
  CHECK(frames_of(*frames, 2) == Frames{0, 1});
  CHECK(frames_of(*frames, 2, kSpace) == Frames{3, 4});
  CHECK(frames_of(*frames, 1, 2 * kSpace + 9) == Frames{6});
  CHECK(frames_of(*frames, 2) == Frames{2, 5});
  frames->release(1);
  frames->release(6);
  CHECK(frames_of(*frames, 1) == Frames{1});
  CHECK(frames_of(*frames, 5, kSpace) == Frames{6, 7, 8, 9, 10});
  CHECK(frames->empty());
}

TEST_CASE("by_partition: each buffer has equal contiguous parts, and the blocks of a part rotate in memory") {
  FrameAllocator::Setup setup{.frames = 64};
  setup.parts = {4, 2};  // frames 0, 1, 8, 9, ... are in the first part
  setup.buffers = {{100, 9}, {40, 4}};
  auto frames = PolicyChoice<FrameAllocator>("by_partition").make(setup);
  Frames got;
  for (std::uint64_t page = 100; page < 109; ++page) got.push_back(frames->allocate(page));
  CHECK(got == Frames{0, 1, 8, 2, 3, 10, 4, 5, 12});  // three pages in each, none left for the last one
  got.clear();
  for (std::uint64_t page = 40; page < 44; ++page) got.push_back(frames->allocate(page));
  CHECK(got == Frames{9, 11, 13, 6});
  CHECK(frames->allocate(7) == 16);  // in no buffer: the first part
  frames->release(9);
  CHECK(frames->allocate(100) == 9);
  frames->release(11);
  CHECK(frames->allocate(100) == 17);
  CHECK(frames->allocate(104) == 11);  // of its part
  CHECK(frames->available() == 64 - 15);
}

TEST_CASE("by_partition: a page of a full part goes to the next one") {
  FrameAllocator::Setup setup{.frames = 10};
  setup.parts = {4, 2};  // four frames in the first part, two in each other one
  setup.buffers = {{0, 10}};
  auto frames = PolicyChoice<FrameAllocator>("by_partition").make(setup);
  CHECK(frames_of(*frames, 10) == Frames{0, 1, 8, 9, 2, 3, 4, 5, 6, 7});
  CHECK(frames->empty());
}

}  // namespace frame_orders_test
