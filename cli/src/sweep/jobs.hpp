// SPDX-License-Identifier: Apache-2.0
// Private: child processes of this program, a bounded number at a time.
//
// A child is a copy of this process that calls a function and exits with its return value, so it runs the
// same program even if the program's file changes. It ends with this process. SIGINT, SIGTERM, SIGHUP (unless
// ignored) and SIGUSR1 terminate all children cleanly. A SIGINT after that kills them (a second Ctrl-C);
// other signals are ignored then, because a batch system may send several in a row. Only children started
// here are waited for. This process must have a single thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "child_report.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::cli {

struct JobEnd {
  std::size_t number = 0;
  int exit_code = 0;  // if no signal ended it
  int signal = 0;
  std::uint64_t peak_bytes = 0;  // of memory
  std::string sentence;          // of its report, if any
  bool taken = false;            // another process is executing this job: nothing was done
  bool done() const { return signal == 0 && exit_code == 0; }
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
  void start(std::size_t number, std::string const& log, std::function<int(ChildReport const&)> const& body);
  // The share of each active job.
  std::vector<std::pair<std::size_t, RunShare>> shares() const;
  // Waits until a child has ended, a signal has been received, or `seconds` have passed.
  std::optional<JobEnd> wait(double seconds);

  int stopped_by() const { return stopped_by_; }  // the first signal received, or 0
  // Ends the children, like a signal.
  void stop();

 private:
  std::optional<JobEnd> reap();
  void handle(int signal);
  void send(int signal);

  std::uint32_t at_a_time_;
  std::optional<ByteSize> memory_;
  struct Child {
    std::size_t number;
    ChildReport report;
  };
  std::map<pid_t, Child> children_;
  sigset_t waited_{}, before_{};
  bool stopping_ = false;
  int stopped_by_ = 0;
};

}  // namespace farfault::cli
