// SPDX-License-Identifier: Apache-2.0
// What packets and buffers of a link measure in bytes.
//
// Credits count bytes of the receiver's buffer (PCIe counts credits of 16 bytes, NVLink flits; a packet here
// holds exactly the bytes that it takes on the wire). Each direction of a link has a buffer of its own for
// each virtual channel.
//
// A sender never waits for credits on an idle receiver if the buffer covers what is on its way: bandwidth x
// (there and back + the packet that arrives whole before it is forwarded, and its forwarding). Half of a
// buffer may be credits that the receiver has not sent yet, for they go back in batches; so the buffer is
// twice that:
//
//   buffer = 2 x (bandwidth x 2 x latency + 2 x largest packet)
//
// A batch is an eighth of the buffer, less where the outputs of a switch, which do not know of each other,
// would hold back more than half of it, or would leave the sender too little for a largest packet.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/engine/units.hpp"

namespace farfault {

// A packet is a header, and a payload in whole units (a power of two of bytes).
struct PacketFormat {
  std::uint32_t header = 24;
  std::uint32_t unit = 1;
  std::uint32_t bytes(std::uint32_t payload) const { return header + ((payload + unit - 1) & ~(unit - 1)); }
};

inline constexpr std::uint64_t kLargestBuffer = std::uint64_t{1} << 32;

inline std::uint64_t covering_buffer(Bandwidth bandwidth, Duration latency, std::uint32_t largest) {
  __extension__ using Wide = unsigned __int128;
  auto const on_its_way = static_cast<Wide>(bandwidth.bytes_per_second) * 2 *
                              static_cast<std::uint64_t>(latency.count()) / 1'000'000'000'000 +
                          2 * Wide{largest};
  return static_cast<std::uint64_t>(std::min<Wide>(2 * on_its_way, kLargestBuffer));
}

// Bytes after which a component gives credits back, of `sharing` that forward what arrives over one link. The
// buffer must hold a largest packet.
inline std::uint32_t credit_batch(std::uint64_t buffer, std::uint32_t largest, std::uint32_t sharing) {
  auto const batch = std::min({buffer / 8, buffer / (2 * sharing), (buffer - largest) / sharing});
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, batch));
}

}  // namespace farfault
