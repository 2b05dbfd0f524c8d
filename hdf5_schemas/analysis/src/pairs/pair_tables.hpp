// SPDX-License-Identifier: Apache-2.0
// Private: the tables of an explanation: activities of SMs, stages and sources of accesses, resources.
#pragma once

#include "farfault/analysis/explain_pair.hpp"
#include "pair_model.hpp"

namespace farfault::analysis {

// Fill their tables of `e` and the rests. No rows if kernel time is not split.
void add_activities(PairModel const& pair, PairExplanation& e);
void add_stages(PairModel const& pair, PairExplanation& e);
void add_sources(PairModel const& pair, PairExplanation& e);
void add_resources(PairModel const& pair, PairExplanation& e);
void add_idle_changes(PairModel const& pair, PairExplanation& e);  // after the stages

}  // namespace farfault::analysis
