// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/watch.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>

#include "farfault/cli/exit_codes.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/engine/error.hpp"
#include "run/watch_mark.hpp"
#include "watched_run.hpp"
#include "watched_sweep.hpp"

namespace farfault::cli {
namespace {

constexpr int kTries = 20;  // for a frame, if the run is flushing
constexpr double kTryEvery = 0.05;
constexpr double kTouchInterval = 1;
constexpr double kPollInterval = 0.25, kTimeout = 3;

volatile sig_atomic_t stopped = 0;

// During its lifetime, signals that would end the program stop the watching instead, so that the mark is
// removed.
class StopsWatching {
 public:
  StopsWatching() {
    stopped = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { stopped = 1; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~StopsWatching() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  StopsWatching(StopsWatching const&) = delete;
  StopsWatching& operator=(StopsWatching const&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

void sleep_for(double seconds) {
  auto const whole = std::floor(seconds);
  timespec pause{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
  ::nanosleep(&pause, nullptr);  // interrupted by a signal
}

// The character set of the terminal, from the locale of the environment.
bool has_blocks() {
  for (auto const* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    auto const* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string_view const locale(value);
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

// Truncates a line to the width of the terminal, in whole characters.
std::string fitted(std::string line, std::size_t columns) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xC0) == 0x80) continue;
    if (++characters == columns) {
      line.resize(i);
      break;
    }
  }
  return line;
}

class Watched {
 public:
  explicit Watched(std::string path) {
    constexpr std::string_view kPartial = ".partial";
    if (std::filesystem::is_directory(path)) {
      sweep_.emplace(std::move(path));
      return;
    }
    if (path.ends_with(kPartial)) path.resize(path.size() - kPartial.size());
    run_.emplace(std::move(path));
  }

  void update() {
    if (sweep_) return sweep_->update();
    for (int tries = 1;; ++tries) {
      try {
        return run_->update();
      } catch (UserError const&) {
        if (tries == kTries || stopped != 0) throw;
        sleep_for(kTryEvery);
      }
    }
  }
  bool awaits_samples() const { return sweep_ ? sweep_->awaits_samples() : run_->awaits_samples(); }
  bool has_ended() const { return sweep_ ? sweep_->has_ended() : run_->has_ended(); }
  std::vector<std::string> lines(FrameForm const& form) const {
    return sweep_ ? sweep_->lines(form) : run_->lines(form);
  }
  // Makes the runs flush their samples.
  void touch() {
    std::map<std::string, std::unique_ptr<WatchTouch>> marks;
    for (auto const& result : sweep_ ? sweep_->results() : std::vector<std::string>{run_->result()}) {
      auto& mark = marks[result];
      auto const known = marks_.find(result);
      mark =
          known != marks_.end() ? std::move(known->second) : std::make_unique<WatchTouch>(mark_path(result));
      mark->touch();
    }
    marks_ = std::move(marks);  // removes marks of ended runs
  }

 private:
  std::optional<WatchedRun> run_;
  std::optional<WatchedSweep> sweep_;
  std::map<std::string, std::unique_ptr<WatchTouch>> marks_;
};

}  // namespace

int watch(WatchOptions const& options, std::ostream& out) {
  bool const terminal = ::isatty(STDOUT_FILENO) == 1;
  auto const every = options.every > 0 ? options.every : terminal ? 1 : 60;
  StopsWatching const stops;
  Watched watched(options.path);
  std::size_t drawn = 0;  // lines on the terminal
  while (stopped == 0) {
    try {
      watched.update();
      // With --once, a run that has just started is given time to flush its first sample on request.
      for (double waited = 0; options.once && watched.awaits_samples() && waited < kTimeout && stopped == 0;
           waited += kPollInterval) {
        watched.touch();
        sleep_for(kPollInterval);
        watched.update();
      }
    } catch (RunError const&) {
      if (stopped != 0) break;
      throw;
    }
    FrameForm const form{terminal_columns(STDOUT_FILENO, std::getenv("COLUMNS")), has_blocks()};
    auto const lines = watched.lines(form);
    if (drawn != 0) out << (terminal ? fmt::format("\x1b[{}F\x1b[J", drawn) : "\n");
    for (auto const& line : lines) out << (terminal ? fitted(line, form.columns) : line) << "\n";
    out << std::flush;
    drawn = lines.size();
    if (options.once || watched.has_ended() || !out) break;
    for (double waited = 0; waited < every && stopped == 0; waited += kTouchInterval) {
      watched.touch();
      sleep_for(std::min(kTouchInterval, every - waited));
    }
  }
  return kDone;
}

}  // namespace farfault::cli
