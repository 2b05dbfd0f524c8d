// SPDX-License-Identifier: Apache-2.0
// The exclusive or of the groups of bits above a bank's number: "xor", which is a keyword of C++.
#include "farfault/parts/address_hash.hpp"

namespace farfault::address_hashes {

namespace {

std::uint64_t xor_mask(unsigned bit, unsigned bits) {
  std::uint64_t mask = 0;
  for (auto b = bit; b < 64; b += bits) mask |= std::uint64_t{1} << b;
  return mask;
}

}  // namespace

void xor_groups(PolicyList<AddressHash>& list) {
  list.add("xor", "exclusive or of all groups of address bits as wide as a bank's number",
           {.mask = &xor_mask});
}

}  // namespace farfault::address_hashes
