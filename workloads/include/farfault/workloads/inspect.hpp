// SPDX-License-Identifier: Apache-2.0
// Output of `farfault inspect` for graphs and traces.
//
// - looks_like_*: examine the first 64 KiB (of the folder of a trace: of its kernelslist.g). Return false for
//   input that cannot be read.
// - describe_*: read and check the whole input. Throw UserError if it is invalid.
// - JSON: one line; the key "kind" is "graph" or "trace".
#pragma once

#include <string>

#include "farfault/engine/input_limits.hpp"

namespace farfault::workloads {

bool looks_like_graph(std::string const& path);
std::string describe_graph_json(std::string const& path, InputLimits const& limits = {});
std::string describe_graph_text(std::string const& path, InputLimits const& limits = {});

bool looks_like_trace(std::string const& path);
std::string describe_trace_json(std::string const& path, InputLimits const& limits = {});
std::string describe_trace_text(std::string const& path, InputLimits const& limits = {});

}  // namespace farfault::workloads
