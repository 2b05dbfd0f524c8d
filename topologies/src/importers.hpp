// The formats that a machine is read from. Each parser throws UserError for what it cannot read; `where` (the
// file) opens the sentence. None of them validates: parse_machine does.
#pragma once

#include <string>
#include <string_view>

#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine.hpp"
#include "farfault/topologies/machine_builder.hpp"

namespace farfault::topologies {

MachineBuilder parse_toml_machine(std::string_view text, std::string const& where,
                                  LinkDefaults const& defaults, InputLimits const& limits);
MachineBuilder parse_nccl_xml(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                              InputLimits const& limits);
MachineBuilder parse_hwloc_xml(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                               InputLimits const& limits);
MachineBuilder parse_graphml(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                             InputLimits const& limits);
MachineBuilder parse_ibnetdiscover(std::string_view text, std::string const& where,
                                   LinkDefaults const& defaults, InputLimits const& limits);
MachineBuilder parse_topograph_yaml(std::string_view text, std::string const& where,
                                    LinkDefaults const& defaults, InputLimits const& limits);

}  // namespace farfault::topologies
