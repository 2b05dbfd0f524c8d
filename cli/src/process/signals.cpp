// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <unistd.h>

#include <atomic>
#include <string_view>

namespace farfault::cli {

namespace {

// Used only by the handler.
std::atomic<Engine*> running{nullptr};
std::atomic<int> first_signal{0};
static_assert(std::atomic<Engine*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void stop_running(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  if (auto* engine = running.load()) engine->request_stop();
}

std::atomic<int> early_exit_code{1};
std::atomic<bool> early_verbose{true};

extern "C" void end_program(int) {
  constexpr std::string_view kSentence = "farfault: stopped by a signal before the run started\n";
  if (early_verbose.load() && ::write(STDERR_FILENO, kSentence.data(), kSentence.size()) < 0) {
  }
  ::_exit(early_exit_code.load());
}

template <std::size_t N>
void take_over(std::array<HandledSignal, N>& handled, void (*handler)(int)) {
  for (auto& h : handled) {
    struct sigaction action {};
    action.sa_handler = h.signal == SIGXFSZ ? SIG_IGN : handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(h.signal, nullptr, &h.before);
    if (h.signal == SIGHUP && h.before.sa_handler == SIG_IGN) continue;
    ::sigaction(h.signal, &action, nullptr);
  }
}

template <std::size_t N>
void restore(std::array<HandledSignal, N> const& handled) {
  for (auto const& h : handled) ::sigaction(h.signal, &h.before, nullptr);
}

}  // namespace

EarlySignals::EarlySignals(int exit_code, bool verbose)
    : handled_{{{SIGTERM, {}}, {SIGINT, {}}, {SIGUSR1, {}}, {SIGHUP, {}}}} {
  early_exit_code.store(exit_code);
  early_verbose.store(verbose);
  take_over(handled_, end_program);
}

void EarlySignals::be_silent(int exit_code) {
  early_exit_code.store(exit_code);
  early_verbose.store(false);
}

EarlySignals::~EarlySignals() {
  restore(handled_);
}

StopSignals::StopSignals(Engine& engine)
    : handled_{{{SIGTERM, {}}, {SIGINT, {}}, {SIGUSR1, {}}, {SIGHUP, {}}, {SIGXFSZ, {}}}} {
  first_signal.store(0);
  running.store(&engine);
  take_over(handled_, stop_running);
}

StopSignals::~StopSignals() {
  restore(handled_);
  running.store(nullptr);
}

int StopSignals::received() const {
  return first_signal.load();
}

std::string signal_name(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "signal " + std::to_string(signal);
  }
}

}  // namespace farfault::cli
