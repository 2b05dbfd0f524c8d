// SPDX-License-Identifier: Apache-2.0
// Private: signals by which a user or a batch system stops a run.
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

// During its lifetime, SIGTERM, SIGINT, SIGUSR1 and SIGHUP stop the engine cleanly; a SIGHUP that was
// ignored before (nohup) remains ignored. A write past a size limit is an error, not a signal. At most one
// object exists at a time.
class StopSignals {
 public:
  explicit StopSignals(Engine& engine);
  ~StopSignals();
  StopSignals(StopSignals const&) = delete;
  StopSignals& operator=(StopSignals const&) = delete;

  int received() const;  // the first signal received, or 0

 private:
  std::array<HandledSignal, 5> handled_;
};

// During its lifetime, and without a StopSignals object, the same signals end the program immediately with
// `exit_code`, and with a message if `verbose`: no state exists yet that could be saved.
class EarlySignals {
 public:
  EarlySignals(int exit_code, bool verbose);
  ~EarlySignals();
  EarlySignals(EarlySignals const&) = delete;
  EarlySignals& operator=(EarlySignals const&) = delete;

  // From now on they end the program silently with this exit code.
  void be_silent(int exit_code);

 private:
  std::array<HandledSignal, 4> handled_;
};

std::string signal_name(int signal);  // "SIGTERM"

}  // namespace farfault::cli
