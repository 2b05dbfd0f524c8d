// SPDX-License-Identifier: Apache-2.0
// The `farfault` program as a function: program() is nothing else, and tests call it with streams of their
// own.
//
// Guarantees: what a user asked for goes to `out`; anything else goes to `err`. A failure is one line,
// "farfault: <sentence>"; the mistakes of a configuration are a line each. Returns the exit code: 0 done, 1
// the run failed, 2 the user's input was wrong, 3 the run was stopped by a signal and saved in a checkpoint.
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

// The one place where exceptions become exit codes: runs `body`, and prints what it throws.
int exit_code_of(std::function<int()> const& body, std::ostream& err);

}  // namespace farfault::cli
