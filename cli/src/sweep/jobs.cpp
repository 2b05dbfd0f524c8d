// SPDX-License-Identifier: Apache-2.0
#include "jobs.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

constexpr int kNoLog = 126;

[[noreturn]] void child(pid_t parent, std::string const& log, std::optional<ByteSize> memory,
                        sigset_t const& mask, std::function<int()> const& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kNoLog);  // it has died already
  for (int const signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE}) std::signal(signal, SIG_DFL);
  int const nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  int const errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (nowhere < 0 || errors < 0) ::_exit(kNoLog);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  if (memory) {
    rlimit limits{};
    ::getrlimit(RLIMIT_AS, &limits);
    limits.rlim_cur = std::min<rlim_t>(memory->bytes, limits.rlim_max);
    ::setrlimit(RLIMIT_AS, &limits);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::_exit(body());
}

}  // namespace

Jobs::Jobs(std::uint32_t at_a_time, std::optional<ByteSize> memory) : at_a_time_(at_a_time), memory_(memory) {
  ::sigemptyset(&waited_);
  for (int const signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    // One that is ignored (nohup) must not be waited for: blocked, it would come.
    if (signal == SIGCHLD || action.sa_handler != SIG_IGN) ::sigaddset(&waited_, signal);
  }
  ::sigprocmask(SIG_BLOCK, &waited_, &before_);
}

Jobs::~Jobs() {
  send(SIGKILL);
  for (auto const& [pid, number] : children_) ::waitpid(pid, nullptr, 0);
  // Of those that were blocked, none of a child may be left over, nor one that stop() has answered.
  timespec const now{};
  while (::sigtimedwait(&waited_, nullptr, &now) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void Jobs::start(std::size_t number, std::string const& log, std::function<int()> const& body) {
  auto const parent = ::getpid();
  auto const pid = ::fork();
  if (pid < 0) throw RunError(std::string("cannot start a run: ") + std::strerror(errno));
  if (pid == 0) child(parent, log, memory_, before_, body);
  children_.emplace(pid, number);
}

std::optional<JobEnd> Jobs::reap() {
  for (auto it = children_.begin(); it != children_.end(); ++it) {
    int status = 0;
    rusage used{};
    if (::wait4(it->first, &status, WNOHANG, &used) != it->first) continue;
    JobEnd end;
    end.number = it->second;
    if (WIFSIGNALED(status))
      end.signal = WTERMSIG(status);
    else
      end.exit_code = WEXITSTATUS(status);
    end.peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
    children_.erase(it);
    return end;
  }
  return std::nullopt;
}

std::optional<JobEnd> Jobs::wait(double seconds) {
  if (auto const end = reap()) return end;
  timespec const time{static_cast<time_t>(seconds),
                      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  auto const signal = ::sigtimedwait(&waited_, nullptr, &time);
  if (signal > 0 && signal != SIGCHLD) {
    if (stopping_)
      send(SIGKILL);
    else
      stop();
    if (stopped_by_ == 0) stopped_by_ = signal;
  }
  return reap();
}

void Jobs::stop() {
  stopping_ = true;
  send(SIGTERM);
}

void Jobs::send(int signal) {
  for (auto const& [pid, number] : children_) ::kill(pid, signal);
}

}  // namespace farfault::cli
