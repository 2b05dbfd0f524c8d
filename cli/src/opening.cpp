#include "opening.hpp"

#include <fmt/format.h>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/sm_count.hpp"
#include "model.hpp"

namespace farfault::cli {

namespace {

std::string counted(std::uint64_t n, std::string_view one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

std::string size_text(std::uint64_t bytes) {
  constexpr double kKi = 1024;
  auto const size = static_cast<double>(bytes);
  if (size < kKi * kKi) return fmt::format("{:.1f} KiB", size / kKi);
  if (size < kKi * kKi * kKi) return fmt::format("{:.1f} MiB", size / kKi / kKi);
  return fmt::format("{:.1f} GiB", size / kKi / kKi / kKi);
}

}  // namespace

std::string machine_line(Model const& model) {
  auto const& machine = model.machine;
  auto const sms = topologies::sms_of_gpu(machine, model.machine_config.gpu.sms);
  return fmt::format("farfault: machine {}: {} of {}, {}\n", shown(machine.name),
                     counted(machine.count(topologies::NodeKind::gpu), "GPU"), counted(sms, "SM"),
                     counted(machine.count(topologies::NodeKind::cpu), "CPU"));
}

std::string workload_line(Model const& model, std::uint32_t ranks, std::uint32_t threads) {
  auto const& workload = *model.workload;
  return fmt::format("farfault: {}: {} on {}; {} of {}\n", workload.name(),
                     counted(workload.kernel_count(), "kernel"), size_text(workload.footprint()),
                     counted(ranks, "rank"), counted(threads, "thread"));
}

}  // namespace farfault::cli
