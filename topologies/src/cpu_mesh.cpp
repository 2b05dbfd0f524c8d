// SPDX-License-Identifier: Apache-2.0
#include "cpu_mesh.hpp"

#include <map>

#include "farfault/engine/error.hpp"

namespace farfault::topologies {
namespace {
constexpr std::size_t kMaxCpus = 1024;
}

void join_cpus(MachineBuilder& builder, std::vector<std::uint32_t> const& cpus, LinkDefaults const& defaults,
               LinkTally& tally, Decisions& decisions, std::string const& where) {
  std::map<int, std::vector<std::uint32_t>> hosts;
  for (auto const cpu : cpus) hosts[builder.machine().nodes[cpu].machine].push_back(cpu);
  std::size_t joined = 0;
  for (auto const& [host, its] : hosts) {
    if (its.size() > kMaxCpus) {
      throw UserError(where + ": " + std::to_string(its.size()) + " CPUs, but a node may have at most " +
                      std::to_string(kMaxCpus));
    }
    if (its.size() > 1) joined += its.size();
    for (std::size_t i = 0; i < its.size(); ++i) {
      for (std::size_t j = i + 1; j < its.size(); ++j) {
        builder.add_link(its[i], its[j], LinkKind::cpu_interconnect, defaults.cpu_interconnect_latency,
                         defaults.cpu_interconnect_bandwidth, defaults.cpu_interconnect_bandwidth);
        tally.no_latency(LinkKind::cpu_interconnect, 1);
        tally.no_bandwidth(LinkKind::cpu_interconnect, 1);
      }
    }
  }
  auto const kind = decisions.decide(
      {.format = FileFormat::any, .element = "CPUs", .facts = joined > 0 ? kSeveral : 0U}, {});
  if (kind == ImportAs::cpu_interconnect)
    decisions.report("any:cpu-mesh", {std::to_string(joined), hosts.size() > 1 ? " of each host" : ""});
}

}  // namespace farfault::topologies
