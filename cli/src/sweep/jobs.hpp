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
#include <utility>

#include "farfault/engine/units.hpp"

namespace farfault::cli {

struct JobEnd {
  std::size_t number = 0;
  int exit_code = 0;  // where no signal ended it
  int signal = 0;
  std::uint64_t peak_bytes = 0;  // of memory
  std::string said;              // its last sentence, if it gave one
  bool taken = false;            // another process is at this job: nothing was done
  bool done() const { return signal == 0 && exit_code == 0; }
};

// What a child has to say to its parent, in memory that both see: a disk may be full. Cut after 1,000 bytes.
class LastWord {
 public:
  LastWord();
  LastWord(LastWord&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
  LastWord& operator=(LastWord&&) = delete;
  ~LastWord();

  void say(std::string const& text) const;
  std::string heard() const;

 private:
  static constexpr std::size_t kBytes = 1000;
  char* text_;
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
  // What the child writes to standard error goes to the file `log`, to standard output nowhere. While it
  // lives it has the file to itself: a job whose log another process has ends at once, as `taken`. Throws
  // RunError where no process can be started.
  void start(std::size_t number, std::string const& log, std::function<int(LastWord const&)> const& body);
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
  struct Child {
    std::size_t number;
    LastWord word;
  };
  std::map<pid_t, Child> children_;
  sigset_t waited_{}, before_{};
  bool stopping_ = false;
  int stopped_by_ = 0;
};

}  // namespace farfault::cli
