// SPDX-License-Identifier: Apache-2.0
// Shortest paths through a machine, towards its devices: GPUs, CPUs and NICs.
//
// Two GPUs that NVLink or xGMI joins, directly or over switches, use nothing else, whatever the latencies: so
// do drivers and NCCL. Else the cost of a path is compared in this order: how many GPUs and NICs must forward
// traffic that is not theirs (they do so only where there is no other path), then the time of one message
// (the latencies of the links plus message / bandwidth of each), then the number of links. Where several next
// links cost the same, all of them are kept, in ascending order of the neighbour's index: of n links, flow
// takes number flow % n and goes on as flow / n, so that consecutive flows visit equal paths evenly, stage by
// stage. All integer arithmetic: routes are a function of the machine alone. Memory: 2 bytes for each (node,
// destination). Not covered: switches as destinations. Errors: UserError when there are more
// than 65,535 destinations or 2^29 (node, destination) pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "farfault/engine/params.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

struct RoutingSpec {
  ByteSize message{4096};

  void describe(ParamTable& t);
};

struct Hop {
  std::uint32_t link = 0;  // index into Machine::links
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool operator==(Hop const&) const = default;
};

class Routes {
 public:
  // The machine must have passed validate() and must outlive the routes.
  explicit Routes(Machine const& machine, RoutingSpec const& spec = {});

  std::vector<std::uint32_t> const& destinations() const { return destinations_; }  // ascending node indices
  bool is_destination(std::uint32_t node) const { return column_[node] != kNotADestination; }

  // All links that continue a shortest path; empty where node == destination.
  std::span<std::uint32_t const> next_links(std::uint32_t node, std::uint32_t destination) const;
  // One of them. Needs node != destination.
  std::uint32_t next_link(std::uint32_t node, std::uint32_t destination, std::uint64_t flow = 0) const;
  std::uint32_t other_end(std::uint32_t link, std::uint32_t node) const;
  // The whole path from node a to destination b; empty where a == b.
  std::vector<Hop> path(std::uint32_t a, std::uint32_t b, std::uint64_t flow = 0) const;
  // Of the links on path(a, b); allocates nothing.
  Duration latency(std::uint32_t a, std::uint32_t b) const;

 private:
  static constexpr std::uint32_t kNotADestination = UINT32_MAX;

  struct Set {
    std::uint32_t first = 0;  // into pool_
    std::uint32_t size = 0;
  };

  void compute(RoutingSpec const& spec);

  Machine const& machine_;
  std::vector<std::uint32_t> destinations_;
  std::vector<std::uint32_t> column_;     // of each node: its position in destinations_
  std::vector<std::uint16_t> table_;      // [node][destination]: which of the node's sets
  std::vector<std::uint32_t> first_set_;  // of each node: where its sets begin in sets_
  std::vector<Set> sets_;
  std::vector<std::uint32_t> pool_;
};

struct PathSummary {
  std::uint32_t hops = 0;
  Duration latency{0};   // of the links, without the time that the message's bytes take
  Bandwidth bottleneck;  // the lowest bandwidth on the path, in its direction; 0 for an empty path
  bool operator==(PathSummary const&) const = default;
};

PathSummary summarize(Machine const& machine, std::span<Hop const> path);

}  // namespace farfault::topologies
