// SPDX-License-Identifier: Apache-2.0
// The `farfault` program as a function. program() only wraps it; tests call it with their own streams.
//
// Guarantees: requested output is written to `out`, everything else to `err`. An error is one line,
// "farfault: <sentence>"; the errors of a configuration are one line each. Exit codes: 0 done, 1 failed run,
// 2 wrong input, 3 stopped by a signal and saved in a checkpoint.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/cli/extensions.hpp"

namespace farfault::cli {

inline constexpr int kDone = 0;
inline constexpr int kRunFailed = 1;
inline constexpr int kInputWrong = 2;
inline constexpr int kSaved = 3;

// `words` are the arguments without the program's name.
int command_line(std::vector<std::string> words, std::ostream& out, std::ostream& err,
                 Extensions const& extensions = {});

// The only function that turns exceptions into exit codes: runs `body`, and prints what it throws.
int exit_code_of(std::function<int()> const& body, std::ostream& err);

}  // namespace farfault::cli
