// SPDX-License-Identifier: Apache-2.0
// Counts the values taken from LinkDefaults, and lists one assumption for each kind of link and quantity, and
// one for NICs of unknown bandwidth. NICs of known bandwidth, and NICs whose network links are in the source,
// are not counted.
#pragma once

#include <array>
#include <cstdint>

#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine_builder.hpp"
#include "import_rules.hpp"

namespace farfault::topologies {

class LinkTally {
 public:
  void no_latency(LinkKind kind, std::uint64_t links) { latency_[static_cast<std::size_t>(kind)] += links; }
  void no_bandwidth(LinkKind kind, std::uint64_t links) {
    bandwidth_[static_cast<std::size_t>(kind)] += links;
  }
  void note_defaults(Decisions& decisions, LinkDefaults const& defaults, Machine const& machine) const;

 private:
  static void note_nics(Decisions& decisions, LinkDefaults const& defaults, Machine const& machine);

  std::array<std::uint64_t, kLinkKinds.size()> latency_{};
  std::array<std::uint64_t, kLinkKinds.size()> bandwidth_{};
};

}  // namespace farfault::topologies
