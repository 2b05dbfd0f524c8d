// SPDX-License-Identifier: Apache-2.0
#include "link_tally.hpp"

namespace farfault::topologies {

void LinkTally::note_defaults(MachineBuilder& builder, LinkDefaults const& defaults) const {
  auto const say = [&](LinkKind kind, std::uint64_t links, std::string const& what,
                       std::string const& value) {
    if (links == 0) return;
    auto const many = links > 1;
    builder.assume("the " + what + " of " + std::to_string(links) + " " + std::string(name_of(kind)) +
                   (many ? " links" : " link") + " is not in the file: " + value);
  };
  for (auto kind : kLinkKinds) {
    auto const i = static_cast<std::size_t>(kind);
    say(kind, latency_[i], "latency", to_text(defaults.latency(kind)) + " assumed");
    say(kind, bandwidth_[i], "bandwidth",
        to_text(defaults.bandwidth(kind)) + " per physical link and direction assumed");
  }
}

}  // namespace farfault::topologies
