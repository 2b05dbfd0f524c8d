// SPDX-License-Identifier: Apache-2.0
// Exit codes of the program, and the messages of a failure.
#pragma once

#include <functional>
#include <iosfwd>

namespace farfault::cli {

inline constexpr int kDone = 0;
inline constexpr int kRunFailed = 1;   // RunError, out of memory, or any other exception
inline constexpr int kInputWrong = 2;  // UserError, ConfigErrors
inline constexpr int kSaved = 3;       // stopped by a signal and saved in a checkpoint

// Runs `body` and returns its code. For an exception: prints "farfault: " and the message to `err`, one line
// per error, and returns the code above. A line of more than 900 bytes is shortened in the middle. No
// other function turns exceptions into exit codes.
int exit_code_of(std::function<int()> const& body, std::ostream& err);

}  // namespace farfault::cli
