// SPDX-License-Identifier: Apache-2.0
// Private: what a run is: workload and its sizes, machine, policies, program and command.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "preset_differences.hpp"

namespace farfault::cli {

struct RunFact {
  std::string label, text;
  bool is_code = false;
};

// `data`: report_data of a result. Facts that the result lacks are omitted.
std::vector<RunFact> facts_of(nlohmann::ordered_json const& data, std::optional<PresetMatch> const& preset);
// "bfs on 4 GPUs"; "Farfault" for a result without a title.
std::string run_title(nlohmann::ordered_json const& data);
std::string facts_section(std::vector<RunFact> const& facts);
// The facts of several runs. Different texts of few runs are listed; of many runs, workload, machine and
// policies have the number of different texts, and other facts that differ are omitted.
std::vector<RunFact> common_facts(std::vector<std::vector<RunFact>> const& runs);

}  // namespace farfault::cli
