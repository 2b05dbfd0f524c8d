// SPDX-License-Identifier: Apache-2.0
// The output of another program, and its time limit.
#include "sweep/command_output.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>

namespace command_output_test {

using namespace farfault::cli;
using namespace std::chrono_literals;

TEST_CASE("the output of a command includes both streams and the exit code") {
  auto const end = output_of("sh -c 'echo 12; echo no >&2; exit 3'", 60s);
  CHECK(end.in_time);
  CHECK(end.output == "12\nno\n");
  CHECK(WEXITSTATUS(end.status) == 3);
}

TEST_CASE("a command that is silent, prints endlessly or closes its output is killed at its timeout") {
  for (std::string const command : {"sleep 60", "yes", "sh -c 'while :; do echo x; sleep 0.01; done'",
                                    "sh -c 'exec >&- 2>&-; exec sleep 60'"}) {
    CAPTURE(command);
    auto const end = output_of(command, 300ms);
    CHECK_FALSE(end.in_time);
    CHECK(WIFSIGNALED(end.status));
    CHECK(end.output.size() <= 65536);
  }
}

}  // namespace command_output_test
