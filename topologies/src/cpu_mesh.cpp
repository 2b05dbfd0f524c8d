// SPDX-License-Identifier: Apache-2.0
#include "cpu_mesh.hpp"

#include "farfault/engine/error.hpp"

namespace farfault::topologies {
namespace {
constexpr std::size_t kMostCpus = 1024;
}

void join_cpus(MachineBuilder& builder, std::vector<std::uint32_t> const& cpus, LinkDefaults const& defaults,
               LinkTally& tally, std::string const& where) {
  if (cpus.size() > kMostCpus) {
    throw UserError(where + ": " + std::to_string(cpus.size()) + " CPUs, but a node may have at most " +
                    std::to_string(kMostCpus));
  }
  if (cpus.size() < 2) return;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    for (std::size_t j = i + 1; j < cpus.size(); ++j) {
      builder.add_link(cpus[i], cpus[j], LinkKind::cpu_interconnect, defaults.cpu_interconnect_latency,
                       defaults.cpu_interconnect_bandwidth, defaults.cpu_interconnect_bandwidth);
      tally.no_latency(LinkKind::cpu_interconnect, 1);
      tally.no_bandwidth(LinkKind::cpu_interconnect, 1);
    }
  }
  builder.assume("how the " + std::to_string(cpus.size()) +
                 " CPUs are joined is not in the file: a link between every two of them is assumed");
}

}  // namespace farfault::topologies
