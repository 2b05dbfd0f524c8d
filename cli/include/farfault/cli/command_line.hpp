// SPDX-License-Identifier: Apache-2.0
// The `farfault` program as a function. program() only wraps it; tests call it with their own streams.
//
// Guarantees: requested output is written to `out`, everything else to `err`. An error is one line,
// "farfault: <sentence>"; the errors of a configuration are one line each (exit_codes.hpp).
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/cli/exit_codes.hpp"
#include "farfault/cli/extensions.hpp"

namespace farfault::cli {

// `words` are the arguments without the program's name.
int command_line(std::vector<std::string> words, std::ostream& out, std::ostream& err,
                 Extensions const& extensions = {});

}  // namespace farfault::cli
