// SPDX-License-Identifier: Apache-2.0
// Messages that cross the fabric in a packet (packet.hpp).
//
// - Wire<M>, next to the message M: its virtual channel, the part of the receiving device that gets it, and
//   its bytes on a wire in addition to the packet's header. They follow the modelled protocol, never sizeof.
// - A message that crosses the fabric has at most kMessageBytes, and is in its protocol's MessageList. Its
//   PacketKind is its number in the list of all protocols; ports and switches forward all kinds alike.
// - Route: messages about a `page` take one of several equally short routes, selected by a hash of the page;
//   messages without one, that of page 0. Lines of memory accesses are striped over all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "farfault/protocols/messages/addresses.hpp"
#include "farfault/protocols/messages/requests.hpp"

namespace farfault {

inline constexpr std::size_t kMessageBytes = 24;

// Requests and responses use separate virtual channels, so that requests cannot block responses. An
// invalidation uses the response channel and the route of its page's translations: it must not overtake an
// earlier translation response.
enum class Channel : std::uint8_t { request, response };
inline constexpr std::uint8_t kChannels = 2;

// Part of a device that gets a message from the device's port. memory: L2 slices, or a NIC's memory.
// requester: the sender of the request that is answered. counters: access counters of a GPU's port.
enum class Endpoint : std::uint8_t { memory, requester, gmmu, iommu, driver, counters };

// Bytes on a wire that parameters set.
struct WireSizes {
  std::uint32_t translation_bytes = 8;    // payload of a translation response or an invalidation request
  std::uint32_t fault_bytes = 32;         // payload of a page fault
  std::uint32_t notification_bytes = 32;  // payload of an access-counter notification
  // Payload of a line of a copy between a GPU and a CPU, indexed by the line's bytes. Empty: the line's.
  std::vector<std::uint8_t> copy_payload;

  std::uint32_t line(PhysAddr address, std::uint8_t bytes, RequestKind kind) const {
    if (kind != RequestKind::copy || copy_payload.empty()) return bytes;
    auto const device = device_of(address);
    return device >= kFirstCpu && device < kFirstNic ? copy_payload[bytes] : bytes;
  }
};

template <class M>
struct Wire;

template <Channel C, Endpoint R>
struct WireTo {
  static constexpr Channel kChannel = C;
  static constexpr Endpoint kEndpoint = R;
};

// A message without payload.
template <Channel C, Endpoint R>
struct HeaderTo : WireTo<C, R> {
  template <class M>
  static constexpr std::uint32_t payload(M const& /*m*/, WireSizes const& /*sizes*/) {
    return 0;
  }
};

template <class... M>
struct MessageList {};

}  // namespace farfault
