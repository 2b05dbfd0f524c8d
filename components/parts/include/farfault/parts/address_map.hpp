// SPDX-License-Identifier: Apache-2.0
// Maps the offsets of a device's memory to its L2 slices: blocks of `interleave` bytes rotate over the
// slices, or follow a hash. Any number of slices and any block size; if both are powers of two and there is
// no hash, no division is needed.
#pragma once

#include <bit>
#include <cstdint>

#include "farfault/parts/address_hash.hpp"

namespace farfault {

class AddressMap {
 public:
  AddressMap() = default;
  // `hash`: outlives the map; null: none.
  AddressMap(std::uint32_t slices, std::uint64_t interleave, BankHash const* hash = nullptr)
      : hash_(hash),
        slices_(slices),
        interleave_(interleave),
        slice_bits_(static_cast<std::uint32_t>(std::countr_zero(slices))),
        block_bits_(static_cast<std::uint32_t>(std::countr_zero(interleave))),
        shifts_(std::has_single_bit(slices) && std::has_single_bit(interleave)),
        powers_(hash == nullptr && shifts_) {}

  std::uint32_t slice(std::uint64_t offset) const {
    if (!powers_) [[unlikely]]
      return divided_slice(offset);
    return static_cast<std::uint32_t>(offset >> block_bits_) & ((1U << slice_bits_) - 1);
  }
  // Address within the slice: the offset without the bits that select the slice.
  std::uint64_t local(std::uint64_t offset) const {
    if (!powers_) [[unlikely]]
      return divided_local(offset);
    auto const low = offset & ((std::uint64_t{1} << block_bits_) - 1);
    return ((offset >> (block_bits_ + slice_bits_)) << block_bits_) | low;
  }
  // The inverse of slice() and local().
  std::uint64_t offset(std::uint32_t slice, std::uint64_t local_address) const {
    if (!powers_) [[unlikely]]
      return divided_offset(slice, local_address);
    auto const low = local_address & ((std::uint64_t{1} << block_bits_) - 1);
    return (((local_address >> block_bits_) << slice_bits_ | slice) << block_bits_) | low;
  }

 private:
  std::uint64_t in_turns(std::uint64_t offset) const {
    return hash_ == nullptr ? offset : hash_->in_turns(offset);
  }
  // The same for other numbers and with a hash, out of line: the callers stay small.
  [[gnu::noinline]] std::uint32_t divided_slice(std::uint64_t offset) const {
    auto const at = in_turns(offset);
    if (shifts_) return static_cast<std::uint32_t>(at >> block_bits_) & (slices_ - 1);
    return static_cast<std::uint32_t>(at / interleave_ % slices_);
  }
  [[gnu::noinline]] std::uint64_t divided_local(std::uint64_t offset) const {
    auto const at = in_turns(offset);
    return at / interleave_ / slices_ * interleave_ + at % interleave_;
  }
  [[gnu::noinline]] std::uint64_t divided_offset(std::uint32_t slice, std::uint64_t local_address) const {
    auto const at =
        (local_address / interleave_ * slices_ + slice) * interleave_ + local_address % interleave_;
    return hash_ == nullptr ? at : hash_->offset(at);
  }

  BankHash const* hash_ = nullptr;
  std::uint32_t slices_ = 1;
  std::uint64_t interleave_ = 1;
  std::uint32_t slice_bits_ = 0;
  std::uint32_t block_bits_ = 0;
  bool shifts_ = true;  // both numbers are powers of two
  bool powers_ = true;  // without a hash
};

}  // namespace farfault
