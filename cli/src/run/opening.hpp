// SPDX-License-Identifier: Apache-2.0
// Private: the size of a run, printed before any expensive step.
#pragma once

#include <cstdint>
#include <string>

namespace farfault::cli {

struct Model;

// One line each, with a line end: the machine, for a model that may not have its workload yet; the workload,
// ranks and threads, for a model that may not have its components yet.
std::string machine_line(Model const& model);
std::string workloads_line(Model const& model, std::uint32_t ranks, std::uint32_t threads);

}  // namespace farfault::cli
