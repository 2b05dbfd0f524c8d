// SPDX-License-Identifier: Apache-2.0
// Private: how large a run is, told before anything expensive begins.
#pragma once

#include <cstdint>
#include <string>

namespace farfault::cli {

struct Model;

// A line each, with a line end: the machine, of a model that may not have its workload yet; what runs on it,
// and on how many ranks and threads, of one that may not have its components yet.
std::string machine_line(Model const& model);
std::string workloads_line(Model const& model, std::uint32_t ranks, std::uint32_t threads);

}  // namespace farfault::cli
