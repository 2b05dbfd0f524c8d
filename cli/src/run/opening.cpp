// SPDX-License-Identifier: Apache-2.0
#include "opening.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/sm_count.hpp"
#include "model/model.hpp"
#include "process/counted.hpp"

namespace farfault::cli {

namespace {

std::string size_text(std::uint64_t bytes) {
  constexpr double kKi = 1024;
  auto const size = static_cast<double>(bytes);
  if (size < kKi * kKi) return fmt::format("{:.1f} KiB", size / kKi);
  if (size < kKi * kKi * kKi) return fmt::format("{:.1f} MiB", size / kKi / kKi);
  return fmt::format("{:.1f} GiB", size / kKi / kKi / kKi);
}

std::string names_of(Applications const& applications) {
  constexpr std::uint32_t kMax = 8;
  if (applications.count() == 1) return applications[0].workload->name();
  std::string names;
  for (std::uint32_t a = 0; a < std::min(applications.count(), kMax); ++a)
    names += (a == 0 ? "" : ", ") + applications[a].name;
  return fmt::format("{} applications ({}{})", applications.count(), names,
                     applications.count() > kMax ? ", ..." : "");
}

}  // namespace

std::string machine_line(Model const& model) {
  auto const& machine = model.machine;
  auto const sms = topologies::sms_of_gpu(machine, model.machine_config.gpu.sms);
  return fmt::format("farfault: machine {}: {} of {}, {}\n", shown(machine.name),
                     counted(machine.count(topologies::NodeKind::gpu), "GPU"), counted(sms, "SM"),
                     counted(machine.count(topologies::NodeKind::cpu), "CPU"));
}

std::string workloads_line(Model const& model, std::uint32_t ranks, std::uint32_t threads) {
  auto const& set = model.applications;
  return fmt::format("farfault: {}: {} on {}; {} of {}\n", names_of(set.applications()),
                     counted(set.applications().kernels(), "kernel"), size_text(set.footprint()),
                     counted(ranks, "rank"), counted(threads, "thread"));
}

}  // namespace farfault::cli
