#include "signals.hpp"

#include <unistd.h>

#include <atomic>
#include <string_view>

namespace farfault::cli {

namespace {

// For the handler alone.
std::atomic<Engine*> running{nullptr};
std::atomic<int> first{0};
static_assert(std::atomic<Engine*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void stop_running(int signal) {
  int none = 0;
  first.compare_exchange_strong(none, signal);
  if (auto* engine = running.load()) engine->request_stop();
}

std::atomic<int> early_exit_code{1};
std::atomic<bool> early_speaks{true};

extern "C" void end_program(int) {
  constexpr std::string_view kSentence = "farfault: stopped by a signal before the run began\n";
  if (early_speaks.load() && ::write(STDERR_FILENO, kSentence.data(), kSentence.size()) < 0) {
  }
  ::_exit(early_exit_code.load());
}

}  // namespace

EarlySignals::EarlySignals(int exit_code, bool speaks)
    : handled_{{{SIGTERM, {}}, {SIGINT, {}}, {SIGUSR1, {}}, {SIGHUP, {}}}} {
  early_exit_code.store(exit_code);
  early_speaks.store(speaks);
  for (auto& h : handled_) {
    struct sigaction action {};
    action.sa_handler = end_program;
    ::sigaction(h.signal, nullptr, &h.before);
    if (h.signal == SIGHUP && h.before.sa_handler == SIG_IGN) continue;
    ::sigaction(h.signal, &action, nullptr);
  }
}

EarlySignals::~EarlySignals() {
  for (auto const& h : handled_) ::sigaction(h.signal, &h.before, nullptr);
}

StopSignals::StopSignals(Engine& engine)
    : handled_{{{SIGTERM, {}}, {SIGINT, {}}, {SIGUSR1, {}}, {SIGHUP, {}}, {SIGXFSZ, {}}}} {
  first.store(0);
  running.store(&engine);
  for (auto& h : handled_) {
    struct sigaction action {};
    action.sa_handler = h.signal == SIGXFSZ ? SIG_IGN : stop_running;
    action.sa_flags = SA_RESTART;
    ::sigaction(h.signal, nullptr, &h.before);
    if (h.signal == SIGHUP && h.before.sa_handler == SIG_IGN) continue;
    ::sigaction(h.signal, &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (auto const& h : handled_) ::sigaction(h.signal, &h.before, nullptr);
  running.store(nullptr);
}

int StopSignals::received() const {
  return first.load();
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
