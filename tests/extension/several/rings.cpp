// SPDX-License-Identifier: Apache-2.0
// A machine-file format: "ring 6 GPUs" describes six GPUs, each connected to a CPU and to the next GPU.
#include <charconv>
#include <farfault/program.hpp>

namespace {

using namespace farfault;
using namespace farfault::topologies;

bool opens(std::string_view head) {
  return head.starts_with("ring ");
}

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  constexpr std::uint32_t kMax = 1024;
  std::uint32_t gpus = 0;
  auto const [end, error] = std::from_chars(text.data() + 5, text.data() + text.size(), gpus);
  if (error != std::errc{} ||
      !text.substr(static_cast<std::size_t>(end - text.data())).starts_with(" GPUs") || gpus < 3 ||
      gpus > kMax)
    throw UserError(where + ": must be 'ring N GPUs', with N from 3 to " + std::to_string(kMax));
  MachineBuilder builder(where, "ring", limits);
  auto const cpu = builder.add_node({"cpu0", NodeKind::cpu, 0, 0, ""});
  for (std::uint32_t i = 0; i < gpus; ++i)
    builder.add_node({"gpu" + std::to_string(i), NodeKind::gpu, 0, 0, ""});
  for (std::uint32_t i = 0; i < gpus; ++i) {
    auto const gpu = cpu + 1 + i;
    builder.add_link(cpu, gpu, LinkKind::pcie, defaults.pcie_latency, defaults.pcie_bandwidth,
                     defaults.pcie_bandwidth);
    builder.add_link(gpu, cpu + 1 + (i + 1) % gpus, LinkKind::nvlink, defaults.nvlink_latency,
                     defaults.nvlink_bandwidth, defaults.nvlink_bandwidth);
  }
  builder.assume("a ring's links have the defaults' latencies and bandwidths");
  return builder;
}

}  // namespace

void rings(Extensions& all) {
  all.machine_format({"ring", "a ring of GPUs", &opens, &parse});
}
