// SPDX-License-Identifier: Apache-2.0
// Exit codes of the program, and the messages of a failure.
#pragma once

#include <functional>
#include <iosfwd>

namespace farfault::cli {

inline constexpr int kDone = 0;
inline constexpr int kRunFailed = 1;
inline constexpr int kInputWrong = 2;
inline constexpr int kSaved = 3;  // stopped by a signal and saved in a checkpoint

// The only function that turns exceptions into exit codes: runs `body`, and prints what it throws.
int exit_code_of(std::function<int()> const& body, std::ostream& err);

}  // namespace farfault::cli
