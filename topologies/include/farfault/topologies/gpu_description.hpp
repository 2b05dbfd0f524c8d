// SPDX-License-Identifier: Apache-2.0
// The inside of a GPU of a configuration, for users and programs: its SMs, the levels of TLBs up to the GMMU,
// the L2 cache and the memory.
//
// - gpu_text: one line for each kind of component, with number, place and size.
// - gpu_json: one object, {"sms":108,"levels":[{"name":"utlb","groups":54,"banks":1,...}],...}.
// - gpu_dot: the graph of the translation in Graphviz's language, from SMs to the GMMU; edges have the
//   latency.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/topologies/machine_config.hpp"

namespace farfault::topologies {

// `sms`: of each GPU (sm_count.hpp).
std::string gpu_text(MachineConfig const& config, std::uint32_t sms);
std::string gpu_json(MachineConfig const& config, std::uint32_t sms);
std::string gpu_dot(MachineConfig const& config, std::uint32_t sms);

}  // namespace farfault::topologies
