// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/reading/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <thread>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/reading/walk.hpp"

namespace farfault::results {
namespace {

#ifndef __has_feature  // for compilers other than Clang
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer)
constexpr bool kLimitMemory = false;  // a sanitizer reserves terabytes of addresses
#else
constexpr bool kLimitMemory = true;
#endif
constexpr rlim_t kMemory = rlim_t{4} << 30;
constexpr std::uint64_t kBytesPerSecond =
    200'000;  // stored bytes: slower than any machine checks a sound file, well compressed or not
constexpr rlim_t kSeconds = 10;
// Wall-clock time per second of processor time, for a file on a slow network and a loaded machine.
constexpr std::uint64_t kWaiting = 6;
constexpr std::size_t kMaxAnswer = std::size_t{1} << 28;
constexpr std::array kStops = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};  // sent by a user, not caused by the file
constexpr int kOutOfMemory = 4, kOtherFault = 3;                   // exit codes of the child

std::uint64_t cpu_seconds(std::uint64_t file_bytes) {
  return kSeconds + file_bytes / kBytesPerSecond;
}

void limit(int what, rlim_t value) {
  struct rlimit limits {};
  if (::getrlimit(static_cast<__rlimit_resource>(what), &limits) != 0) return;
  if (limits.rlim_max != RLIM_INFINITY && limits.rlim_max < value) value = limits.rlim_max;
  limits.rlim_cur = value;
  ::setrlimit(static_cast<__rlimit_resource>(what), &limits);
}

void send(int fd, char verdict, std::string const& text) {
  auto const message = verdict + text;
  for (std::size_t done = 0; done < message.size();) {
    auto const n = ::write(fd, message.data() + done, message.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(kOtherFault);
    done += static_cast<std::size_t>(n);
  }
}

[[noreturn]] void child(int fd, std::string const& path, std::uint64_t file_bytes,
                        std::function<std::string(ObjectId)> const& read) {
  // The program's handlers would report a crash of the child as a crash of the program.
  for (int const signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGPIPE})
    std::signal(signal, SIG_DFL);
  for (int const signal : kStops)
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, cpu_seconds(file_bytes));
  if (kLimitMemory) limit(RLIMIT_AS, kMemory);
  int const nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  try {
    quiet();
    auto const file = open_to_read(path, "HDF5 cannot open it");
    forbid_opening();
    send(fd, 'K', read(file));
  } catch (UserError const& problem) {
    send(fd, 'U', problem.what());
  } catch (OtherSchema const& problem) {
    send(fd, 'S', problem.what());
  } catch (Hdf5Failure const& problem) {
    send(fd, 'H', problem.what());
  } catch (std::bad_alloc const&) {
    ::_exit(kOutOfMemory);
  } catch (std::exception const&) {
    ::_exit(kOtherFault);
  }
  ::_exit(0);
}

// Reads the complete answer of the child. Kills a child that takes longer than `longest` or sends more than
// any sound file produces. Time counts in slices that elapse here, so that a suspended job is not charged for
// its pause.
std::string answer_of(pid_t child, int fd, std::chrono::milliseconds longest) {
  using namespace std::chrono_literals;
  auto const slice = std::min<std::chrono::milliseconds>(longest, 1s);
  std::chrono::milliseconds waited{0};
  std::string answer;
  std::array<char, 65536> buffer;
  for (;;) {
    struct pollfd event {
      fd, POLLIN, 0
    };
    auto const ready = ::poll(&event, 1, static_cast<int>(slice.count()));
    if (ready < 0 && errno != EINTR) break;
    if (ready == 0) waited += slice;
    if (waited >= longest || answer.size() > kMaxAnswer) {
      ::kill(child, SIGKILL);
      return {};
    }
    if (ready <= 0) continue;
    auto const n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    answer.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return answer;
}

// The status of a child that has closed its pipe. Malicious data may keep the child from exiting: after
// `longest` it is killed.
int end_of(pid_t child, std::chrono::milliseconds longest) {
  constexpr std::chrono::microseconds kPause{200};
  int status = 0;
  for (std::chrono::microseconds waited{0}; waited < longest; waited += kPause) {
    auto const ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    std::this_thread::sleep_for(kPause);
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

// The defect of the file, from the exit status of a child that sent no answer.
std::string fault_of(int status) {
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
    return "reading it exceeds the time or memory limit for a file of its size";
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory)
    return "reading it takes more than " + std::to_string(kMemory >> 30) + " GiB of memory";
  return "HDF5 crashes on it";
}

// Suggests a file for a path that is not a file.
std::string suggestion_for(std::string const& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path + "/runs", error))
    return "; the results of a sweep are in '" + one_line(path) + "/runs'";
  if (!std::filesystem::is_regular_file(path + ".partial", error)) return {};
  return "; the run is in progress or was stopped: its result up to the last flush is in '" + one_line(path) +
         ".partial'";
}

}  // namespace

std::string read_guarded(std::string const& path, std::function<std::string(ObjectId)> const& read,
                         std::string const& other, std::chrono::milliseconds longest) {
  auto const why_not = why_not_readable(path);
  if (!why_not.empty())
    throw UserError("cannot read '" + one_line(path) + "': " + why_not + suggestion_for(path));
  std::error_code gone;
  auto const size = std::filesystem::file_size(path, gone);
  std::uint64_t const file_bytes = gone ? 0 : size;

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw RunError(std::string("cannot create a pipe: ") + std::strerror(errno));
  auto const pid = ::fork();
  if (pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw RunError(std::string("cannot start the reader process: ") + std::strerror(errno));
  }
  if (pid == 0) {
    ::close(ends[0]);
    child(ends[1], path, file_bytes, read);
  }
  ::close(ends[1]);
  if (longest == std::chrono::milliseconds{0})
    longest = std::chrono::seconds(kWaiting * cpu_seconds(file_bytes));
  auto const answer = answer_of(pid, ends[0], longest);
  ::close(ends[0]);
  auto const status = end_of(pid, longest);
  if (WIFSIGNALED(status) && std::ranges::find(kStops, WTERMSIG(status)) != kStops.end())
    throw RunError("stopped by a signal while reading '" + one_line(path) + "'");
  bool const sound = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !answer.empty();
  if (sound && answer[0] == 'K') return answer.substr(1);
  if (sound && answer[0] == 'U') throw UserError(one_line(answer.substr(1)));
  if (sound && answer[0] == 'S') throw UserError("'" + one_line(path) + "' " + answer.substr(1));
  auto const why = sound ? answer.substr(1) : fault_of(status);
  auto const names =
      "'" + one_line(path) + "'" + (other.empty() ? std::string() : " or '" + one_line(other) + "'");
  throw UserError(names + " is damaged or not a Farfault result: " + one_line(why));
}

}  // namespace farfault::results
