// SPDX-License-Identifier: Apache-2.0
// A packet of the fabric: a header with the route, and one message of the protocols (wire.hpp).
//
// - 40 bytes in the simulator: 16 of the header and at most 24 of the message. On a link, the modelled packet
//   has the bytes of the link's header and RouteHeader::payload, per line of a train.
// - A part of a device that gets messages of several kinds in the order of their arrival has a port for
//   packets: IOMMU, GMMU, driver. It uses `kind`, and `held` of a response; the rest of the header is the
//   fabric's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "farfault/protocols/messages/memory.hpp"
#include "farfault/protocols/messages/paging.hpp"
#include "farfault/protocols/messages/translation.hpp"

namespace farfault {

namespace packets {

template <class... A, class... B, class... C>
MessageList<A..., B..., C...> join(MessageList<A...>, MessageList<B...>, MessageList<C...>);

// The messages that cross the fabric, in the order of their PacketKind.
using All = decltype(join(MemoryPackets{}, TranslationPackets{}, PagingPackets{}));

template <class M>
inline constexpr bool kHasLines = requires(M m) {
  m.lines;
};

template <class... M>
constexpr bool fit(MessageList<M...> /*all*/) {
  return (... && (Message<M> && sizeof(M) <= kMessageBytes)) && sizeof...(M) <= 32;
}
static_assert(fit(All{}), "a message that crosses the fabric has at most 24 bytes, and no padding");

template <class... M>
constexpr std::size_t count(MessageList<M...> /*all*/) {
  return sizeof...(M);
}
template <class M, class... All>
constexpr std::uint8_t number(MessageList<All...> /*all*/) {
  std::uint8_t n = 0;
  static_cast<void>((... || (std::is_same_v<M, All> || (++n, false))));
  return n;
}

// Bit k: message number k uses the response channel, or has lines.
template <class... M>
constexpr std::uint32_t responses(MessageList<M...> all) {
  return (0U | ... | (std::uint32_t{Wire<M>::kChannel == Channel::response} << number<M>(all)));
}
template <class... M>
constexpr std::uint32_t with_lines(MessageList<M...> all) {
  return (0U | ... | (std::uint32_t{kHasLines<M>} << number<M>(all)));
}

}  // namespace packets

// Number of the message in packets::All.
enum class PacketKind : std::uint8_t {};

template <class M>
inline constexpr PacketKind kind_of = [] {
  constexpr auto number = packets::number<M>(packets::All{});
  static_assert(number < packets::count(packets::All{}), "the message is in no list of packets");
  return PacketKind{number};
}();

constexpr Channel channel_of(PacketKind k) {
  constexpr auto mask = packets::responses(packets::All{});
  return static_cast<Channel>(mask >> static_cast<unsigned>(k) & 1U);
}
constexpr bool has_lines(PacketKind k) {
  constexpr auto mask = packets::with_lines(packets::All{});
  return (mask >> static_cast<unsigned>(k) & 1U) != 0;
}

struct RouteHeader {
  NodeId source = 0;
  NodeId destination = 0;
  std::uint16_t via = 0;      // receiver's number of the link on which the packet arrived
  std::uint16_t payload = 0;  // bytes on the wire in addition to the link's header, per line
  std::uint32_t flow = 0;     // selects among equally short routes from here on
  std::uint16_t held = 0;     // of a response: time since the request's arrival (pack_duration)
  PacketKind kind{};
  std::uint8_t unused = 0;
};
static_assert(sizeof(RouteHeader) == 16);

struct Packet {
  RouteHeader route{};
  std::array<std::uint64_t, kMessageBytes / 8> message{};

  template <class M>
  static Packet of(M const& m) {
    Packet p;
    p.route.kind = kind_of<M>;
    std::memcpy(p.message.data(), &m, sizeof m);
    return p;
  }
  template <class M>
  bool is() const {
    return route.kind == kind_of<M>;
  }
  // The message; requires is<M>().
  template <class M>
  M as() const {
    return start<M>();
  }
  // Requires has_lines(kind).
  RemoteLines lines() const { return start<RemoteLines>(); }
  void set_lines(RemoteLines const& l) { std::memcpy(message.data(), &l, sizeof l); }
  // A train of one line, if the message has no lines.
  Train train() const { return has_lines(route.kind) ? lines().train() : Train{}; }
  void set_train(Train t) {
    auto l = lines();
    l.set_train(t);
    set_lines(l);
  }

 private:
  template <class M>
  M start() const {
    static_assert(std::is_trivially_copyable_v<M> && sizeof(M) <= kMessageBytes);
    M m;
    std::memcpy(static_cast<void*>(&m), message.data(), sizeof m);
    return m;
  }
};
static_assert(Message<Packet> && sizeof(Packet) == 40);
static_assert(offsetof(RemoteRequest, lines) == 0 && offsetof(RemoteResponse, lines) == 0);

namespace packets {

template <class F, class... M>
void visit(Packet const& p, F&& f, MessageList<M...> /*all*/) {
  static_cast<void>((... || (p.is<M>() && (f(p.as<M>()), true))));
}

}  // namespace packets

// Calls f(message) with the message in its own type.
template <class F>
void visit(Packet const& p, F&& f) {
  packets::visit(p, f, packets::All{});
}

inline Endpoint endpoint_of(Packet const& p) {
  Endpoint r{};
  visit(p, [&r]<class M>(M const& /*m*/) { r = Wire<M>::kEndpoint; });
  return r;
}

// Buffer space returned to the sender of a link.
struct Credit {
  std::uint16_t link;  // sender's number of the link
  std::uint16_t channel;
  std::uint32_t bytes;
};
static_assert(Message<Credit>);

}  // namespace farfault
