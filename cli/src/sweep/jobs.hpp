// SPDX-License-Identifier: Apache-2.0
// Private: child processes of this program, a bounded number at a time.
//
// A child is a copy of this process that calls a function and exits with its return value, so it runs the
// same program even if the program's file changes. It dies with this process. SIGINT, SIGTERM, SIGHUP (unless
// ignored) and SIGUSR1 terminate all children cleanly; a second signal kills them. Only children started here
// are waited for. This process must have a single thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "farfault/engine/units.hpp"

namespace farfault::cli {

struct JobEnd {
  std::size_t number = 0;
  int exit_code = 0;  // if no signal ended it
  int signal = 0;
  std::uint64_t peak_bytes = 0;  // of memory
  std::string last_sentence;     // its last sentence, if any
  bool taken = false;            // another process is executing this job: nothing was done
  bool done() const { return signal == 0 && exit_code == 0; }
};

// The message of a child to its parent, in shared memory, which works even on a full disk. Truncated after
// 1,000 bytes.
class LastLine {
 public:
  LastLine();
  LastLine(LastLine&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
  LastLine& operator=(LastLine&&) = delete;
  ~LastLine();

  void record(std::string const& text) const;
  std::string recorded() const;

 private:
  static constexpr std::size_t kBytes = 1000;
  char* text_;
};

class Jobs {
 public:
  // `memory`: limit on the address space of each child.
  Jobs(std::uint32_t at_a_time, std::optional<ByteSize> memory);
  ~Jobs();
  Jobs(Jobs const&) = delete;
  Jobs& operator=(Jobs const&) = delete;

  bool full() const { return children_.size() >= at_a_time_; }
  std::size_t running() const { return children_.size(); }
  // Standard error of the child is written to the file `log`, standard output is discarded. The child locks
  // the log during its lifetime: a job whose log is locked by another process ends immediately, as `taken`.
  // Throws RunError if no process can be started.
  void start(std::size_t number, std::string const& log, std::function<int(LastLine const&)> const& body);
  // Waits until a child has ended, a signal has been received, or `seconds` have passed.
  std::optional<JobEnd> wait(double seconds);

  int stopped_by() const { return stopped_by_; }  // the first signal received, or 0
  // Ends the children, like a signal.
  void stop();

 private:
  std::optional<JobEnd> reap();
  void send(int signal);

  std::uint32_t at_a_time_;
  std::optional<ByteSize> memory_;
  struct Child {
    std::size_t number;
    LastLine word;
  };
  std::map<pid_t, Child> children_;
  sigset_t waited_{}, before_{};
  bool stopping_ = false;
  int stopped_by_ = 0;
};

}  // namespace farfault::cli
