// SPDX-License-Identifier: Apache-2.0
// Machines from files and by name.
//
// - A machine is given by a built-in name ("dgx1") or by a file, whose format is detected by its content,
//   never by its name. Formats of extensions are tried first, in their order.
// - Values that the source lacks are taken from LinkDefaults or omitted, with a sentence in
//   Machine::assumed.
// - Guarantees: the machine, of a built-in or an added format, has passed validate(). Time and memory grow
//   with the described machine, at most as n log n.
// - Limits: files of at most 64 MiB (YAML: 8 MiB), 4 million XML tags and attributes, and the numbers of
//   names, nodes and links in InputLimits. Hostile files (deep nesting, truncation, dangling references)
//   cause a UserError.
// - Errors: UserError with the file (or name); for TOML also the line, the value and the rule.
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
  std::string name;  // parse() sets Machine::format itself
  std::string text;  // description, as one clause
  // True if a text has this format. It is given the complete text or its first 64 KiB. Never throws.
  bool (*opens)(std::string_view text);
  // Throws UserError for an invalid file; the message begins with `where` (the file).
  MachineBuilder (*parse)(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                          InputLimits const& limits);
};
using MachineFormats = std::vector<MachineFormat>;

Machine load_machine(std::string const& file_or_name, LinkDefaults const& defaults = {},
                     InputLimits const& limits = {}, MachineFormats const& more = {});

// Like load_machine, for a text in memory; `name` replaces the file in messages.
Machine parse_machine(std::string_view text, std::string const& name, LinkDefaults const& defaults = {},
                      InputLimits const& limits = {}, MachineFormats const& more = {});

// Names of the built-in machines, sorted.
std::vector<std::string> builtin_machines();

// True if the file begins like one of the formats: cheap, reads 64 KiB, never throws.
bool looks_like_machine(std::string const& path, MachineFormats const& more = {});

}  // namespace farfault::topologies
