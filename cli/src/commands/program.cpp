// SPDX-License-Identifier: Apache-2.0
#include "farfault/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "farfault/cli/command_line.hpp"

namespace farfault {
namespace {

// If a descriptor of standard input, output or error is closed, the next opened file would get its number,
// and messages would be written into a result.
void occupy_standard_descriptors() {
  for (;;) {
    auto const descriptor = ::open("/dev/null", O_RDWR);
    if (descriptor < 0) return;
    if (descriptor > STDERR_FILENO) {
      ::close(descriptor);
      return;
    }
  }
}

}  // namespace

int program(int argc, char** argv, Extensions const& extensions) {
  occupy_standard_descriptors();
  return cli::command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), std::cout,
                           std::cerr, extensions);
}

}  // namespace farfault
