// SPDX-License-Identifier: Apache-2.0
// Standard error and exit status of a function that runs in a child process.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

struct Death {
  std::string printed;
  int signal = 0;
};

template <class F>
Death death_of(F const& f) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  auto const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    ::dup2(pipe_ends[1], STDERR_FILENO);
    f();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  Death death;
  std::array<char, 512> buffer{};
  for (ssize_t n = 0; (n = ::read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
    death.printed.append(buffer.data(), static_cast<std::size_t>(n));
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  death.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return death;
}
