// SPDX-License-Identifier: Apache-2.0
// Latency breakdown of an access: its time in each stage beyond the requester, returned with the response.
//
// - Picoseconds, saturated at kLongest (4.29 ms).
// - A requester subtracts the stages from the time that it waited. The remainder is its own time or, if a
//   stage is saturated (at_limit()), belongs to that stage.
// - A requester merged into an outstanding request waited for the end of it only: last_of(waited) keeps the
//   last `waited` of the stages, so that their sum never exceeds the time waited.
// - Between devices a duration takes 16 bits (pack_duration), with a relative error below 0.1%.
// - Cost: a few additions per response.
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

// 11 bits of mantissa and a shift; rounds down; exact below 2,048 ps.
constexpr std::uint16_t pack_duration(std::uint32_t ps) {
  auto const shift = std::max(static_cast<unsigned>(std::bit_width(ps)), 11U) - 11U;
  return static_cast<std::uint16_t>(shift << 11U | ps >> shift);
}
constexpr std::uint32_t unpack_duration(std::uint16_t packed) {
  return static_cast<std::uint32_t>(packed & 0x7ffU) << (packed >> 11U);
}

// Value of a saturated stage, also after pack_duration.
constexpr std::uint32_t kLongest = unpack_duration(pack_duration(std::numeric_limits<std::uint32_t>::max()));

// The time waited in ps; 0 if negative.
constexpr std::uint64_t time_left(Duration waited) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(waited.count(), 0));
}
// min(stage, left), subtracted from `left`.
constexpr std::uint32_t take_up_to(std::uint64_t& left, std::uint32_t stage) {
  auto const taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(stage, left));
  left -= taken;
  return taken;
}

// Stages of a memory access. `device`: time at another device than the SM's, from the arrival of the request
// to the departure of its response; that device's queue and DRAM are included and not separated.
struct MemoryStages {
  std::uint32_t dram_queue = 0;
  std::uint32_t dram = 0;
  std::uint32_t device = 0;

  MemoryStages last_of(Duration waited) const {
    if (sum() <= waited) return *this;  // the common case: no merged request
    auto left = time_left(waited);
    MemoryStages cut;
    cut.device = take_up_to(left, device);
    cut.dram = take_up_to(left, dram);
    cut.dram_queue = take_up_to(left, dram_queue);
    return cut;
  }
  Duration sum() const { return Duration{std::int64_t{dram_queue} + dram + device}; }
  // The saturated stage that the remainder belongs to, or null. `dram` never saturates: the parameters bound
  // an access to less than 1 ms.
  std::uint32_t MemoryStages::*at_limit() const {
    if (device >= kLongest) return &MemoryStages::device;
    return dram_queue >= kLongest ? &MemoryStages::dram_queue : nullptr;
  }
  friend bool operator==(MemoryStages const&, MemoryStages const&) = default;
};

// Stages of a translation beyond the L2 TLB: wait for a GMMU walker, its walk, links to the IOMMU and back,
// and the IOMMU, fault service included if the translation has FoundBy::fault. They are in time order, except
// that all link time counts as before the IOMMU.
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
  // As MemoryStages::at_limit(). A saturated `link` is not reported: its excess counts as the requester's.
  std::uint32_t TranslationStages::*at_limit() const {
    if (iommu >= kLongest) return &TranslationStages::iommu;
    if (walk >= kLongest) return &TranslationStages::walk;
    return walk_queue >= kLongest ? &TranslationStages::walk_queue : nullptr;
  }
  friend bool operator==(TranslationStages const&, TranslationStages const&) = default;
};

}  // namespace farfault
