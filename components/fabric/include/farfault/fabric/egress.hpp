// SPDX-License-Identifier: Apache-2.0
// One direction of a link, at its sender: serialization at the link's bandwidth, credits for the bytes of the
// receiver's buffers, and the packets that wait for either. One credit count for each virtual channel;
// channels share the wire, responses before requests. Within a channel each client of the sender has a queue
// of its own; the queues are served alternately, as many lines from each, so that one does not block the
// other: the packet whose turn it is waits for its credits. The caller passes the time in; the only time kept
// is when the wire becomes free.
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
  std::uint64_t credit_wait_ps = 0;  // the wire was idle, and a packet waited for credits
  std::uint64_t ahead_ps = 0;        // of busy_ps, what was still to come when that was last asked (settle)

  std::uint64_t busy_so_far() const { return busy_ps - ahead_ps; }
};

class Egress {
 public:
  static constexpr std::size_t kClients = 2;

  Egress() = default;
  // `buffer`: bytes at the receiver, for each channel; `queue`: packets that may wait, for each channel and
  // client.
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
  // Enqueues a packet, and sends what can go, as transmit() does. What could go before has gone.
  template <class F>
  void send(Packet packet, std::size_t client, Time now, F&& f) {
    auto const i = channel(packet);
    auto const each = PacketFormat{header_, unit_}.bytes(packet.payload);
    auto const train = packet.train();
    if (queued_[i] == 0 && credits_[i] >= std::uint64_t{each} * train.lines()) [[likely]] {
      if (queued_[1 - i] != 0) [[unlikely]]
        count_wait(now);
      f(packet, take_link(i, static_cast<std::uint32_t>(client), each, train, now));
      return;
    }
    bool const waits_behind = !waiting_[i][turn_[i]].empty();  // for whose turn it is, and whose credits lack
    if (queued() == 0) waiting_since_ = now;
    enqueue(packet, client);
    if (!waits_behind) transmit(i, now, f);
  }
  void add_credits(Channel c, std::uint32_t bytes) { credits_[static_cast<std::size_t>(c)] += bytes; }
  std::uint64_t queued() const { return queued_[0] + queued_[1]; }
  EgressStats const& stats() const { return stats_; }

  // Sends every packet that has its credits, of a warp's train as many lines as have theirs, responses first:
  // calls f(packet, done) for each, `done` being when the last byte of its line has left, or of the first and
  // last lines of its train. f may change the packet, which is gone then, and enqueues none.
  template <class F>
  void transmit(Time now, F&& f) {
    for (auto const c : {Channel::response, Channel::request})
      if (auto const i = static_cast<std::size_t>(c); queued_[i] != 0) transmit(i, now, f);
  }
  // Brings statistics up to `now`, before they are read; true where they grow without an event.
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
      auto const each = PacketFormat{header_, unit_}.bytes(queue.front().payload);
      auto train = queue.front().train();
      bool const whole = credits_[i] >= std::uint64_t{each} * train.lines();
      // Nobody waits for the first line of a copy: its train stays together. Half of a buffer's credits
      // always come back (link_format.hpp), and a train is a quarter of it at most.
      bool const splits = queue.front().requester.kind != RequestKind::copy;
      if (credits_[i] < each || (!whole && !splits)) return;
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
        queue.front().leave(train.lines());
      }
    }
  }
  // A packet of `each` bytes per line leaves.
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
  // What is queued has no credits: all that has some has gone.
  void count_wait(Time now) {
    auto const since = std::max(waiting_since_, free_at_);
    if (now > since) stats_.credit_wait_ps += static_cast<std::uint64_t>(picoseconds(now - since));
    waiting_since_ = now;
  }
  // A client that has sent so many lines, or packets without data, gives way to as many of the other one's.
  void end_turn(std::size_t i, std::uint32_t client, std::uint32_t lines) {
    if (client == turn_[i] && left_[i] > lines) {
      left_[i] -= lines;
      return;
    }
    turn_[i] = 1U - client;
    left_[i] = lines;
  }

  static std::size_t channel(Packet const& p) { return static_cast<std::size_t>(channel_of(p.kind)); }

  std::uint64_t bandwidth_ = 1;
  std::uint32_t header_ = 0;
  std::uint32_t unit_ = 1;
  std::array<std::uint64_t, kChannels> credits_{};  // bytes
  std::array<std::uint32_t, kChannels> turn_{};     // the client that may send next
  std::array<std::uint32_t, kChannels> left_{};     // and how many lines before it gives way
  std::array<std::array<Ring<Packet>, kClients>, kChannels> waiting_;
  std::array<std::uint64_t, kChannels> queued_{};  // packets, by channel
  Time free_at_{};
  Time waiting_since_{};  // up to when the waiting of what is queued is counted
  EgressStats stats_;
};

}  // namespace farfault
