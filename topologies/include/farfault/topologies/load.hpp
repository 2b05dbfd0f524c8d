// SPDX-License-Identifier: Apache-2.0
// Machines from files and by name.
//
// A machine is named by a built-in name ("dgx1") or by a file whose format is found from its content, never
// from its name. Machine::format says which it was: "builtin", NCCL/RCCL topology XML "nccl-xml", hwloc XML
// (versions 2 and 3) "hwloc-xml", GraphML "graphml", machine TOML "toml", ibnetdiscover output
// "ibnetdiscover", topograph cluster models "topograph-yaml" ("generated" is what generators.hpp makes). What
// the source does not say is taken from LinkDefaults or left out, and a sentence about it is added to
// Machine::assumed. Guarantees: the machine has passed validate(). Files of at most 64 MiB (YAML: 8 MiB) and
// 4 million XML tags and attributes are read, which describe no more names, nodes and links than the limits
// say; hostile ones (deep nesting, truncation, references to nothing) end in a UserError. Time and memory
// grow with what a file describes, no faster than n log n. Errors: UserError with the file (or name), for
// TOML also the line, the value and the rule.
//
// Formats from outside the project are tried first, in their order; what they make of a file is validated as
// well.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/input_limits.hpp"
#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine.hpp"
#include "farfault/topologies/machine_builder.hpp"

namespace farfault::topologies {

// A file format of machines.
struct MachineFormat {
  std::string name;  // Machine::format is its business
  std::string text;  // what it is, as one clause
  // Whether a text is of this format: all of it, or its first 64 KiB. Never throws.
  bool (*opens)(std::string_view text);
  // Throws UserError, which `where` (the file) opens, for what it cannot read.
  MachineBuilder (*parse)(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                          InputLimits const& limits);
};
using MachineFormats = std::vector<MachineFormat>;

Machine load_machine(std::string const& file_or_name, LinkDefaults const& defaults = {},
                     InputLimits const& limits = {}, MachineFormats const& more = {});

// As load_machine, for a text in memory; `name` stands for the file in messages.
Machine parse_machine(std::string_view text, std::string const& name, LinkDefaults const& defaults = {},
                      InputLimits const& limits = {}, MachineFormats const& more = {});

// Names of the built-in machines, sorted.
std::vector<std::string> builtin_machines();

// Whether the content of the file opens like one of the formats above: cheap, reads 64 KiB, never throws.
bool looks_like_machine(std::string const& path, MachineFormats const& more = {});

}  // namespace farfault::topologies
