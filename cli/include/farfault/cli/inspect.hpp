// SPDX-License-Identifier: Apache-2.0
// Identifies any input or output file by its content, never by its name, and summarizes it.
//
// Guarantees: reads only; any content results in a description or a UserError. The first line of the readable
// form is "<file>: <kind> ..."; the JSON form is one object on one line, whose "kind" is "topology", "graph",
// "trace", "result" or "checkpoint".
#pragma once

#include <iosfwd>
#include <string>

#include "farfault/engine/input_limits.hpp"
#include "farfault/topologies/load.hpp"

namespace farfault::cli {

enum class InspectForm { readable, json, dot };  // dot: the machine as a Graphviz graph, topologies only

// `file` may also be the name of a built-in machine. `more`: machine formats of extensions.
void inspect(std::string const& file, InspectForm form, std::ostream& out, InputLimits const& limits = {},
             topologies::MachineFormats const& more = {});

}  // namespace farfault::cli
