// SPDX-License-Identifier: Apache-2.0
// Sizes of packets and link buffers in bytes.
//
// Credits count bytes of the receiver's buffer (PCIe counts credits of 16 bytes, NVLink flits; here a packet
// occupies exactly its bytes on the wire). Each direction of a link has one buffer per virtual channel.
//
// A sender never waits for credits of an idle receiver if the buffer covers the data in flight: bandwidth x
// (round trip + the packet that is received whole before it is forwarded + its forwarding). The receiver may
// hold half of the credits for its next batch, so the buffer is twice that:
//
//   buffer = 2 x (bandwidth x 2 x latency + 2 x largest packet)
//
// A batch is one eighth of the buffer. It is smaller if the outputs of a switch, which do not know each
// other's credits, could together hold more than half of the buffer, or leave the sender too few for the
// largest packet.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/engine/units.hpp"

namespace farfault {

// A packet has a header and a payload in whole units (a power of two bytes).
struct PacketFormat {
  std::uint32_t header = 24;
  std::uint32_t unit = 1;
  std::uint32_t bytes(std::uint32_t payload) const { return header + ((payload + unit - 1) & ~(unit - 1)); }
};

inline constexpr std::uint64_t kLargestBuffer = std::uint64_t{1} << 32;

inline std::uint64_t covering_buffer(Bandwidth bandwidth, Duration latency, std::uint32_t largest) {
  __extension__ using Wide = unsigned __int128;
  auto const in_flight = static_cast<Wide>(bandwidth.bytes_per_second) * 2 *
                             static_cast<std::uint64_t>(latency.count()) / 1'000'000'000'000 +
                         2 * Wide{largest};
  return static_cast<std::uint64_t>(std::min<Wide>(2 * in_flight, kLargestBuffer));
}

// Bytes after which a component returns credits, if `sharing` components forward what arrives over one link.
// The buffer must hold the largest packet.
inline std::uint32_t credit_batch(std::uint64_t buffer, std::uint32_t largest, std::uint32_t sharing) {
  auto const batch = std::min({buffer / 8, buffer / (2 * sharing), (buffer - largest) / sharing});
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, batch));
}

}  // namespace farfault
