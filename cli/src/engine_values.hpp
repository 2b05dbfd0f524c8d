// SPDX-License-Identifier: Apache-2.0
// Private: /engine of a result: which program ran where, and how it did in wall-clock time. None of it is
// part of the digest.
#pragma once

#include <cstdint>
#include <vector>

#include "density.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/results/writer.hpp"

namespace farfault::cli {

// Of the program's source; "unknown" where it was not built in a checkout, and with a remark where that was
// changed.
std::string program_commit();

// Known when the run starts. `threads`: of each rank. `thread_blocks`: that are to run, where that is known;
// `from`: the simulated time at which this program takes the run up.
std::vector<results::EngineValue> start_values(std::uint32_t threads, std::uint32_t ranks,
                                               std::uint64_t thread_blocks, Time from);

// `events`: of all ranks; `node_messages`: by the nodes of the machine.
std::vector<results::EngineValue> work_values(EngineProfile const& profile, double seconds,
                                              std::uint64_t events,
                                              std::vector<std::uint64_t> const& node_messages);

// For runs with several ranks.
std::vector<results::EngineValue> density_values(RankDensity const& density);

std::vector<results::EngineValue> critical_path_values(PathProfile const& path);

}  // namespace farfault::cli
