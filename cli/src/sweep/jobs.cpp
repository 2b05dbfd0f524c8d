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
#include "farfault/engine/files.hpp"

namespace farfault::cli {
namespace {

constexpr int kTaken = 125, kNoLog = 126;

[[noreturn]] void child(pid_t parent, std::string const& log, std::optional<ByteSize> memory,
                        sigset_t const& mask, ChildReport const& report,
                        std::function<int(ChildReport const&)> const& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kNoLog);  // the parent has already died
  for (int const signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE}) std::signal(signal, SIG_DFL);
  int const nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) ::_exit(kNoLog);
  try {
    auto const errors = create_locked(log);
    ::dup2(errors.get(), STDERR_FILENO);  // the child shares the lock
  } catch (UserError const& e) {
    report.record(e.what());
    ::_exit(is_locked(log) ? kTaken : kNoLog);
  }
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  if (memory) {
    rlimit limits{};
    ::getrlimit(RLIMIT_AS, &limits);
    limits.rlim_cur = std::min<rlim_t>(memory->bytes, limits.rlim_max);
    ::setrlimit(RLIMIT_AS, &limits);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::_exit(body(report));
}

}  // namespace

Jobs::Jobs(std::uint32_t at_a_time, std::optional<ByteSize> memory) : at_a_time_(at_a_time), memory_(memory) {
  ::sigemptyset(&waited_);
  for (int const signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    // An ignored signal (nohup) must not be waited for: blocking it would make it pending.
    if (signal == SIGCHLD || action.sa_handler != SIG_IGN) ::sigaddset(&waited_, signal);
  }
  ::sigprocmask(SIG_BLOCK, &waited_, &before_);
}

Jobs::~Jobs() {
  send(SIGKILL);
  for (auto const& [pid, child] : children_) ::waitpid(pid, nullptr, 0);
  // Discards pending signals of children, and signals that stop() has handled.
  timespec const now{};
  while (::sigtimedwait(&waited_, nullptr, &now) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void Jobs::start(std::size_t number, std::string const& log,
                 std::function<int(ChildReport const&)> const& body) {
  ChildReport report;
  auto const parent = ::getpid();
  auto const pid = ::fork();
  if (pid < 0) throw RunError(std::string("cannot start a run: ") + std::strerror(errno));
  if (pid == 0) child(parent, log, memory_, before_, report, body);
  children_.emplace(pid, Child{number, std::move(report)});
}

std::vector<std::pair<std::size_t, RunShare>> Jobs::shares() const {
  std::vector<std::pair<std::size_t, RunShare>> all;
  for (auto const& [pid, child] : children_) all.emplace_back(child.number, child.report.share());
  return all;
}

std::optional<JobEnd> Jobs::reap() {
  for (auto it = children_.begin(); it != children_.end(); ++it) {
    int status = 0;
    rusage used{};
    if (::wait4(it->first, &status, WNOHANG, &used) != it->first) continue;
    JobEnd end;
    end.number = it->second.number;
    end.sentence = it->second.report.sentence();
    if (WIFSIGNALED(status))
      end.signal = WTERMSIG(status);
    else
      end.exit_code = WEXITSTATUS(status);
    end.taken = end.exit_code == kTaken;
    end.peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
    children_.erase(it);
    return end;
  }
  return std::nullopt;
}

std::optional<JobEnd> Jobs::wait(double seconds) {
  // A signal to all processes of a job may have ended a child, too: it must be known before the child's end.
  timespec const now{};
  for (int signal = 0; (signal = ::sigtimedwait(&waited_, nullptr, &now)) > 0;) handle(signal);
  if (auto const end = reap()) return end;
  timespec const time{static_cast<time_t>(seconds),
                      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  if (auto const signal = ::sigtimedwait(&waited_, nullptr, &time); signal > 0) handle(signal);
  return reap();
}

void Jobs::handle(int signal) {
  if (signal == SIGCHLD) return;
  if (!stopping_)
    stop();
  else if (signal == SIGINT)
    send(SIGKILL);
  if (stopped_by_ == 0) stopped_by_ = signal;
}

void Jobs::stop() {
  stopping_ = true;
  send(SIGTERM);
}

void Jobs::send(int signal) {
  for (auto const& [pid, child] : children_) ::kill(pid, signal);
}

}  // namespace farfault::cli
