// SPDX-License-Identifier: Apache-2.0
// Maps the offsets of a device's memory to its L2 slices: blocks of `interleave` bytes rotate over the
// slices, or follow a hash. Any number of slices and any block size; if both are powers of two and there is
// no hash, no division is needed.
//
// With parts (partitions of a GPU, each with an equal share of the slices, in order): larger blocks rotate
// over the parts, and the blocks of one part over its slices.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "farfault/parts/address_hash.hpp"

namespace farfault {

// Blocks of `block` bytes of a memory rotate over `count` parts of it.
struct MemoryParts {
  std::uint32_t count = 1;
  std::uint64_t block = 1;

  std::uint32_t part_of(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(offset / block % count);
  }
  // Number of the first `total` bytes that are in a part.
  std::uint64_t bytes_of(std::uint64_t part, std::uint64_t total) const {
    auto const before = part * block, rest = total % (block * count);
    return total / (block * count) * block + (rest < before ? 0 : std::min(rest - before, block));
  }
  // Address within the part.
  std::uint64_t local(std::uint64_t offset) const { return offset / block / count * block + offset % block; }
  // The inverse of part_of() and local().
  std::uint64_t offset(std::uint32_t part, std::uint64_t local_address) const {
    return (local_address / block * count + part) * block + local_address % block;
  }
};

class AddressMap {
 public:
  AddressMap() = default;
  // `hash`: of the slices of one part; outlives the map; null: none. `parts`: their number divides `slices`.
  AddressMap(std::uint32_t slices, std::uint64_t interleave, BankHash const* hash = nullptr,
             MemoryParts parts = {})
      : hash_(hash),
        parts_(parts),
        slices_(slices / parts.count),
        interleave_(interleave),
        slice_bits_(static_cast<std::uint32_t>(std::countr_zero(slices_))),
        block_bits_(static_cast<std::uint32_t>(std::countr_zero(interleave))),
        shifts_(std::has_single_bit(slices_) && std::has_single_bit(interleave)),
        powers_(hash == nullptr && shifts_ && parts.count == 1) {}

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
  bool has_parts() const { return parts_.count > 1; }
  std::uint64_t in_turns(std::uint64_t offset) const {
    return hash_ == nullptr ? offset : hash_->in_turns(offset);
  }
  // The same for other numbers, with a hash or with parts, out of line: the callers stay small.
  [[gnu::noinline]] std::uint32_t divided_slice(std::uint64_t offset) const {
    if (has_parts()) return parts_.part_of(offset) * slices_ + slice_of_part(parts_.local(offset));
    return slice_of_part(offset);
  }
  std::uint32_t slice_of_part(std::uint64_t offset) const {
    auto const at = in_turns(offset);
    if (shifts_) return static_cast<std::uint32_t>(at >> block_bits_) & (slices_ - 1);
    return static_cast<std::uint32_t>(at / interleave_ % slices_);
  }
  [[gnu::noinline]] std::uint64_t divided_local(std::uint64_t offset) const {
    auto const at = in_turns(has_parts() ? parts_.local(offset) : offset);
    return at / interleave_ / slices_ * interleave_ + at % interleave_;
  }
  [[gnu::noinline]] std::uint64_t divided_offset(std::uint32_t slice, std::uint64_t local_address) const {
    auto const at =
        (local_address / interleave_ * slices_ + slice % slices_) * interleave_ + local_address % interleave_;
    auto const offset = hash_ == nullptr ? at : hash_->offset(at);
    return has_parts() ? parts_.offset(slice / slices_, offset) : offset;
  }

  BankHash const* hash_ = nullptr;
  MemoryParts parts_;
  std::uint32_t slices_ = 1;  // of a part
  std::uint64_t interleave_ = 1;
  std::uint32_t slice_bits_ = 0;
  std::uint32_t block_bits_ = 0;
  bool shifts_ = true;  // both numbers are powers of two
  bool powers_ = true;  // without a hash or parts
};

}  // namespace farfault
