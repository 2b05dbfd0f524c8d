// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/model_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/sm_count.hpp"

namespace farfault::topologies {
namespace {

// Bytes, measured as the growth of the program's memory per additional component with its caches full
// (including the links between components and all parts other than the arrays; queues and MSHRs, which rarely
// fill, half full).
constexpr double kPerSm = 16'384;
constexpr double kPerSlice = 16'384;
constexpr double kPerDevice = 98'304;
constexpr double kPerLine = 18;
constexpr double kPerTranslation = 24;
constexpr double kPerPairOfSwitchLinks = 144;

struct Part {
  std::string name;
  double bytes;
};

double lines_of(ByteSize size, std::uint32_t line_bytes) {
  return static_cast<double>(size.bytes / line_bytes);
}

double shared_tlbs(MachineConfig const& c, std::uint32_t sms) {
  double bytes = 0;
  for (auto const& level : c.tlb_levels())
    bytes += (kPerTranslation * level.entries + kPerSlice) * level.banks * level.groups_of(sms);
  return bytes - kPerSlice;  // one TLB is part of the device
}

std::array<Part, 5> parts_of(Machine const& m, MachineConfig const& c) {
  auto const sms = static_cast<double>(sms_of_gpu(m, c.gpu.sms));
  auto const line = c.gpu.line_bytes;
  auto const sm = kPerSm + kPerLine * lines_of(c.l1_cache.size, line) + kPerTranslation * c.l1_tlb.entries;
  double read_only_caches = 0;
  for (auto const& kind : c.read_only_caches())
    read_only_caches +=
        kind.caches(static_cast<std::uint32_t>(sms)) *
        (kPerSm + kPerLine * lines_of(kind.params.size, line) + kPerTranslation * kind.params.tlb_entries);
  auto const slices = c.l2_cache.slices + (c.memory_cache.present() ? c.gpu_memory().channels : 0);
  auto const gpu =
      kPerDevice + sms * sm + read_only_caches + slices * kPerSlice +
      kPerLine * lines_of(c.l2_cache.size, line) + kPerLine * lines_of(c.memory_cache.size, line) +
      (c.page_walk_cache.present() ? kPerSlice + kPerLine * lines_of(c.page_walk_cache.size, line) : 0) +
      shared_tlbs(c, static_cast<std::uint32_t>(sms));
  auto const cpu = kPerDevice + c.cpu_llc.slices * kPerSlice + kPerLine * lines_of(c.cpu_llc.size, line) +
                   kPerTranslation * c.iommu.tlb_entries;
  auto const gpus = static_cast<double>(m.count(NodeKind::gpu));
  auto const cpus = static_cast<double>(m.count(NodeKind::cpu));
  auto const nics = static_cast<double>(m.count(NodeKind::nic));
  auto const nodes = static_cast<double>(m.nodes.size());

  std::vector<std::uint64_t> degree(m.nodes.size(), 0);
  for (auto const& link : m.links) {
    ++degree[link.a];
    ++degree[link.b];
  }
  double pairs = 0;
  for (std::size_t n = 0; n < m.nodes.size(); ++n)
    if (!is_device(m.nodes[n].kind)) pairs += static_cast<double>(degree[n]) * static_cast<double>(degree[n]);
  return {{{"GPUs", gpus * gpu},
           {"CPUs", cpus * cpu},
           {"NICs", nics * kPerDevice},
           {"routes between nodes", nodes * (4.0 * nodes + 12.0 * (gpus + cpus + nics))},
           {"pairs of switch links", pairs * kPerPairOfSwitchLinks}}};
}

std::uint64_t total_of(std::array<Part, 5> const& parts) {
  double sum = 0;
  for (auto const& part : parts) sum += part.bytes;
  return static_cast<std::uint64_t>(std::min(sum, 1e18));
}

// With one decimal place, rounded up.
std::string in_gib(std::uint64_t bytes) {
  constexpr std::uint64_t kTenth = (std::uint64_t{1} << 30U) / 10;
  auto const tenths = bytes / kTenth + 1;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

}  // namespace

ByteSize model_size(Machine const& machine, MachineConfig const& config) {
  return {total_of(parts_of(machine, config))};
}

void check_model_size(Machine const& machine, MachineConfig const& config, InputLimits const& limits) {
  auto const parts = parts_of(machine, config);
  auto const most = limits.of_this_machine().model;
  auto const total = total_of(parts);
  if (total <= most.bytes) return;
  auto const largest = *std::ranges::max_element(parts, {}, &Part::bytes);
  throw UserError(
      "machine '" + shown(machine.name) + "': simulating " + std::to_string(machine.count(NodeKind::gpu)) +
      " GPUs and " + std::to_string(machine.nodes.size() - machine.count(NodeKind::gpu)) +
      " other nodes needs about " + in_gib(total) + " of host memory (largest part, " + largest.name + ": " +
      in_gib(static_cast<std::uint64_t>(largest.bytes)) + "), more than " + limit_text("model", most) +
      "; use a machine or a batch job with more memory, or simulate fewer GPUs");
}

}  // namespace farfault::topologies
