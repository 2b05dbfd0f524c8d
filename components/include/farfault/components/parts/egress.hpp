// One direction of a link, at its sender: serialization at the link's bandwidth, credits for the receiver's
// buffers, and the packets that wait for either. One queue and one credit count for each virtual channel;
// channels share the wire, answers before requests. Times are given, none is kept but the moment up to which
// the wire is taken.
#pragma once

#include <array>
#include <cstdint>

#include "farfault/components/parts/ring.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct EgressStats {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t busy_ps = 0;
};

class Egress {
 public:
  Egress() = default;
  Egress(Bandwidth bandwidth, std::uint32_t credits, std::size_t queue)
      : bandwidth_(bandwidth.bytes_per_second),
        credits_{credits, credits},
        waiting_{Ring<Packet>(queue), Ring<Packet>(queue)} {}

  void enqueue(Packet const& p) { waiting_[channel(p)].push(p); }
  void give(Channel c, std::uint32_t count) { credits_[static_cast<std::size_t>(c)] += count; }
  std::uint64_t queued() const { return waiting_[0].size() + waiting_[1].size(); }
  EgressStats const& stats() const { return stats_; }

  // Puts on the wire what may go: calls f(packet, done) for each, `done` being when its last byte has left.
  // Answers first.
  template <class F>
  void transmit(Time now, F&& f) {
    for (auto const c : {Channel::response, Channel::request}) {
      auto const i = static_cast<std::size_t>(c);
      while (!waiting_[i].empty() && credits_[i] > 0) {
        auto const packet = waiting_[i].front();
        waiting_[i].pop();
        --credits_[i];
        auto const occupancy = Bandwidth{bandwidth_}.time_for(packet.wire_bytes);
        free_at_ = std::max(free_at_, now) + occupancy;
        ++stats_.packets;
        stats_.bytes += packet.wire_bytes;
        stats_.busy_ps += static_cast<std::uint64_t>(picoseconds(occupancy));
        f(packet, free_at_);
      }
    }
  }

  template <class Archive>
  void persist(Archive& a) {
    a(bandwidth_, credits_, waiting_, free_at_, stats_);
  }

 private:
  static std::size_t channel(Packet const& p) { return static_cast<std::size_t>(channel_of(p.kind)); }

  std::uint64_t bandwidth_ = 1;
  std::array<std::uint32_t, kChannels> credits_{};
  std::array<Ring<Packet>, kChannels> waiting_;
  Time free_at_{};
  EgressStats stats_;
};

}  // namespace farfault
