// SPDX-License-Identifier: Apache-2.0
// Shortest paths through a machine to its devices: GPUs, CPUs and NICs.
//
// - Two GPUs joined by NVLink or xGMI, directly or over switches, use only these links, whatever the
//   latencies, like drivers and NCCL.
// - All other paths are compared by: number of GPUs and NICs that must forward foreign traffic (they forward
//   only if every path needs it), time of one message (link latencies plus message / bandwidth per link),
//   number of links.
// - Equal next links are all kept, in ascending order of the neighbour's index. With n links, a flow takes
//   number flow % n and continues as flow / n, so that consecutive flows use equal paths evenly, stage by
//   stage.
// - Integer arithmetic only: routes are a function of the machine alone.
// - Memory: 2 bytes per (node, destination).
// - Limits: switches are not destinations. UserError above 65,535 destinations or 2^29 (node, destination)
//   pairs.
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

  // All links that continue a shortest path; empty if node == destination.
  std::span<std::uint32_t const> next_links(std::uint32_t node, std::uint32_t destination) const;
  // One of them. Requires node != destination.
  std::uint32_t next_link(std::uint32_t node, std::uint32_t destination, std::uint64_t flow = 0) const;
  std::uint32_t other_end(std::uint32_t link, std::uint32_t node) const;
  // The whole path from node a to destination b; empty if a == b.
  std::vector<Hop> path(std::uint32_t a, std::uint32_t b, std::uint64_t flow = 0) const;
  // Total latency of the links on path(a, b); allocates nothing.
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
  std::vector<std::uint32_t> column_;     // by node: its position in destinations_
  std::vector<std::uint16_t> table_;      // [node][destination]: number of the set within the node's sets
  std::vector<std::uint32_t> first_set_;  // by node: start of its sets in sets_
  std::vector<Set> sets_;
  std::vector<std::uint32_t> pool_;
};

struct PathSummary {
  std::uint32_t hops = 0;
  Duration latency{0};   // of the links, without the transfer time of the message
  Bandwidth bottleneck;  // the lowest bandwidth on the path, in its direction; 0 for an empty path
  bool operator==(PathSummary const&) const = default;
};

PathSummary summarize(Machine const& machine, std::span<Hop const> path);

}  // namespace farfault::topologies
