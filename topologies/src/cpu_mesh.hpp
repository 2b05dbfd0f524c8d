// SPDX-License-Identifier: Apache-2.0
// What both XML dialects leave out: how the CPUs of a node are joined. A link between every two of them is
// assumed.
#pragma once

#include <string>
#include <vector>

#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine_builder.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {

// UserError for more than 1,024 CPUs: that is no machine, and the links would be a million.
void join_cpus(MachineBuilder& builder, std::vector<std::uint32_t> const& cpus, LinkDefaults const& defaults,
               LinkTally& tally, std::string const& where);

}  // namespace farfault::topologies
