// SPDX-License-Identifier: Apache-2.0
// Private: the signals by which a person or a batch system ends a run.
#pragma once

#include <array>
#include <csignal>
#include <string>

#include "farfault/engine/engine.hpp"

namespace farfault::cli {

struct HandledSignal {
  int signal;
  struct sigaction before;
};

// While this lives, SIGTERM, SIGINT, SIGUSR1 and SIGHUP stop the engine in order; a SIGHUP that was ignored
// before (nohup) remains ignored. A write past a size limit is an error, not a signal. One at a time.
class StopSignals {
 public:
  explicit StopSignals(Engine& engine);
  ~StopSignals();
  StopSignals(StopSignals const&) = delete;
  StopSignals& operator=(StopSignals const&) = delete;

  int received() const;  // the first signal that came, or 0

 private:
  std::array<HandledSignal, 5> handled_;
};

// While this lives and no StopSignals does, the same signals end the program at once with `exit_code`, and a
// sentence where `speaks`: there is nothing yet that could be saved.
class EarlySignals {
 public:
  EarlySignals(int exit_code, bool speaks);
  ~EarlySignals();
  EarlySignals(EarlySignals const&) = delete;
  EarlySignals& operator=(EarlySignals const&) = delete;

  // From now on they end the program with this exit code, without a word.
  void be_silent(int exit_code);

 private:
  std::array<HandledSignal, 4> handled_;
};

std::string signal_name(int signal);  // "SIGTERM"

}  // namespace farfault::cli
