// SPDX-License-Identifier: Apache-2.0
// No hash: neighbouring blocks are in neighbouring banks, and every row is in the same order.
#include "farfault/parts/address_hash.hpp"

namespace farfault::address_hashes {

void turns(PolicyList<AddressHash>& list) {
  list.add("turns", "in turns, without a hash", {.mask = nullptr});
}

}  // namespace farfault::address_hashes
