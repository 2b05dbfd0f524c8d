// SPDX-License-Identifier: Apache-2.0
// Regions of a device's memory that access counters count, and their sub-regions.
//
// - A region has 2^bits bytes and is aligned to them. A region above 64 KiB has 32 sub-regions of equal size,
//   a region of 64 KiB is its only sub-region (NVIDIA's open driver, uvm_gpu_access_counters.c).
#pragma once

#include <cstdint>

namespace farfault {

struct CounterRegions {
  static constexpr unsigned kSmallestBits = 16;
  static constexpr unsigned kSubRegionBits = 5;  // log2 of the sub-regions of a region above 64 KiB

  unsigned bits = 21;  // log2 of a region's bytes

  constexpr std::uint64_t bytes() const { return std::uint64_t{1} << bits; }
  constexpr std::uint64_t number(std::uint64_t offset) const { return offset >> bits; }
  constexpr std::uint64_t first(std::uint64_t number) const { return number << bits; }
  constexpr unsigned sub_region_bits() const {
    return bits > kSmallestBits ? bits - kSubRegionBits : kSmallestBits;
  }
  // Mask with the bit of the sub-region that contains the offset.
  constexpr std::uint32_t sub_region(std::uint64_t offset) const {
    return std::uint32_t{1} << ((offset & (bytes() - 1)) >> sub_region_bits());
  }
};

}  // namespace farfault
