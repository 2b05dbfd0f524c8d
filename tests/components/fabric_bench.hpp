// SPDX-License-Identifier: Apache-2.0
// Switches and device ports between mocks: links of 100 ns and 16 bytes per nanosecond. A 24-byte header
// takes 1.5 ns, and a line with its header 5.5 ns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "farfault/fabric/fabric.hpp"
#include "memory_mock.hpp"
#include "packets.hpp"

namespace farfault::fabric_bench {

using namespace mock;

using Picoseconds = std::vector<std::int64_t>;
inline constexpr Bandwidth kBandwidth{16'000'000'000};
inline constexpr Duration kWire = 100ns;
inline constexpr PacketFormat kFormat{24, 1};
inline constexpr std::uint32_t kLine = 88;  // bytes of a packet with a line

// Capacities of link ends and devices. Buffers and credit batches are in packets with a line.
struct Sizes {
  std::uint32_t buffer = 8;
  std::uint32_t batch = 1;
  std::uint32_t inbound = 256;
  std::uint32_t memory_credits = 16;
};

inline LinkEnd link_end(Sizes const& sizes, std::uint16_t far_via, RouteTable const* far_route = nullptr) {
  return {.bandwidth = kBandwidth,
          .format = kFormat,
          .buffer = std::uint64_t{sizes.buffer} * kLine,
          .batch = sizes.batch == 1 ? 1 : sizes.batch * kLine,
          .far_via = far_via,
          .far_route = far_route};
}

// A routing table of three nodes: by destination, the links that lead to it.
inline RouteTable table(NodeId node, std::vector<std::vector<std::uint16_t>> const& links,
                        bool together = false) {
  RouteTable t(node, links.size());
  for (NodeId destination = 0; destination < links.size(); ++destination)
    t.set(destination, links[destination], together);
  return t;
}

// Node 1, a switch between 0 and 2, over its links 0 and 1.
inline RouteTable const kMiddle = table(1, {{0}, {}, {1}});

inline SwitchOutputSpec output_spec(Sizes const& sizes, std::uint32_t link, std::vector<LinkEnd> links) {
  FabricNodeSpec spec;
  spec.kind = "switch";
  spec.node = 1;
  spec.links = std::move(links);
  spec.route = &kMiddle;
  spec.queue = std::size_t{sizes.buffer} * 2 * kLine / kFormat.header;
  return {spec, link};
}

// Packet with a RemoteRequest or RemoteResponse.
template <class M>
Packet packet(std::uint32_t tag, NodeId destination = 2, std::uint16_t via = 0) {
  auto p = packet_to(destination, M{.tag = tag});
  p.route.payload = kLine - kFormat.header;
  p.route.via = via;
  return p;
}

inline std::vector<std::uint32_t> tags_of(Sink<Packet> const& sink) {
  std::vector<std::uint32_t> all;
  for (auto const& r : sink.records())
    visit(r.message, [&](auto const& m) {
      if constexpr (requires { m.tag; }) all.push_back(m.tag);
    });
  return all;
}

// GPU 0 is node 0. Node 2 is GPU 1, or the CPU in tests of translations.
inline DeviceNodes const kNodes{{0, 2}, {2}, {2}};

inline PortSpec port_spec(NodeId node, DeviceId device, Sizes const& p, RouteTable const& route) {
  PortSpec spec;
  spec.fabric.kind = "port";
  spec.fabric.node = node;
  spec.fabric.links = {link_end(p, 0)};
  spec.fabric.route = &route;
  spec.fabric.queue = 512;
  spec.device = device;
  spec.memory_port = 9;
  spec.memory = AddressMap(1, 256);
  spec.nodes = &kNodes;
  spec.iommu_node = 2;
  spec.outbound = 64;
  spec.inbound = p.inbound;
  spec.memory_credits = p.memory_credits;
  return spec;
}

// Node 0's only link leads to node 2, and vice versa.
inline RouteTable const kTo2 = table(0, {{}, {}, {0}});
inline RouteTable const kTo0 = table(2, {{0}, {}, {}});

// Two GPUs with memories of 50 ns, connected directly or through a switch.
struct TwoGpus : Bench {
  explicit TwoGpus(Sizes const& p, bool with_switch,
                   std::function<Duration(std::uint64_t)> delay = always(50ns), Below below = Below::memory) {
    for (std::uint16_t g = 0; g < 2; ++g) {
      auto spec = g == 0 ? port_spec(0, g, p, kTo2) : port_spec(2, g, p, kTo0);
      if (with_switch) spec.fabric.links[0].far_via = g;
      if (with_switch) spec.fabric.links[0].far_route = &kMiddle;
      gpu.push_back(&system.add<Rdma>(name("rdma"), spec));
      mem.push_back(&responder<MemRequest, MemResponse>(memory(delay, below), gpu[g]->memory_response));
      join_family(gpu[g]->memory_request, {mem[g]->request});
      feed(gpu[g]->translate_request, {});
      sink(gpu[g]->translate_response);
      idle(gpu[g]->invalidated);
      sink(gpu[g]->invalidate);
    }
    if (!with_switch) {
      for (std::size_t g = 0; g < 2; ++g) {
        join_family(gpu[g]->packet_out[0], {gpu[1 - g]->packet_in}, kWire);
        join(gpu[g]->credit_out[0], gpu[1 - g]->credit_in, kWire);
      }
      return;
    }
    std::vector<In<Packet>> inputs;
    for (std::uint32_t g = 0; g < 2; ++g) {
      auto const spec = output_spec(p, g, {link_end(p, 0), link_end(p, 0)});
      node.push_back(&system.add<SwitchOutput>(name("output"), spec));
      inputs.push_back(node[g]->packet_in);
    }
    auto const all = system.family(inputs);
    for (std::size_t g = 0; g < 2; ++g) {
      system.connect(gpu[g]->packet_out[0], all, Latency{kWire});
      join(gpu[g]->credit_out[0], node[g]->credit_in, kWire);
      join_family(node[g]->packet_out, {gpu[g]->packet_in}, kWire);
      for (std::size_t o = 0; o < 2; ++o) join(node[o]->credit_out[g], gpu[g]->credit_in, kWire);
    }
  }
  std::vector<Rdma*> gpu;
  std::vector<Memory*> mem;
  std::vector<SwitchOutput*> node;
};

}  // namespace farfault::fabric_bench
