// SPDX-License-Identifier: Apache-2.0
// Maps the offsets of a device's memory to its L2 slices: blocks of `interleave` bytes rotate over the
// slices. Any number of slices and any block size; if both are powers of two, no division is needed.
#pragma once

#include <bit>
#include <cstdint>

namespace farfault {

class AddressMap {
 public:
  AddressMap() = default;
  AddressMap(std::uint32_t slices, std::uint64_t interleave)
      : slices_(slices),
        interleave_(interleave),
        slice_bits_(static_cast<std::uint32_t>(std::countr_zero(slices))),
        block_bits_(static_cast<std::uint32_t>(std::countr_zero(interleave))),
        powers_(std::has_single_bit(slices) && std::has_single_bit(interleave)) {}

  std::uint32_t slice(std::uint64_t offset) const {
    if (!powers_) return static_cast<std::uint32_t>(offset / interleave_ % slices_);
    return static_cast<std::uint32_t>(offset >> block_bits_) & ((1U << slice_bits_) - 1);
  }
  // Address within the slice: the offset without the bits that select the slice.
  std::uint64_t local(std::uint64_t offset) const {
    if (!powers_) return offset / interleave_ / slices_ * interleave_ + offset % interleave_;
    auto const low = offset & ((std::uint64_t{1} << block_bits_) - 1);
    return ((offset >> (block_bits_ + slice_bits_)) << block_bits_) | low;
  }
  // The inverse of slice() and local().
  std::uint64_t offset(std::uint32_t slice, std::uint64_t local_address) const {
    if (!powers_)
      return (local_address / interleave_ * slices_ + slice) * interleave_ + local_address % interleave_;
    auto const low = local_address & ((std::uint64_t{1} << block_bits_) - 1);
    return (((local_address >> block_bits_) << slice_bits_ | slice) << block_bits_) | low;
  }

 private:
  std::uint32_t slices_ = 1;
  std::uint64_t interleave_ = 1;
  std::uint32_t slice_bits_ = 0;
  std::uint32_t block_bits_ = 0;
  bool powers_ = true;
};

}  // namespace farfault
