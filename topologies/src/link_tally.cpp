// SPDX-License-Identifier: Apache-2.0
#include "link_tally.hpp"

namespace farfault::topologies {

void LinkTally::note_defaults(Decisions& decisions, LinkDefaults const& defaults) const {
  auto const say = [&](std::string_view rule, LinkKind kind, std::uint64_t links, std::string const& value) {
    if (links == 0) return;
    decisions.say(
        rule,
        {std::to_string(links) + " " + std::string(name_of(kind)) + (links > 1 ? " links" : " link"), value});
  };
  for (auto kind : kLinkKinds) {
    auto const i = static_cast<std::size_t>(kind);
    say("any:latency", kind, latency_[i], to_text(defaults.latency(kind)));
    say("any:bandwidth", kind, bandwidth_[i], to_text(defaults.bandwidth(kind)));
  }
}

}  // namespace farfault::topologies
