// SPDX-License-Identifier: Apache-2.0
// Private: runs another program and collects its output.
#pragma once

#include <chrono>
#include <string>

namespace farfault::cli {

struct CommandEnd {
  bool in_time = true;  // false: it was killed
  int status = 0;       // of waitpid()
  std::string output;   // standard output and standard error, the first 64 KiB
};

// Runs `command`, a shell command line that begins with the program, for at most `longest`, even if it is
// silent or has closed its output. Throws RunError if it cannot be started.
CommandEnd output_of(std::string const& command, std::chrono::milliseconds longest);

}  // namespace farfault::cli
