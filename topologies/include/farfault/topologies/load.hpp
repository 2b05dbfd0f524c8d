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
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/input_limits.hpp"
#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

Machine load_machine(std::string const& file_or_name, LinkDefaults const& defaults = {},
                     InputLimits const& limits = {});

// As load_machine, for a text in memory; `name` stands for the file in messages.
Machine parse_machine(std::string_view text, std::string const& name, LinkDefaults const& defaults = {},
                      InputLimits const& limits = {});

// Names of the built-in machines, sorted.
std::vector<std::string> builtin_machines();

// Whether the content of the file opens like one of the formats above: cheap, reads 64 KiB, never throws.
bool looks_like_machine(std::string const& path);

}  // namespace farfault::topologies
