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
  // `block`: bytes, a power of two. At most 65,536 banks.
  BankHash(AddressHash::Mask mask, std::uint32_t banks, std::uint64_t block)
      : banks_(banks),
        bits_(static_cast<unsigned>(std::bit_width(banks - 1))),
        block_bits_(static_cast<unsigned>(std::countr_zero(block))),
        power_(std::has_single_bit(banks)) {
    for (unsigned bit = 0; bit < bits_; ++bit)
      for (unsigned digit = 0; digit < of_digit_.size(); ++digit)
        for (std::uint64_t value = 0; value < 16; ++value)
          if (std::popcount(value << 4 * digit & mask(bit, bits_)) % 2 != 0)
            of_digit_[digit][value] = static_cast<std::uint16_t>(of_digit_[digit][value] | 1U << bit);
  }

  // The bank of a block, by the block's number.
  std::uint32_t bank(std::uint64_t block) const {
    return static_cast<std::uint32_t>(power_ ? (block ^ hash_of(block >> bits_)) & (banks_ - 1)
                                             : (block + hash_of(block / banks_)) % banks_);
  }
  // The offset of a byte if blocks took turns over the banks.
  std::uint64_t in_turns(std::uint64_t offset) const { return moved(offset, false); }
  // The inverse.
  std::uint64_t offset(std::uint64_t in_turns) const { return moved(in_turns, true); }

 private:
  // The parities of a row's number: the exclusive or of the parities of its digits.
  std::uint64_t hash_of(std::uint64_t row) const {
    std::uint64_t hash = 0;
    for (auto const* digit = of_digit_.data(); row != 0; row >>= 4, ++digit) hash ^= (*digit)[row & 15];
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

  std::array<std::array<std::uint16_t, 16>, 16> of_digit_{};  // by hexadecimal digit of a row's number
  std::uint32_t banks_;
  unsigned bits_;
  unsigned block_bits_;
  bool power_;  // banks_ is a power of two
};

}  // namespace farfault
