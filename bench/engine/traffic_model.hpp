// SPDX-License-Identifier: Apache-2.0
// Traffic of a cluster of GPUs: SM-like sources read 64 bytes at a time from the memories of uniformly drawn
// GPUs, over links with realistic latencies. A load for the engine, at the scale and with the lookahead of a
// cluster; the internals of a GPU are omitted.
//
//   source -20 ns- hub -- NVLink, 500 ns ------------------------ hub: memory, 200 ns   (the same node)
//                      -- network, 1 us, or 1.5 us by the spine -- hub: memory, 200 ns   (another node)
//
// A read is four events: to the own GPU's hub, to the other hub, back, and to the source, which then pauses
// for up to 40 ns and reads again. A hub sends one packet at a time: 64 bytes at 300 GB/s into NVLink (A100,
// per direction) and at 25 GB/s into the network (HDR InfiniBand); its memory serves 1.5 TB/s. 16 nodes share
// a leaf switch. One-way network latencies of 1 to 2 us are typical for GPUs over InfiniBand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "farfault/engine/engine.hpp"

namespace farfault::traffic {

struct Parameters {
  std::uint32_t gpus = 1024;
  std::uint32_t gpus_per_node = 8;
  std::uint32_t sources = 16;   // per GPU
  std::uint32_t in_flight = 4;  // outstanding reads per source
  double local = 0;             // fraction of reads within the node
};

inline constexpr std::uint32_t kNodesPerLeaf = 16;
inline constexpr Duration kInside = 20ns;
inline constexpr Duration kNvlink = 500ns;
inline constexpr Duration kNetwork = 1us;
inline constexpr Duration kSpine = 500ns;  // on top of kNetwork
inline constexpr Duration kMemory = 200ns;
inline constexpr Duration kLongestThought = 40ns;
inline constexpr Duration kNvlinkBusy{213};  // 64 bytes
inline constexpr Duration kNetworkBusy{2560};
inline constexpr Duration kMemoryBusy{43};

struct Packet {
  Time issued;
  std::uint32_t from;  // the reading GPU and its source
  std::uint32_t source;
  std::uint32_t to;  // the GPU whose memory is read
  std::uint32_t is_reply;
};
struct Start {};

struct SourceSpec {
  Parameters const* parameters = nullptr;
  std::uint32_t gpu = 0;
  std::uint32_t index = 0;
};
struct SourceState {
  std::uint64_t random = 0;
  std::uint64_t reads = 0;
  Duration waited{};  // the sum of all round trips
};

// Represents an SM: keeps its reads in flight.
class Source final : public Component<SourceSpec, SourceState> {
 public:
  using Component::Component;
  In<Packet> reply_in = in<&Source::on_reply>("reply");
  Out<Packet> read_out = out<Packet>("read");
  Self<Start> start = timer<&Source::on_start>("start");

  std::string_view kind() const override { return "source"; }
  SourceState initial() const override {
    auto const number = std::uint64_t{spec().gpu} * spec().parameters->sources + spec().index;
    return {.random = (number + 1) * 0x9E3779B97F4A7C15ULL};
  }

  void on_start(Start const&, Cx& cx) const { read(cx); }
  void on_reply(Packet const& packet, Cx& cx) const {
    ++cx.state().reads;
    cx.state().waited += cx.now() - packet.issued;
    read(cx);
  }

 private:
  void read(Cx& cx) const {
    auto const& p = *spec().parameters;
    auto& random = cx.state().random;
    // First GPU and number of GPUs that the read may target.
    auto const stays = draw(random, 1U << 20) < static_cast<std::uint32_t>(p.local * (1U << 20));
    auto const first = stays ? spec().gpu / p.gpus_per_node * p.gpus_per_node : 0;
    auto const count = stays ? std::min(p.gpus_per_node, p.gpus - first) : p.gpus;
    auto const to = first + draw(random, count);
    Duration const thought{draw(random, static_cast<std::uint32_t>(kLongestThought.count()))};
    cx.send(read_out,
            Packet{.issued = cx.now() + thought,
                   .from = spec().gpu,
                   .source = spec().index,
                   .to = to,
                   .is_reply = 0},
            thought);
  }

  static std::uint32_t draw(std::uint64_t& s, std::uint32_t range) {  // xorshift64*
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return static_cast<std::uint32_t>((((s * 0x2545F4914F6CDD1DULL) >> 32) * range) >> 32);
  }
};

struct HubSpec {
  Parameters const* parameters = nullptr;
  std::uint32_t gpu = 0;
};
struct HubState {
  Time nvlink_free{};
  Time network_free{};
  Time memory_free{};
};

// A GPU's crossbar, memory and ports.
class Hub final : public Component<HubSpec, HubState> {
 public:
  using Component::Component;
  In<Packet> packet_in = in<&Hub::on_packet>("in");
  Out<Packet> to_source = out<Packet>("sources");
  Out<Packet> to_node = out<Packet>("nvlink");
  Out<Packet> to_cluster = out<Packet>("network");

  std::string_view kind() const override { return "hub"; }

  void on_packet(Packet const& packet, Cx& cx) const {
    auto const me = spec().gpu;
    if (packet.is_reply == 0 && packet.to != me) return forward(packet, packet.to, cx.now(), cx);
    if (packet.is_reply != 0) return cx.send(to_source, packet.source, packet);
    auto reply = packet;
    reply.is_reply = 1;
    auto const ready = pass(cx.state().memory_free, cx.now(), kMemoryBusy) + kMemory;
    if (packet.from == me) return cx.send(to_source, reply.source, reply, ready - cx.now());
    forward(reply, packet.from, ready, cx);
  }

 private:
  // Completion time of a packet at a resource that passes one packet at a time, each in `busy`.
  static Time pass(Time& free, Time at, Duration busy) {
    free = std::max(free, at) + busy;
    return free;
  }

  void forward(Packet const& packet, std::uint32_t gpu, Time at, Cx& cx) const {
    auto const per_node = spec().parameters->gpus_per_node;
    auto const mine = spec().gpu / per_node;
    auto const node = gpu / per_node;
    if (node == mine) {
      auto const gone = pass(cx.state().nvlink_free, at, kNvlinkBusy);
      return cx.send(to_node, gpu % per_node, packet, gone - cx.now());
    }
    auto const gone = pass(cx.state().network_free, at, kNetworkBusy);
    auto const spine = node / kNodesPerLeaf == mine / kNodesPerLeaf ? Duration::zero() : kSpine;
    cx.send(to_cluster, gpu, packet, gone - cx.now() + spine);
  }
};

class Model {
 public:
  explicit Model(Parameters p) : parameters_(p) {
    std::vector<In<Packet>> all;
    std::vector<Hub*> hubs;
    for (std::uint32_t gpu = 0; gpu < p.gpus; ++gpu) {
      auto const name = "gpu" + std::to_string(gpu);
      auto& hub = system.add<Hub>(name + ".hub", {&parameters_, gpu});
      hubs.push_back(&hub);
      all.push_back(hub.packet_in);
      std::vector<In<Packet>> replies;
      for (std::uint32_t i = 0; i < p.sources; ++i) {
        auto& source = system.add<Source>(name + ".source" + std::to_string(i), {&parameters_, gpu, i});
        system.connect(source.read_out, hub.packet_in, Latency{kInside});
        replies.push_back(source.reply_in);
        for (std::uint32_t k = 0; k < p.in_flight; ++k)
          system.post(source.start, Start{}, Time{Duration{1 + k}});
      }
      system.connect(hub.to_source, system.family(replies), Latency{kInside});
    }
    auto const cluster = system.family(all);
    Family<Packet> node;
    for (std::uint32_t gpu = 0; gpu < p.gpus; ++gpu) {
      if (gpu % p.gpus_per_node == 0) {
        auto const end = std::min(gpu + p.gpus_per_node, p.gpus);
        node = system.family(std::vector<In<Packet>>(all.begin() + gpu, all.begin() + end));
      }
      system.connect(hubs[gpu]->to_node, node, Latency{kNvlink});
      system.connect(hubs[gpu]->to_cluster, cluster, Latency{kNetwork});
    }
  }

  // Contiguous GPUs in each partition; whole nodes if there are at least as many nodes as partitions.
  Placement placement(std::uint32_t partitions) const {
    auto const& p = parameters_;
    Placement placement;
    placement.partitions = partitions;
    std::uint64_t const nodes = (p.gpus + p.gpus_per_node - 1) / p.gpus_per_node;
    for (std::uint64_t gpu = 0; gpu < p.gpus; ++gpu) {
      auto const partition =
          partitions <= nodes ? gpu / p.gpus_per_node * partitions / nodes : gpu * partitions / p.gpus;
      placement.partition_of.insert(placement.partition_of.end(), p.sources + 1,
                                    static_cast<std::uint32_t>(partition));
    }
    return placement;
  }

  // Sums of the sources on this rank; their sums over ranks do not depend on placement.
  struct Sums {
    std::uint64_t digest = 0;
    std::uint64_t reads = 0;
    std::uint64_t waited_ns = 0;
  };
  Sums sums() const {
    Sums sums;
    for (ComponentId id = 0; id < system.component_count(); ++id) {
      auto const* source = dynamic_cast<Source const*>(&system.component(id));
      if (source == nullptr || !source->has_state()) continue;
      auto const& s = source->state();
      Hasher hasher;
      hasher.mix(id);
      hasher.mix(s.random);
      hasher.mix(s.reads);
      hasher.mix(static_cast<std::uint64_t>(s.waited.count()));
      sums.digest += hasher.value();
      sums.reads += s.reads;
      sums.waited_ns += static_cast<std::uint64_t>(s.waited.count()) / 1000;
    }
    return sums;
  }

  System system;

 private:
  Parameters parameters_;
};

}  // namespace farfault::traffic
