// SPDX-License-Identifier: Apache-2.0
// Private: whether all ranks are about to simulate the same thing.
//
// Ranks that differ would hang, crash, or compute the answer of no model at all; so what must be equal is
// compared before anything depends on it. A rank that agrees costs two reductions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "farfault/cli/simulation.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/engine.hpp"

namespace farfault::cli {

struct Model;

// Something that must be equal on all ranks.
struct Fact {
  std::string subject;  // "gpu.l1_tlb.latency"
  std::string value;
  std::string origin;  // where the value comes from, for people; not compared
};

// What differs between the facts of rank 0 and those of the first rank that has others, as a sentence.
std::optional<std::string> disagreement(std::vector<std::vector<Fact>> const& by_rank);

// All ranks call it alike. True where all have the same facts; else rank 0 throws UserError and the others
// return false.
bool agree(Transport& transport, std::vector<Fact> const& facts);

std::vector<Fact> facts_of_program();
// The options that shape a run (how many threads a rank has is its own affair), the configuration, and the
// content of the machine's file.
std::vector<Fact> facts_of_configuration(RunOptions const& options, Model const& model);
// The contents of the files of all workloads, and what was made of them.
std::vector<Fact> facts_of_workloads(Model const& model);
// The components of the model and which rank has which of them.
std::vector<Fact> facts_of_components(System const& system, Placement const& placement);
Fact fact_of_checkpoint(Checkpoint const& checkpoint);

}  // namespace farfault::cli
