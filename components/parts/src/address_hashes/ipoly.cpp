// SPDX-License-Identifier: Apache-2.0
// Pseudo-randomly interleaved memory (Rau, ISCA 1991): the address of a block, as a polynomial over bits,
// modulo an irreducible polynomial of the degree of a bank's number. Accel-Sim (gpgpu-sim/hashing.cc) has the
// same polynomials for 16, 32 and 64 banks, but uses only 13 to 15 bits above a bank's number.
#include <array>

#include "farfault/parts/address_hash.hpp"

namespace farfault::address_hashes {

namespace {

// By degree: the irreducible polynomial with the smallest number, other than x, modulo which nothing changes.
constexpr std::array<std::uint64_t, 13> kPolynomials{1,   3,   7,   11,   19,   37,  67,
                                                     131, 283, 515, 1033, 2053, 4105};

std::uint64_t ipoly_mask(unsigned bit, unsigned bits) {
  auto const top = std::uint64_t{1} << bits;
  std::uint64_t power = top ^ kPolynomials.at(bits);  // of x, modulo the polynomial: that of row bit 0
  std::uint64_t mask = 0;
  for (unsigned row_bit = 0; row_bit < 64; ++row_bit) {
    mask |= (power >> bit & 1) << row_bit;
    power <<= 1;
    if ((power & top) != 0) power ^= kPolynomials.at(bits);
  }
  return mask;
}

}  // namespace

void ipoly(PolicyList<AddressHash>& list) {
  list.add("ipoly", "remainder of the address modulo an irreducible polynomial (Rau 1991)",
           {.mask = &ipoly_mask});
}

}  // namespace farfault::address_hashes
