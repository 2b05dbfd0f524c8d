// SPDX-License-Identifier: Apache-2.0
// Identifies any input or output file by its content, never by its name, and summarizes it.
//
// Guarantees: reads only; any content results in a description or a UserError. The first line of the readable
// form is "<file>: <kind> ..."; the JSON form is one object on one line, whose "kind" is "topology",
// "configuration" (the inside of its GPUs is described), "graph", "trace", "result" or "checkpoint".
#pragma once

#include <iosfwd>
#include <string>

#include "farfault/cli/extensions.hpp"
#include "farfault/engine/input_limits.hpp"

namespace farfault::cli {

// dot: a Graphviz graph, of a machine, or of a configuration's GPU.
enum class InspectForm { readable, json, dot };

// `file` may also be the name of a built-in machine, or else of a preset.
void inspect(std::string const& file, InspectForm form, std::ostream& out, InputLimits const& limits = {},
             Extensions const& extensions = {});

}  // namespace farfault::cli
