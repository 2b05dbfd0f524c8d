// SPDX-License-Identifier: Apache-2.0
// How the memory of a device is spread over its L2 slices and DRAM channels, and which of them are connected.
//
// Blocks of `interleave` bytes rotate over the slices: an address has one home slice. Where there are fewer
// channels than slices, neighbouring slices share one; where there are more, a slice's blocks rotate over its
// channels. Of `copies` equal runs of slices, each may hold every address, and reaches all channels (the
// partitions of an L2 cache, where each goes to memory itself). Of slices and channels one divides the other,
// and copies divide slices. Slices and channels fall into `banks()` groups of which none reaches another's
// channels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/parts/address_map.hpp"

namespace farfault {

struct MemoryLayout {
  std::uint32_t slices = 1;
  std::uint32_t channels = 1;
  std::uint64_t interleave = 256;
  std::uint32_t copies = 1;

  AddressMap slice_map() const { return {slices, interleave}; }
  AddressMap channel_map() const { return {channels, interleave * (slices / joint())}; }

  std::uint32_t banks() const { return joint() % copies == 0 ? joint() / copies : 1; }
  std::uint32_t bank_of_slice(std::uint32_t slice) const {
    return slice % run() / (slices / joint()) % banks();
  }
  std::uint32_t bank_of_channel(std::uint32_t channel) const { return channel % banks(); }

  // A slice reaches the channels bank + k x banks() and counts them by k: k is channel / banks().
  std::uint32_t channels_per_slice() const { return channels / banks(); }
  // A channel numbers its slices from 0.
  std::uint32_t slices_per_channel() const { return slices / banks(); }
  std::uint32_t number_at_channel(std::uint32_t slice) const {
    auto const alike = run() / banks();
    return slice / run() * alike + slice % alike;
  }

 private:
  std::uint32_t joint() const { return std::min(slices, channels); }
  std::uint32_t run() const { return slices / copies; }
};

}  // namespace farfault
