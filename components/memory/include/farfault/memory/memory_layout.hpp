// SPDX-License-Identifier: Apache-2.0
// Layout of a device's memory over its L2 slices and DRAM channels, and the connections between these.
//
// - Blocks of `interleave` bytes rotate over all slices, or follow a hash: an address has one home slice.
// - With fewer channels than slices, neighbouring slices share a channel; with more, the blocks of a slice
//   rotate over its channels.
// - copies: number of equal groups of slices (partitions of an L2 cache that access memory directly). A slice
//   of each other group may hold a copy of a line, and each group reaches all channels.
// - banks(): number of disjoint groups of slices and channels (not DRAM banks). A slice reaches only the
//   channels of its group.
// - parts: partitions of the memory (address_map.hpp). Each has an equal share of the slices and channels.
// - Requires (config_rules.cpp checks it): slices divide channels or vice versa; copies divide slices; parts
//   divide slices and channels, which are then not more than slices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "farfault/parts/address_map.hpp"

namespace farfault {

struct MemoryLayout {
  std::uint32_t slices = 1;
  std::uint32_t channels = 1;
  std::uint64_t interleave = 256;
  std::uint32_t copies = 1;
  BankHash const* hash = nullptr;  // of blocks over the slices or, if there are more, channels; null: none
  MemoryParts parts{};             // of the memory, each with its slices and channels

  AddressMap slice_map() const { return {slices, interleave, hash, parts}; }
  AddressMap channel_map() const { return {channels, interleave * (slices / joint()), hash, parts}; }
  // The hash, if `mask` is one.
  std::optional<BankHash> hash_of(AddressHash::Mask mask) const {
    if (mask == nullptr) return std::nullopt;
    return BankHash(mask, std::max(slices, channels) / parts.count, interleave);
  }

  std::uint32_t banks() const { return joint() % copies == 0 ? joint() / copies : 1; }
  std::uint32_t bank_of_slice(std::uint32_t slice) const {
    return slice % run() / (slices / joint()) % banks();
  }
  std::uint32_t bank_of_channel(std::uint32_t channel) const { return channel % banks(); }

  // A slice reaches the channels bank + k x banks() and numbers them by k = channel / banks().
  std::uint32_t channels_per_slice() const { return channels / banks(); }
  // A channel numbers its slices from 0.
  std::uint32_t slices_per_channel() const { return slices / banks(); }
  std::uint32_t number_at_channel(std::uint32_t slice) const {
    auto const alike = run() / banks();
    return slice / run() * alike + slice % alike;
  }

 private:
  std::uint32_t joint() const { return std::min(slices, channels); }
  std::uint32_t run() const { return slices / copies; }  // slices of one copy
};

}  // namespace farfault
