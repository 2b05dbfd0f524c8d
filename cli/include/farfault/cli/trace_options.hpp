// SPDX-License-Identifier: Apache-2.0
// Options of a trace: a window of simulated time (--trace) and its limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault::cli {

struct TraceOptions {
  Time from{};
  Time to{};
  std::vector<std::string> components;  // patterns of the components that get a track; empty: all
  std::string output;                   // empty: named after the result
  std::uint64_t one_in = 16;            // sampling: one in this number of transactions
  std::uint64_t most = 50'000;          // maximum number of transactions, divided among the SMs
};

// Parses "10us,20us,gpu0.sm*,cpu0". Throws UserError if the text is not a valid window.
TraceOptions trace_window(std::string const& text);
// The window and the components in the same syntax.
std::string text_of(TraceOptions const& trace);

// True if the pattern selects the path: `*` matches any characters, `?` one character; a pattern without
// either also selects everything below it.
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace farfault::cli
