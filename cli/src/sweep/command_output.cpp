// SPDX-License-Identifier: Apache-2.0
#include "command_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::cli {
namespace {

// Until the program closes its output; false where that takes too long. Time counts in slices that have
// passed here, so that a stopped job is not charged for its pause.
bool hear(int from, std::chrono::milliseconds longest, std::string& said) {
  constexpr std::size_t kMostSaid = std::size_t{1} << 16;
  constexpr std::chrono::milliseconds kSlice{100};
  std::array<char, 4096> buffer{};
  for (std::chrono::milliseconds waited{0}; waited < longest;) {
    struct pollfd event {
      from, POLLIN, 0
    };
    auto const ready = ::poll(&event, 1, static_cast<int>(kSlice.count()));
    if (ready == 0) waited += kSlice;
    if (ready <= 0) continue;
    auto const n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    said.append(buffer.data(), std::min(static_cast<std::size_t>(n), kMostSaid - said.size()));
  }
  return false;
}

}  // namespace

CommandEnd output_of(std::string const& command, std::chrono::milliseconds longest) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw RunError(std::string("cannot make a pipe: ") + std::strerror(errno));
  FileHandle const from(ends[0]);
  FileHandle to(ends[1]);
  auto const line = "exec " + command;
  auto const pid = ::fork();
  if (pid < 0) throw RunError(std::string("cannot start a program: ") + std::strerror(errno));
  if (pid == 0) {
    ::dup2(to.get(), STDOUT_FILENO);
    ::dup2(to.get(), STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  to = FileHandle();
  CommandEnd end;
  end.in_time = hear(from.get(), longest, end.said);
  if (!end.in_time) ::kill(pid, SIGKILL);
  while (::waitpid(pid, &end.status, 0) < 0 && errno == EINTR) continue;
  return end;
}

}  // namespace farfault::cli
