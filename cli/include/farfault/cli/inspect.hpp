// SPDX-License-Identifier: Apache-2.0
// What any input or output file is and holds, told from its content, never from its name.
//
// Guarantees: reads only; a file of any content ends in a description or in a UserError. The first line of
// the readable form is "<file>: <kind> ..."; the JSON form is one object on one line whose "kind" is
// "topology", "graph", "trace", "result" or "checkpoint".
#pragma once

#include <iosfwd>
#include <string>

#include "farfault/engine/input_limits.hpp"
#include "farfault/topologies/load.hpp"

namespace farfault::cli {

enum class InspectForm { readable, json, dot };  // dot: the machine as a Graphviz graph, topologies only

// `file` may also be the name of a built-in machine. `more`: machine files from outside the project.
void inspect(std::string const& file, InspectForm form, std::ostream& out, InputLimits const& limits = {},
             topologies::MachineFormats const& more = {});

}  // namespace farfault::cli
