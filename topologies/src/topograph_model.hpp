// SPDX-License-Identifier: Apache-2.0
// Private: a cluster model of topograph, as stated in its file; formats/topograph_yaml.cpp builds the
// machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/input_limits.hpp"
#include "import_rules.hpp"

namespace farfault::topologies {

struct TopographSwitch {
  std::string name, domain;
  std::vector<std::string> below;   // switches
  std::vector<std::string> blocks;  // by name
};

struct TopographBlock {
  std::string name, leaf, domain, gpu;
};

struct TopographHost {
  std::string name;
  std::string leaf, domain, block;  // empty: not stated by the node itself
  std::size_t in_block = SIZE_MAX;  // number of the block that lists the host
  std::uint32_t gpus = 0;           // 0: not stated
  std::string gpu;                  // model
};

struct TopographModel {
  std::vector<TopographSwitch> switches;
  std::vector<TopographBlock> blocks;
  std::vector<TopographHost> hosts;
};

// Throws UserError, with the line, for an invalid model and for more names or nodes than the limits allow.
TopographModel read_topograph(std::string_view text, std::string const& where, InputLimits const& limits,
                              Decisions& decisions);

}  // namespace farfault::topologies
