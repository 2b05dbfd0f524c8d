// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fragmentation.hpp"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "farfault/parts/split_mix.hpp"

namespace farfault {

namespace {

// Draws n elements into the first n positions.
void draw(std::vector<std::uint64_t>& all, std::uint64_t n, SplitMix& draws) {
  for (std::uint64_t i = 0; i < n; ++i) std::swap(all[i], all[i + draws.below(all.size() - i)]);
}

std::uint64_t share(double of, std::uint64_t all) {
  return static_cast<std::uint64_t>(std::llround(of * static_cast<double>(all)));
}

}  // namespace

std::uint64_t Fragmentation::frames(FrameAllocator::Setup const& setup) const {
  return share(index, setup.frames >> setup.large_size) *
         share(occupancy, std::uint64_t{1} << setup.large_size);
}

void Fragmentation::occupy(FrameAllocator& frames, FrameAllocator::Setup const& setup,
                           std::uint32_t gpu) const {
  if (!any()) return;
  SplitMix seeds(seed + gpu);
  SplitMix draws(seeds.next());
  std::vector<std::uint64_t> large(setup.frames >> setup.large_size);
  std::iota(large.begin(), large.end(), std::uint64_t{0});
  auto const fragmented = share(index, large.size());
  draw(large, fragmented, draws);
  std::vector<std::uint64_t> places(std::uint64_t{1} << setup.large_size);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  auto const taken = share(occupancy, places.size());
  for (std::uint64_t i = 0; i < fragmented; ++i) {
    draw(places, taken, draws);
    for (std::uint64_t p = 0; p < taken; ++p) frames.occupy((large[i] << setup.large_size) + places[p]);
  }
}

}  // namespace farfault
