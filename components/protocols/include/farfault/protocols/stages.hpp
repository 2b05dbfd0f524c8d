// SPDX-License-Identifier: Apache-2.0
// Where the time of an access went: what a response says of the stages that it comes from, so that whoever
// waited for it can tell its own time from theirs.
//
// A response carries for how long it was in each stage, in picoseconds; of what took longer than kLongest,
// 4.29 ms, it says that. Whoever waited for all of it knows what is left: that was its own, or where a stage
// is kLongest, of that stage. Whoever joined a request that was under way has waited for the last part of it
// alone: last_of() cuts the stages down to that, from the end backwards. So the stages never add up to more
// than somebody has waited, and what is left is never lost.
//
// Cost: a few additions for each response. Between devices a duration travels as 16 bits (pack_duration),
// with an error below a thousandth of it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "farfault/engine/time.hpp"

namespace farfault {

constexpr std::uint32_t stage_time(Duration d) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(d.count(), 0, std::numeric_limits<std::uint32_t>::max()));
}

// 11 bits of a number and by how many bits it is shifted; rounded down, exact below 2,048 ps.
constexpr std::uint16_t pack_duration(std::uint32_t ps) {
  auto const shift = std::max(static_cast<unsigned>(std::bit_width(ps)), 11U) - 11U;
  return static_cast<std::uint16_t>(shift << 11U | ps >> shift);
}
constexpr std::uint32_t unpack_duration(std::uint16_t packed) {
  return static_cast<std::uint32_t>(packed & 0x7ffU) << (packed >> 11U);
}

// A stage from here on took so long or longer; also behind pack_duration.
constexpr std::uint32_t kLongest = unpack_duration(pack_duration(std::numeric_limits<std::uint32_t>::max()));

constexpr std::uint64_t time_left(Duration waited) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(waited.count(), 0));
}
// As much of a stage as there is time left, which is taken from that.
constexpr std::uint32_t take_up_to(std::uint64_t& left, std::uint32_t stage) {
  auto const taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(stage, left));
  left -= taken;
  return taken;
}

// Of a memory access. `device`: at another device than that of the SM, from where it came in to where its
// response left; its queue and DRAM are in it then, and not told apart.
struct MemoryStages {
  std::uint32_t dram_queue = 0;
  std::uint32_t dram = 0;
  std::uint32_t device = 0;

  MemoryStages last_of(Duration waited) const {
    if (sum() <= waited) return *this;  // mostly nobody has joined
    auto left = time_left(waited);
    MemoryStages cut;
    cut.device = take_up_to(left, device);
    cut.dram = take_up_to(left, dram);
    cut.dram_queue = take_up_to(left, dram_queue);
    return cut;
  }
  Duration sum() const { return Duration{std::int64_t{dram_queue} + dram + device}; }
  // The stage of which a response can say no more than kLongest, if there is one: what is left is its.
  std::uint32_t MemoryStages::*at_limit() const {
    if (device >= kLongest) return &MemoryStages::device;
    return dram_queue >= kLongest ? &MemoryStages::dram_queue : nullptr;
  }
  friend bool operator==(MemoryStages const&, MemoryStages const&) = default;
};

// Of a translation, behind the L2 TLB: until a walker of the GMMU took it, the walk there, the links to the
// IOMMU and back, and the IOMMU. In the order of time, but for the links, which count as before the IOMMU.
struct TranslationStages {
  std::uint32_t walk_queue = 0;
  std::uint32_t walk = 0;
  std::uint32_t link = 0;
  std::uint32_t iommu = 0;

  TranslationStages last_of(Duration waited) const {
    if (sum() <= waited) return *this;
    auto left = time_left(waited);
    TranslationStages cut;
    cut.iommu = take_up_to(left, iommu);
    cut.link = take_up_to(left, link);
    cut.walk = take_up_to(left, walk);
    cut.walk_queue = take_up_to(left, walk_queue);
    return cut;
  }
  Duration sum() const { return Duration{std::int64_t{walk_queue} + walk + link + iommu}; }
  // As that of MemoryStages.
  std::uint32_t TranslationStages::*at_limit() const {
    if (iommu >= kLongest) return &TranslationStages::iommu;
    if (walk >= kLongest) return &TranslationStages::walk;
    return walk_queue >= kLongest ? &TranslationStages::walk_queue : nullptr;
  }
  friend bool operator==(TranslationStages const&, TranslationStages const&) = default;
};

}  // namespace farfault
