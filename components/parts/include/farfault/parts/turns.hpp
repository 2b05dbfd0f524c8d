// SPDX-License-Identifier: Apache-2.0
// Round robin over clients that take turns, one step each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace farfault {

// Calls serve(client) for clients 0 to n - 1 in cyclic order, beginning with client `turn`, until n calls in
// a row return false. `turn` is then the client after the last one called.
template <class Serve>
void take_turns(std::uint64_t& turn, std::size_t n, Serve&& serve) {
  for (std::size_t in_vain = 0; in_vain < n;) {
    auto const client = static_cast<std::uint32_t>(turn);
    turn = turn + 1 == n ? 0 : turn + 1;
    in_vain = serve(client) ? 0 : in_vain + 1;
  }
}

}  // namespace farfault
