// SPDX-License-Identifier: Apache-2.0
#include "link_tally.hpp"

namespace farfault::topologies {

void LinkTally::note_nics(Decisions& decisions, LinkDefaults const& defaults, Machine const& machine) {
  std::vector<bool> networked(machine.nodes.size(), false);
  for (auto const& link : machine.links)
    if (link.kind == LinkKind::network) networked[link.a] = networked[link.b] = true;
  std::uint64_t open = 0;
  for (auto const nic : machine.nodes_of(NodeKind::nic)) {
    bool const known = networked[nic] || machine.nodes[nic].bandwidth != Bandwidth{};
    if (decisions.decide({.format = FileFormat::any, .element = "NIC", .facts = known ? kNumber : 0U}, {}) ==
        ImportAs::assumed)
      ++open;
  }
  if (open > 0)
    decisions.report("any:nic-open", {std::to_string(open) + (open > 1 ? " NICs" : " NIC"),
                                      to_text(defaults.network_bandwidth.shown())});
}

void LinkTally::note_defaults(Decisions& decisions, LinkDefaults const& defaults,
                              Machine const& machine) const {
  auto const report = [&](std::string_view rule, LinkKind kind, std::uint64_t links,
                          std::string const& value) {
    if (links == 0) return;
    decisions.report(
        rule,
        {std::to_string(links) + " " + std::string(name_of(kind)) + (links > 1 ? " links" : " link"), value});
  };
  for (auto kind : kLinkKinds) {
    auto const i = static_cast<std::size_t>(kind);
    report("any:latency", kind, latency_[i], to_text(defaults.latency(kind).shown()));
    report("any:bandwidth", kind, bandwidth_[i], to_text(defaults.bandwidth(kind).shown()));
  }
  note_nics(decisions, defaults, machine);
}

}  // namespace farfault::topologies
