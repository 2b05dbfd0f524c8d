// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/progress.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

constexpr double kRedraw = 0.25;
constexpr double kFirstLine = 10;
constexpr double kLineGrowth = 1.5;
constexpr double kLongestPause = 600;
constexpr std::size_t kColumns = 80;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressMode progress_mode(std::string_view word) {
  if (word == "auto") return ProgressMode::automatic;
  if (word == "on") return ProgressMode::on;
  if (word == "off") return ProgressMode::off;
  throw UserError("--progress '" + std::string(word) + "' is not one of: auto, on, off");
}

struct Progress::Impl {
  std::ostream& out;
  bool terminal;
  WallClock clock;
  Columns columns;
  double begin;
  double next;
  double done_before = 0;
  bool drawn = false;
  std::shared_ptr<spdlog::logger> log;

  // The phrases of a line, the most important first.
  std::vector<std::string> phrases(State const& state, double elapsed) const {
    std::vector<std::string> list{for_people(state.now.time_since_epoch()) + " simulated"};
    auto const done = state.done.value_or(0) - done_before;
    if (done > 0.001 && *state.done <= 1)
      list.push_back(fmt::format("{} left", wall_time(elapsed * (1 - *state.done) / done)));
    if (elapsed > 0)
      list.push_back(fmt::format("{} events/s", for_people(static_cast<double>(state.events) / elapsed)));
    return list;
  }

  // One line of fewer than `columns` characters: some terminals start another line at the last column.
  static std::string fitted(std::optional<double> done, std::vector<std::string> list, std::size_t columns) {
    constexpr std::size_t kWidestBar = 24, kNarrowestBar = 6, kFrame = 3;
    auto const most = columns > 1 ? columns - 1 : 1;
    auto const percent = done ? fmt::format("{:3.0f}%  ", std::floor(*done * 100)) : std::string();
    auto line = percent + joined(list);
    while (line.size() > most && list.size() > 1) {
      list.pop_back();
      line = percent + joined(list);
    }
    if (!done || line.size() + kFrame + kNarrowestBar > most) return line.substr(0, most);
    auto const width = std::min(kWidestBar, most - line.size() - kFrame);
    auto const filled = static_cast<std::size_t>(std::clamp(*done, 0.0, 1.0) * static_cast<double>(width));
    return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] " + line;
  }

  static std::string joined(std::vector<std::string> const& list) {
    std::string text;
    for (auto const& phrase : list) text += (text.empty() ? "" : ", ") + phrase;
    return text;
  }
};

Progress::Progress(ProgressMode mode, std::ostream& out, bool terminal, WallClock clock, Columns columns) {
  if (mode == ProgressMode::off) return;
  if (!clock) clock = steady_seconds;
  if (!columns) columns = [] { return kColumns; };
  auto const now = clock();
  impl_ = std::make_unique<Impl>(Impl{.out = out,
                                      .terminal = terminal,
                                      .clock = std::move(clock),
                                      .columns = std::move(columns),
                                      .begin = now,
                                      .next = now + (terminal ? kRedraw : kFirstLine),
                                      .log = nullptr});
  if (!terminal) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(out, true);
    impl_->log = std::make_shared<spdlog::logger>("farfault", std::move(sink));
    impl_->log->set_pattern("%Y-%m-%d %H:%M:%S farfault: %v");
  }
}

Progress::Progress(Progress&&) noexcept = default;

Progress::~Progress() {
  if (impl_) finish();
}

void Progress::print_within(double seconds) {
  if (impl_) impl_->next = std::min(impl_->next, impl_->begin + seconds);
}

void Progress::resumed(double done) {
  if (impl_) impl_->done_before = done;
}

void Progress::report(State const& state) {
  report(state.done, [&](double elapsed) { return impl_->phrases(state, elapsed); });
}

void Progress::report(std::optional<double> done, Phrases const& phrases) {
  if (!impl_) return;
  auto const now = impl_->clock();
  if (now < impl_->next) return;
  auto const elapsed = now - impl_->begin;
  auto list = phrases(elapsed);
  if (impl_->terminal) {
    impl_->out << "\r\x1b[K" << Impl::fitted(done, std::move(list), impl_->columns()) << std::flush;
    impl_->drawn = true;
    impl_->next = now + kRedraw;
  } else {
    impl_->log->info("{}{}", done ? fmt::format("{:.0f}% done, ", std::floor(*done * 100)) : "",
                     Impl::joined(list));
    impl_->next = now + std::min(elapsed * (kLineGrowth - 1), kLongestPause);
  }
}

void Progress::finish() {
  if (impl_ && impl_->drawn) {
    impl_->out << "\r\x1b[K" << std::flush;
    impl_->drawn = false;
  }
}

std::size_t terminal_columns(int descriptor, char const* variable) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  auto const value = variable == nullptr ? 0 : std::strtoul(variable, nullptr, 10);
  return value > 0 ? value : kColumns;
}

Progress progress_on_stderr(ProgressMode mode) {
  return Progress(mode, std::cerr, ::isatty(STDERR_FILENO) == 1, {},
                  [] { return terminal_columns(STDERR_FILENO, std::getenv("COLUMNS")); });
}

}  // namespace farfault::cli
