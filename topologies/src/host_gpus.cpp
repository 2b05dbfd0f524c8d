// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/host_gpus.hpp"

#include <algorithm>
#include <map>

namespace farfault::topologies {

std::uint32_t gpus_of_host(Machine const& machine, MemoryScope::Facts const& scope) {
  bool const cluster = machine.machines() > 1;
  std::map<std::uint32_t, std::uint32_t> gpus;  // by instance
  for (auto const& node : machine.nodes) {
    if (node.kind != NodeKind::gpu && node.kind != NodeKind::cpu) continue;
    auto const m = static_cast<std::uint32_t>(node.machine);
    auto& count = gpus[cluster ? scope.instance_of(m) : 0];
    if (node.kind == NodeKind::gpu) ++count;
  }
  if (gpus.empty()) return 0;
  return std::ranges::min_element(gpus, {}, [](auto const& one) { return one.second; })->second;
}

}  // namespace farfault::topologies
