// How the memory of a device is spread over its L2 slices and DRAM channels, and which of them are connected.
//
// Blocks of `interleave` bytes rotate over the slices. Where there are fewer channels than slices,
// neighbouring slices share one; where there are more, a slice's blocks rotate over its channels. All counts
// are powers of two. Slices and channels fall into `banks()` groups of which none reaches another's channels.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "farfault/components/parts/address_map.hpp"

namespace farfault {

struct MemoryLayout {
  std::uint32_t slices = 1;
  std::uint32_t channels = 1;
  std::uint64_t interleave = 256;

  AddressMap slice_map() const { return {slices, interleave}; }
  AddressMap channel_map() const { return {channels, interleave * slices_a_channel()}; }

  std::uint32_t banks() const { return std::min(slices, channels); }
  std::uint32_t bank_of_slice(std::uint32_t slice) const { return slice / slices_a_channel(); }
  std::uint32_t bank_of_channel(std::uint32_t channel) const { return channel & (banks() - 1); }

  // A slice reaches the channels bank + k x banks() and counts them by k: k is channel >> bank_bits().
  std::uint32_t channels_a_slice() const { return channels / banks(); }
  unsigned bank_bits() const { return static_cast<unsigned>(std::countr_zero(banks())); }
  // A channel numbers its slices from 0.
  std::uint32_t slices_a_channel() const { return slices / banks(); }
  std::uint32_t number_at_channel(std::uint32_t slice) const { return slice & (slices_a_channel() - 1); }
};

}  // namespace farfault
