// SPDX-License-Identifier: Apache-2.0
// Private: runs another program and collects its output.
#pragma once

#include <chrono>
#include <string>

namespace farfault::cli {

struct CommandEnd {
  bool in_time = true;  // false: it was killed
  int status = 0;       // as waitpid() gives it
  std::string said;     // on standard output and standard error, the first 64 KiB
};

// Runs `command`, a line of the shell that begins with the program, for at most `longest`. Throws RunError
// where it cannot be started.
CommandEnd output_of(std::string const& command, std::chrono::milliseconds longest);

}  // namespace farfault::cli
