// SPDX-License-Identifier: Apache-2.0
// Private: /engine of a result: the program, its placement on hosts, and its wall-clock performance. None of
// it is part of the digest.
#pragma once

#include <cstdint>
#include <vector>

#include "density.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/results/writer.hpp"

namespace farfault::cli {

// Commit of the program's source; "unknown" if it was not built in a checkout; with a remark if the source
// was modified.
std::string program_commit();

// True if program_commit() identifies the program. `extended`: it has extensions, which belong to no commit.
bool commit_identifies_program(bool extended);
// Identifies the program: hash of its version, its commit and, unless the commit identifies it, its build.
std::uint64_t program_hash(bool extended);

// Values that are known at the start of a run. `threads`: per rank. `thread_blocks`: planned, if known;
// `from`: the simulated time at which this program continues the run.
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
