// SPDX-License-Identifier: Apache-2.0
// Private: checks that all ranks are about to simulate the same thing.
//
// Ranks that differ would hang, crash, or simulate no valid model, so everything that must be equal is
// compared before it is used. Agreement costs two reductions per rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "farfault/cli/run_options.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/engine.hpp"

namespace farfault::cli {

struct Model;

// A value that must be equal on all ranks.
struct Fact {
  std::string subject;  // "gpu.l1_tlb.latency"
  std::string value;
  std::string origin;  // origin of the value, for messages; not compared
};

// The difference between the facts of rank 0 and of the first rank that deviates, as a sentence.
std::optional<std::string> disagreement(std::vector<std::vector<Fact>> const& by_rank);

// All ranks call it alike. Returns true if all have the same facts; else rank 0 throws UserError and the
// others return false.
bool agree(Transport& transport, std::vector<Fact> const& facts);

std::vector<Fact> facts_of_program();
// The options that shape a run (except the number of threads, which may differ), the configuration, and the
// content of the machine file.
std::vector<Fact> facts_of_configuration(RunOptions const& options, Model const& model);
// The contents of all workload files, and the workloads built from them.
std::vector<Fact> facts_of_workloads(Model const& model);
// The components of the model and their ranks.
std::vector<Fact> facts_of_components(System const& system, Placement const& placement);
Fact fact_of_checkpoint(Checkpoint const& checkpoint);

}  // namespace farfault::cli
