// SPDX-License-Identifier: Apache-2.0
#include "jobs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
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
                        sigset_t const& mask, LastLine const& word,
                        std::function<int(LastLine const&)> const& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kNoLog);  // the parent has already died
  for (int const signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE}) std::signal(signal, SIG_DFL);
  int const nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) ::_exit(kNoLog);
  try {
    auto const errors = create_locked(log);
    ::dup2(errors.get(), STDERR_FILENO);  // the child shares the lock
  } catch (UserError const& e) {
    word.record(e.what());
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
  ::_exit(body(word));
}

}  // namespace

LastLine::LastLine() {
  auto* const page = ::mmap(nullptr, kBytes + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw RunError(std::string("cannot start a run: ") + std::strerror(errno));
  text_ = static_cast<char*>(page);
}

LastLine::~LastLine() {
  if (text_ != nullptr) ::munmap(text_, kBytes + 1);
}

void LastLine::record(std::string const& text) const {
  auto const size = std::min(text.size(), kBytes);
  std::memcpy(text_, text.data(), size);
  text_[size] = '\0';
}

std::string LastLine::recorded() const {
  return {text_, ::strnlen(text_, kBytes)};
}

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
                 std::function<int(LastLine const&)> const& body) {
  LastLine word;
  auto const parent = ::getpid();
  auto const pid = ::fork();
  if (pid < 0) throw RunError(std::string("cannot start a run: ") + std::strerror(errno));
  if (pid == 0) child(parent, log, memory_, before_, word, body);
  children_.emplace(pid, Child{number, std::move(word)});
}

std::optional<JobEnd> Jobs::reap() {
  for (auto it = children_.begin(); it != children_.end(); ++it) {
    int status = 0;
    rusage used{};
    if (::wait4(it->first, &status, WNOHANG, &used) != it->first) continue;
    JobEnd end;
    end.number = it->second.number;
    end.last_sentence = it->second.word.recorded();
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
  for (auto const& [pid, child] : children_) ::kill(pid, signal);
}

}  // namespace farfault::cli
