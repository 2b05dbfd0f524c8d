// SPDX-License-Identifier: Apache-2.0
// Links between the CPUs of a host, which neither XML format states: a link between every two of them is
// assumed. CPUs of different hosts are not joined.
#pragma once

#include <string>
#include <vector>

#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine_builder.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {

// Throws UserError for more than 1,024 CPUs: no real machine has them, and they would need a million links.
void join_cpus(MachineBuilder& builder, std::vector<std::uint32_t> const& cpus, LinkDefaults const& defaults,
               LinkTally& tally, Decisions& decisions, std::string const& where);

}  // namespace farfault::topologies
