// SPDX-License-Identifier: Apache-2.0
// A pair of nodes and a kind of link as one number, for look-ups.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

// The same for (a, b) and (b, a).
inline std::uint64_t link_key(std::uint32_t a, std::uint32_t b, LinkKind kind) {
  static_assert(kMaxNodes <= 1U << 20U);
  return (std::uint64_t{std::min(a, b)} << 32U | std::max(a, b)) << 3U | static_cast<std::uint64_t>(kind);
}

}  // namespace farfault::topologies
