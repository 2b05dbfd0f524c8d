// SPDX-License-Identifier: Apache-2.0
// Memory that is occupied from the start by data of no application.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "farfault/paging/frame_allocator.hpp"
#include "policies.hpp"

namespace occupied_frames_test {

using namespace farfault;

TEST_CASE("on_demand skips occupied frames, and finds large frames between them") {
  PolicyChoice<FrameAllocator> const on_demand("on_demand");
  auto frames = on_demand.make({16});
  for (auto const f : {9U, 0U, 2U}) frames->occupy(f);
  CHECK(frames->available() == 13);
  CHECK(frames->allocate(70) == 1);
  CHECK(frames->allocate_large(100, 2) == 4);
  CHECK(frames->allocate_large(100, 2) == 12);  // frame 9 is occupied
  CHECK(frames->allocate_large(100, 2) == std::nullopt);
  frames->release(9);
  CHECK(frames->allocate_large(100, 2) == 8);
  CHECK(frames->allocate(71) == 3);
  CHECK(frames->empty());
  frames->release(2);
  frames->release(3);
  frames->occupy(2);
  CHECK(frames->allocate(72) == 3);
}

TEST_CASE("on_demand returns a frame that was occupied ahead of its turn as an unused one") {
  PolicyChoice<FrameAllocator> const on_demand("on_demand");
  auto frames = on_demand.make({200});
  for (std::uint64_t f = 64; f < 192; ++f) frames->occupy(f);
  frames->release(100);
  CHECK(frames->available() == 73);
  CHECK(frames->allocate_large(100, 6) == 0);
  CHECK(frames->allocate_large(100, 6) == std::nullopt);
  CHECK(frames->allocate(1) == 100);
  CHECK(frames->allocate(2) == 192);
  for (std::uint64_t f = 64; f < 128; ++f) frames->release(f);
  CHECK(frames->allocate_large(100, 6) == 64);
}

TEST_CASE("on_demand with occupied frames: no frame has two owners, and large ones are rejected correctly") {
  PolicyChoice<FrameAllocator> const on_demand("on_demand");
  std::mt19937_64 random(11);
  std::uint64_t large = 0, refused = 0;
  for (std::uint64_t round = 0; round < 400; ++round) {
    auto const limit = 60 + random() % 100;
    auto frames = on_demand.make({limit});
    std::set<std::uint64_t> free;
    for (std::uint64_t f = 0; f < limit; ++f) free.insert(f);
    for (int i = 0; i < 300; ++i) {
      REQUIRE(frames->available() == free.size());
      auto const f = random() % limit;
      auto const draw = i < 40 ? 7 : random() % 8;
      if (draw < 3) {
        if (free.insert(f).second) frames->release(f);
      } else if (draw < 5) {
        if (free.empty()) continue;
        REQUIRE(free.erase(frames->allocate(1)) == 1);
      } else if (draw < 7) {
        auto const size = static_cast<unsigned>(1 + random() % 2);
        auto const n = std::uint64_t{1} << size;
        auto const all_free = [&](std::uint64_t first) {
          for (auto g = first; g < first + n; ++g)
            if (!free.contains(g)) return false;
          return true;
        };
        bool there_is = false;
        for (std::uint64_t first = 0; first + n <= limit; first += n) there_is = there_is || all_free(first);
        auto const first = frames->allocate_large(1, size);
        REQUIRE(first.has_value() == there_is);
        ++(first ? large : refused);
        if (!first) continue;
        REQUIRE(all_free(*first));
        REQUIRE(*first % n == 0);
        for (auto g = *first; g < *first + n; ++g) free.erase(g);
      } else if (free.erase(f) == 1) {
        frames->occupy(f);
      }
    }
  }
  CHECK(large > 1000);
  CHECK(refused > 1000);
}

}  // namespace occupied_frames_test
