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
#include <thread>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSlice{100}, kPause{5};

// The remaining time of a program. A pause of this process, as by SIGSTOP, counts as one slice.
class TimeLeft {
 public:
  explicit TimeLeft(std::chrono::milliseconds longest) : left_(longest) {}
  bool none() {
    auto const now = Clock::now();
    left_ -= std::min<Clock::duration>(now - last_, kSlice);
    last_ = now;
    return left_ <= Clock::duration::zero();
  }

 private:
  Clock::duration left_;
  Clock::time_point last_ = Clock::now();
};

// Collects the output until the program closes it. Returns false if the time is up first.
bool collect(int from, TimeLeft& time, std::string& output) {
  constexpr std::size_t kMaxOutput = std::size_t{1} << 16;
  std::array<char, 4096> buffer{};
  while (!time.none()) {
    struct pollfd event {
      from, POLLIN, 0
    };
    if (::poll(&event, 1, static_cast<int>(kSlice.count())) <= 0) continue;
    auto const n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    output.append(buffer.data(), std::min(static_cast<std::size_t>(n), kMaxOutput - output.size()));
  }
  return false;
}

// A program may close its output and continue.
bool ends(pid_t pid, TimeLeft& time, int& status) {
  for (;;) {
    auto const ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return true;
    if (time.none()) return false;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

CommandEnd output_of(std::string const& command, std::chrono::milliseconds longest) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    throw RunError(std::string("cannot create a pipe: ") + std::strerror(errno));
  FileHandle const from(pipe[0]);
  FileHandle to(pipe[1]);
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
  TimeLeft time(longest);
  end.in_time = collect(from.get(), time, end.output) && ends(pid, time, end.status);
  if (end.in_time) return end;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, &end.status, 0) < 0 && errno == EINTR) continue;
  return end;
}

}  // namespace farfault::cli
