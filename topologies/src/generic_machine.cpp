// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/error.hpp"
#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/machine_builder.hpp"

namespace farfault::topologies {
namespace {
constexpr std::uint32_t kMaxGpus = 65'536;
constexpr std::uint32_t kMaxMeshedGpus = 2048;  // two million links
}  // namespace

void GenericSpec::describe(ParamTable& t) {
  auto const if_generated = t.only_when(setting("machine.topology").is("generic"));
  t.count("gpus", gpus, {1, kMaxGpus}, "Number of GPUs", "GMMU Bypass (NPC 2020): 4");
  t.count("gpus_per_switch", gpus_per_switch, {1, kMaxGpus}, "GPUs per PCIe switch", "MGPUSim: 2");
  t.count("nics_per_switch", nics_per_switch, {0, 64}, "NICs per PCIe switch", "assumed");
  t.choice("fabric", fabric,
           {{"pcie", GenericFabric::pcie, "PCIe only"},
            {"nvlink_mesh", GenericFabric::nvlink_mesh, "PCIe, and a full mesh of NVLinks between the GPUs"}},
           "Interconnect between GPUs", "GMMU Bypass (NPC 2020): pcie");
  t.count("nvlinks_per_pair", nvlinks_per_pair, {1, 18}, "NVLinks between each pair of GPUs of a mesh",
          "assumed")
      .only_when(sibling("fabric").is("nvlink_mesh"));
}

Machine generate_generic(GenericSpec const& spec, LinkDefaults const& defaults) {
  std::string const where = "generated machine";
  auto const mesh = spec.fabric == GenericFabric::nvlink_mesh;
  auto const most = mesh ? kMaxMeshedGpus : kMaxGpus;
  if (spec.gpus == 0 || spec.gpus > most) {
    throw UserError(where + ": gpus is " + std::to_string(spec.gpus) + ", but it must be 1 to " +
                    std::to_string(most) + (mesh ? " in a mesh" : ""));
  }
  if (spec.gpus_per_switch == 0) throw UserError(where + ": gpus_per_switch is 0, but it must be at least 1");
  MachineBuilder builder("generic", "generated");
  auto const pcie = [&](std::uint32_t a, std::uint32_t b, int switches) {
    builder.add_link(a, b, LinkKind::pcie, switches * defaults.pcie_latency.take(), defaults.pcie_bandwidth,
                     defaults.pcie_bandwidth);
  };
  auto const add = [&](std::string name, NodeKind kind) {
    return builder.add_node({.name = std::move(name), .kind = kind, .numa = 0, .model = ""});
  };
  auto const cpu = add("cpu0", NodeKind::cpu);
  auto const root = add("root", NodeKind::pcie_switch);
  pcie(cpu, root, 1);
  std::vector<std::uint32_t> gpus;
  std::uint32_t nics = 0;
  for (std::uint32_t leaf = 0; gpus.size() < spec.gpus; ++leaf) {
    auto const node = add("switch" + std::to_string(leaf), NodeKind::pcie_switch);
    pcie(root, node, 2);
    for (std::uint32_t i = 0; i < spec.gpus_per_switch && gpus.size() < spec.gpus; ++i) {
      gpus.push_back(add("gpu" + std::to_string(gpus.size()), NodeKind::gpu));
      pcie(node, gpus.back(), 1);
    }
    for (std::uint32_t i = 0; i < spec.nics_per_switch; ++i)
      pcie(node, add("nic" + std::to_string(nics++), NodeKind::nic), 1);
  }
  for (std::size_t i = 0; mesh && i < gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      builder.add_link(gpus[i], gpus[j], LinkKind::nvlink, defaults.nvlink_latency, defaults.nvlink_bandwidth,
                       defaults.nvlink_bandwidth, spec.nvlinks_per_pair);
    }
  }
  builder.assume("the machine is generated: its latencies and bandwidths are the link defaults");
  return builder.finish(where);
}

}  // namespace farfault::topologies
