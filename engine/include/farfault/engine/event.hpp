// SPDX-License-Identifier: Apache-2.0
// The event record and the order of simultaneous events.
//
// An Event is 64 plain bytes, key included: the same bytes are used in a queue, in messages between threads
// and MPI ranks, and in a checkpoint. The order is computed from the model alone: (time, receiving port,
// sending port, sender's sequence number), ports numbered in declaration order. It is independent of arrival
// order, threads, ranks, addresses and names, so merging or splitting partitions changes nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "farfault/engine/time.hpp"

namespace farfault {

using PortId = std::uint32_t;
using ComponentId = std::uint32_t;

inline constexpr std::size_t kPayloadBytes = 40;

// Plain data whose bytes are its value: no owning pointers, no padding, no floating point. Such a type is
// saved, compared, hashed and sent as its bytes.
template <class T>
concept Bytes = std::is_trivially_copyable_v<T> &&
    (std::is_empty_v<T> || std::has_unique_object_representations_v<T>);

template <class M>
concept Message = Bytes<M> && sizeof(M) <= kPayloadBytes && alignof(M) <= 8;

struct alignas(64) Event {
  Time when;
  std::uint64_t sequence;  // of the sending component: increases with every send
  PortId to;
  PortId from;
  std::array<std::byte, kPayloadBytes> payload;

  // The payload: M is the type of the receiving port.
  template <Message M>
  M const& message() const {
    return *std::launder(reinterpret_cast<M const*>(payload.data()));
  }
};
static_assert(sizeof(Event) == 64 && std::is_trivially_copyable_v<Event>);

// The order of simultaneous events.
inline bool precedes_at_same_time(Event const& a, Event const& b) {
#ifdef FARFAULT_BREAK_TIES  // only for tests/broken_ties: the order of arrival
  static_cast<void>(a), static_cast<void>(b);
  return false;
#else
  if (a.to != b.to) return a.to < b.to;
  if (a.from != b.from) return a.from < b.from;
  return a.sequence < b.sequence;
#endif
}

inline bool precedes(Event const& a, Event const& b) {
  return a.when != b.when ? a.when < b.when : precedes_at_same_time(a, b);
}

}  // namespace farfault
