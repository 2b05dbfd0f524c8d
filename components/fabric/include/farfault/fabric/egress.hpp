// SPDX-License-Identifier: Apache-2.0
// Sending side of one direction of a link.
//
// - Serialization at the link's bandwidth; credits for the bytes of the receiver's buffer, per virtual
//   channel.
// - Channels share the wire; responses have priority over requests.
// - Within a channel, each client of the sender has its own queue. The queues alternate, with equal numbers
//   of lines. The packet at its turn waits for its credits; the other queue does not overtake it.
// - The caller passes the current time. The only time in the state is that at which the wire becomes free.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

#include "farfault/engine/units.hpp"
#include "farfault/fabric/link_format.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/parts/train.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct EgressStats {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t busy_ps = 0;
  std::uint64_t credit_wait_ps = 0;  // wire idle while a packet waited for credits
  std::uint64_t ahead_ps = 0;        // part of busy_ps that is later than the last settle()

  std::uint64_t busy_so_far() const { return busy_ps - ahead_ps; }
};

class Egress {
 public:
  static constexpr std::size_t kClients = 2;

  Egress() = default;
  // `buffer`: bytes at the receiver, per channel. `queue`: maximum waiting packets, per channel and client.
  Egress(Bandwidth bandwidth, PacketFormat format, std::uint64_t buffer, std::size_t queue)
      : bandwidth_(bandwidth.bytes_per_second),
        header_(format.header),
        unit_(format.unit),
        credits_{buffer, buffer} {
    for (auto& clients : waiting_) clients.fill(Ring<Packet>(queue));
  }

  void enqueue(Packet const& p, std::size_t client = 0) {
    auto const i = channel(p);
    waiting_[i][client].push(p);
    ++queued_[i];
  }
  // Enqueues a packet and then sends as transmit() does. All packets that could be sent earlier have been
  // sent.
  template <class F>
  void send(Packet packet, std::size_t client, Time now, F&& f) {
    auto const i = channel(packet);
    auto const each = PacketFormat{header_, unit_}.bytes(packet.route.payload);
    auto const train = packet.train();
    if (queued_[i] == 0 && credits_[i] >= std::uint64_t{each} * train.lines()) [[likely]] {
      if (queued_[1 - i] != 0) [[unlikely]]
        count_wait(now);
      f(packet, take_link(i, static_cast<std::uint32_t>(client), each, train, now));
      return;
    }
    bool const is_blocked = !waiting_[i][turn_[i]].empty();  // the client at its turn waits for credits
    if (queued() == 0) waiting_since_ = now;
    enqueue(packet, client);
    if (!is_blocked) transmit(i, now, f);
  }
  void add_credits(Channel c, std::uint32_t bytes) { credits_[static_cast<std::size_t>(c)] += bytes; }
  std::uint64_t queued() const { return queued_[0] + queued_[1]; }
  EgressStats const& stats() const { return stats_; }

  // Sends every packet that has credits, responses first; a warp's train is split to the lines that have
  // credits. Calls f(packet, done) for each packet; `done` is the departure time of the last byte of its
  // line, or of the first and last line of its train. f may change the packet, which is removed afterwards,
  // and must not enqueue packets.
  template <class F>
  void transmit(Time now, F&& f) {
    for (auto const c : {Channel::response, Channel::request})
      if (auto const i = static_cast<std::size_t>(c); queued_[i] != 0) transmit(i, now, f);
  }
  // Updates statistics to `now` before they are read. True if they grow without events.
  bool settle(Time now) {
    if (queued() != 0) count_wait(now);
    stats_.ahead_ps = free_at_ > now ? static_cast<std::uint64_t>(picoseconds(free_at_ - now)) : 0;
    return queued() != 0 || stats_.ahead_ps != 0;
  }

  auto members() {
    return std::tie(bandwidth_, header_, unit_, credits_, turn_, left_, waiting_, queued_, free_at_,
                    waiting_since_, stats_);
  }

 private:
  template <class F>
  void transmit(std::size_t i, Time now, F&& f) {
    while (queued_[i] != 0) {
      auto const client = waiting_[i][turn_[i]].empty() ? 1U - turn_[i] : turn_[i];
      auto& queue = waiting_[i][client];
      auto const each = PacketFormat{header_, unit_}.bytes(queue.front().route.payload);
      auto train = queue.front().train();
      bool const whole = credits_[i] >= std::uint64_t{each} * train.lines();
      // A copy has no requester that waits for its first line, so its train is not split. Half of a buffer's
      // credits always return (link_format.hpp), and a train takes at most a quarter of it.
      if (credits_[i] < each || (!whole && queue.front().lines().kind == RequestKind::copy)) return;
      if (!whole) train.more = static_cast<std::uint32_t>(credits_[i] / each) - 1;
      count_wait(now);
      auto const done = take_link(i, client, each, train, now);
      if (whole) [[likely]] {
        f(queue.front(), done);
        queue.pop();
        --queued_[i];
      } else {
        auto ahead = queue.front();
        ahead.set_train(train);
        f(ahead, done);
        auto left = queue.front().lines();
        left.leave(train.lines());
        queue.front().set_lines(left);
      }
    }
  }
  // Sends a packet of `each` bytes per line.
  Passage take_link(std::size_t i, std::uint32_t client, std::uint32_t each, Train train, Time now) {
    auto const bytes = std::uint64_t{each} * train.lines();
    credits_[i] -= bytes;
    end_turn(i, client, train.lines());
    auto const occupancy = Bandwidth{bandwidth_}.time_for(each);
    stats_.packets += train.lines();
    stats_.bytes += bytes;
    stats_.busy_ps += static_cast<std::uint64_t>(picoseconds(occupancy)) * train.lines();
    return pass(train, now, occupancy, free_at_);
  }
  // Queued packets lack credits: packets with credits have been sent.
  void count_wait(Time now) {
    auto const since = std::max(waiting_since_, free_at_);
    if (now > since) stats_.credit_wait_ps += static_cast<std::uint64_t>(picoseconds(now - since));
    waiting_since_ = now;
  }
  // After this many lines, or packets without data, the other client may send as many.
  void end_turn(std::size_t i, std::uint32_t client, std::uint32_t lines) {
    if (client == turn_[i] && left_[i] > lines) {
      left_[i] -= lines;
      return;
    }
    turn_[i] = 1U - client;
    left_[i] = lines;
  }

  static std::size_t channel(Packet const& p) { return static_cast<std::size_t>(channel_of(p.route.kind)); }

  std::uint64_t bandwidth_ = 1;
  std::uint32_t header_ = 0;
  std::uint32_t unit_ = 1;
  std::array<std::uint64_t, kChannels> credits_{};  // bytes
  std::array<std::uint32_t, kChannels> turn_{};     // client that sends next
  std::array<std::uint32_t, kChannels> left_{};     // lines left in its turn
  std::array<std::array<Ring<Packet>, kClients>, kChannels> waiting_;
  std::array<std::uint64_t, kChannels> queued_{};  // packets, per channel
  Time free_at_{};
  Time waiting_since_{};  // waiting time of queued packets is counted up to here
  EgressStats stats_;
};

}  // namespace farfault
