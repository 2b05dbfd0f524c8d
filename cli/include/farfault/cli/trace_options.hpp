// SPDX-License-Identifier: Apache-2.0
// The trace of a stretch of simulated time that a run is asked for: --trace and what goes with it.
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
  std::vector<std::string> components;  // whose tracks are written, as patterns of their paths; empty: all
  std::string output;                   // empty: named after the result
  std::uint64_t one_in = 16;            // of so many transactions one is followed
  std::uint64_t most = 50'000;          // transactions, dealt out to the SMs
};

// Of "10us,20us,gpu0.sm*,cpu0". Throws UserError where that is no window.
TraceOptions trace_window(std::string const& text);
// The window and the components, as such a text.
std::string text_of(TraceOptions const& trace);

// Whether a component of this path is meant: `*` stands for any characters, `?` for one; a pattern without
// either means what is below it too.
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace farfault::cli
