#include "signals.hpp"

#include <atomic>

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

}  // namespace

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
