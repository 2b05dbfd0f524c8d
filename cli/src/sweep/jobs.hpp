// SPDX-License-Identifier: Apache-2.0
// Private: child processes of this program, a bounded number at a time.
//
// A child is a copy of this process that calls a function and ends with what it returns; so it is the same
// program whatever has become of its file. It dies with this process. SIGINT, SIGTERM, SIGHUP (unless it was
// ignored) and SIGUSR1 end all children in order; a second one kills them. Only children that were started
// here are waited for. One thread alone may be at work in this process.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "farfault/engine/units.hpp"

namespace farfault::cli {

struct JobEnd {
  std::size_t number = 0;
  int exit_code = 0;  // where no signal ended it
  int signal = 0;
  std::uint64_t peak_bytes = 0;  // of memory
  bool done() const { return signal == 0 && exit_code == 0; }
};

class Jobs {
 public:
  // `memory`: bounds the addresses that each child may have.
  Jobs(std::uint32_t at_a_time, std::optional<ByteSize> memory);
  ~Jobs();
  Jobs(Jobs const&) = delete;
  Jobs& operator=(Jobs const&) = delete;

  bool full() const { return children_.size() >= at_a_time_; }
  std::size_t running() const { return children_.size(); }
  // What the child writes to standard error goes to the file `log`, to standard output nowhere. Throws
  // RunError where no process can be started.
  void start(std::size_t number, std::string const& log, std::function<int()> const& body);
  // Waits until a child has ended, a signal has come, or `seconds` have passed.
  std::optional<JobEnd> wait(double seconds);

  int stopped_by() const { return stopped_by_; }  // the first signal that came, or 0
  // Ends the children, as a signal would.
  void stop();

 private:
  std::optional<JobEnd> reap();
  void send(int signal);

  std::uint32_t at_a_time_;
  std::optional<ByteSize> memory_;
  std::map<pid_t, std::size_t> children_;
  sigset_t waited_{}, before_{};
  bool stopping_ = false;
  int stopped_by_ = 0;
};

}  // namespace farfault::cli
