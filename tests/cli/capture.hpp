// SPDX-License-Identifier: Apache-2.0
// The program called as a function, with its output.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "farfault/cli/command_line.hpp"

struct Called {
  int code = 0;
  std::string out;
  std::string err;
};

inline Called farfault_program(std::vector<std::string> words) {
  std::ostringstream out, err;
  auto const code = farfault::cli::command_line(std::move(words), out, err);
  return {code, out.str(), err.str()};
}
