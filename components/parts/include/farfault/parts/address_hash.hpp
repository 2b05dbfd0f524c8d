// SPDX-License-Identifier: Apache-2.0
// Hash of addresses over banks: which bank of an array has a block of memory. It has facts only.
//
// - Blocks form rows of one block per bank. A hash changes the order of the blocks in a row by the row's
//   number, so each bank still has one block of each row.
// - mask(bit, bits): the bits of the row's number whose parity changes bit `bit` of a bank's number of `bits`
//   bits. All hashes in use are of this kind: linear over bits.
// - With a number of banks that is not a power of two, the parities form a number by which the row is rotated
//   (assumed: the hashes of such GPUs are not published).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class AddressHash {
 public:
  using Interface = AddressHash;
  struct Setup {};
  using Mask = std::uint64_t (*)(unsigned bit, unsigned bits);
  struct Facts {
    Needed<Mask> mask;
  };
  static PolicyList<AddressHash> known();

  virtual ~AddressHash() = default;
};

extern template class PolicyChoice<AddressHash>;

// A hash of the blocks of one memory over its banks.
class BankHash {
 public:
  // `block`: bytes, a power of two.
  BankHash(AddressHash::Mask mask, std::uint32_t banks, std::uint64_t block)
      : banks_(banks),
        bits_(static_cast<unsigned>(std::bit_width(banks - 1))),
        block_bits_(static_cast<unsigned>(std::countr_zero(block))),
        power_(std::has_single_bit(banks)) {
    for (unsigned bit = 0; bit < bits_; ++bit) masks_[bit] = mask(bit, bits_);
  }

  // The offset of a byte if blocks took turns over the banks.
  std::uint64_t in_turns(std::uint64_t offset) const { return moved(offset, false); }
  // The inverse.
  std::uint64_t offset(std::uint64_t in_turns) const { return moved(in_turns, true); }

 private:
  std::uint64_t hash_of(std::uint64_t row) const {
    std::uint64_t hash = 0;
    for (unsigned bit = 0; bit < bits_; ++bit)
      hash |= static_cast<std::uint64_t>(__builtin_parityll(row & masks_[bit])) << bit;
    return hash;
  }
  std::uint64_t moved(std::uint64_t offset, bool back) const {
    auto const block = offset >> block_bits_;
    if (power_) return offset ^ hash_of(block >> bits_) << block_bits_;
    auto const row = block / banks_;
    auto const place = block - row * banks_;
    auto const hash = hash_of(row);
    auto const bank = (place + (back ? 2 * std::uint64_t{banks_} - hash : hash)) % banks_;
    auto const low = offset & ((std::uint64_t{1} << block_bits_) - 1);
    return (row * banks_ + bank) << block_bits_ | low;
  }

  std::array<std::uint64_t, 32> masks_{};
  std::uint32_t banks_;
  unsigned bits_;
  unsigned block_bits_;
  bool power_;  // banks_ is a power of two
};

}  // namespace farfault
