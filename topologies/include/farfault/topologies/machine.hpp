// SPDX-License-Identifier: Apache-2.0
// A machine: its nodes (GPUs, CPUs, switches, NICs) and the links between them.
//
// Guarantees of a Machine from load_machine, parse_machine or a generator (validate() has passed):
// - at least one GPU; every node reachable from every other; unique node names of 1 to 255 bytes;
// - no link from a node to itself; at most one link of one kind between two nodes; latency and bandwidth
//   greater than zero and within the limits below; of the nodes, only NICs have a bandwidth;
// - machines of a cluster are numbered from 0 without gaps, and every GPU and CPU belongs to one.
//
// Units: a link's bandwidths are totals over its `count` parallel physical links, one per direction. Its
// latency is the time one message needs to cross it, including its share of the switches at its ends (nodes
// have no latency).
// Errors: validate() throws UserError with the offending node or link and the rule.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/input_limits.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::topologies {

enum class NodeKind : std::uint8_t { gpu, cpu, pcie_switch, nvswitch, nic, network_switch };
enum class LinkKind : std::uint8_t { pcie, nvlink, xgmi, cpu_interconnect, network };

inline constexpr std::array kNodeKinds = {NodeKind::gpu,      NodeKind::cpu, NodeKind::pcie_switch,
                                          NodeKind::nvswitch, NodeKind::nic, NodeKind::network_switch};
inline constexpr std::array kLinkKinds = {LinkKind::pcie, LinkKind::nvlink, LinkKind::xgmi,
                                          LinkKind::cpu_interconnect, LinkKind::network};

// True if packets can be addressed to the node; all other nodes forward them.
constexpr bool is_device(NodeKind kind) {
  return kind == NodeKind::gpu || kind == NodeKind::cpu || kind == NodeKind::nic;
}

std::string_view name_of(NodeKind kind);
std::string_view name_of(LinkKind kind);

// Limits of validate().
inline constexpr std::size_t kMaxNodes = InputLimits::kMaxNodes;
inline constexpr std::size_t kMaxLinks = InputLimits::kMaxLinks;
inline constexpr std::size_t kLongestName = 255;  // bytes
inline constexpr std::uint32_t kMaxParallelLinks = 65'536;
inline constexpr Duration kLongestLatency = 1s;
inline constexpr Bandwidth kLowestBandwidth{1'000'000};                   // 1 MB/s
inline constexpr Bandwidth kHighestBandwidth{1'000'000'000'000'000'000};  // 1 EB/s

// The machine of a node that is shared by the machines of a cluster: a switch of the network.
inline constexpr int kShared = -1;

struct MachineNode {
  std::string name;
  NodeKind kind = NodeKind::gpu;
  int numa = -1;               // -1: unknown
  std::uint32_t sm_count = 0;  // streaming multiprocessors or compute units of a GPU; 0: unknown
  std::string model;           // as its source names it; may be empty
  int machine = 0;             // number of its machine in a cluster, which has its own memory and driver
  Bandwidth bandwidth{};       // of a NIC: its link to the network, per direction; 0: unknown
};

struct MachineLink {
  std::uint32_t a = 0;  // indices into Machine::nodes
  std::uint32_t b = 0;
  LinkKind kind = LinkKind::pcie;
  Duration latency{0};
  Bandwidth forward;        // from a to b
  Bandwidth backward;       // from b to a
  std::uint32_t count = 1;  // parallel physical links merged into this one
};

// The file that a machine was read from.
struct MachineSource {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // FNV-1a of its bytes
};

struct Machine {
  std::string name;
  // "builtin", "nccl-xml" (NCCL/RCCL topology XML), "hwloc-xml" (hwloc XML, versions 1 to 3), "graphml",
  // "toml" (machine TOML), "ibnetdiscover" (its output), "topograph-yaml" (topograph cluster models), or
  // "generated" (generators.hpp).
  std::string format;
  std::vector<MachineNode> nodes;
  std::vector<MachineLink> links;
  std::optional<MachineSource> source;  // none for a built-in or generated machine
  std::vector<std::string> assumed;     // one sentence for each value that the source lacks

  std::vector<std::uint32_t> nodes_of(NodeKind kind) const;  // ascending
  std::optional<std::uint32_t> find(std::string_view node_name) const;
  std::uint64_t count(NodeKind kind) const;
  std::uint64_t count(LinkKind kind) const;  // physical links: a merged link counts `count` times
  std::uint64_t pairs(LinkKind kind) const;  // merged links: pairs of nodes joined by that kind
  std::uint32_t machines() const;            // of a cluster; 1 otherwise
  // Bandwidth of the slower NIC among two nodes; none unless at least one is a NIC of known bandwidth.
  std::optional<Bandwidth> nic_bandwidth(std::uint32_t a, std::uint32_t b) const;
  // True if the source states the bandwidth of a NIC.
  bool states_nic_bandwidth() const;
};

// "m3": a machine of a cluster; empty for kShared.
std::string machine_name(int machine);

// Throws UserError for the first broken guarantee; the message begins with `where` (a file, or "machine
// 'x'").
void validate(Machine const& machine, std::string const& where);

}  // namespace farfault::topologies
