#include "farfault/cli/progress.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>

#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

constexpr double kRedraw = 0.25;
constexpr double kFirstLine = 10;
constexpr double kLineGrowth = 1.5;
constexpr double kLongestPause = 600;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Three significant digits, and no exponent below 1000.
std::string three_digits(double x) {
  return x >= 100 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

}  // namespace

std::string for_people(Duration d) {
  static constexpr std::array kUnits = {"ps", "ns", "us", "ms", "s"};
  auto x = static_cast<double>(picoseconds(d));
  std::size_t unit = 0;
  for (; x >= 999.5 && unit + 1 < kUnits.size(); ++unit) x /= 1000;
  return three_digits(x) + " " + kUnits[unit];
}

std::string for_people(double amount) {
  static constexpr std::array kPrefixes = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  for (; amount >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix) amount /= 1000;
  return three_digits(amount) + kPrefixes[prefix];
}

std::string wall_time(double seconds) {
  auto const s = static_cast<std::uint64_t>(std::clamp(std::round(seconds), 0.0, 1e9));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

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
  double begin;
  double next;
  bool drawn = false;
  std::shared_ptr<spdlog::logger> log;

  static std::string text(State const& state, double elapsed) {
    auto line = for_people(state.now.time_since_epoch()) + " simulated";
    if (elapsed > 0)
      line += fmt::format(", {} events/s", for_people(static_cast<double>(state.events) / elapsed));
    if (state.done && *state.done > 0.001 && *state.done <= 1)
      line += fmt::format(", {} left", wall_time(elapsed * (1 - *state.done) / *state.done));
    return line;
  }

  static std::string bar(double done) {
    constexpr int kWidth = 24;
    auto const filled = static_cast<int>(std::clamp(done, 0.0, 1.0) * kWidth);
    return fmt::format("[{:#<{}}{:.<{}}] {:3.0f}%  ", "", filled, "", kWidth - filled,
                       std::floor(done * 100));
  }
};

Progress::Progress(ProgressMode mode, std::ostream& out, bool terminal, WallClock clock) {
  if (mode == ProgressMode::off) return;
  if (!clock) clock = steady_seconds;
  auto const now = clock();
  impl_ = std::make_unique<Impl>(Impl{out, terminal, std::move(clock), now, 0, false, nullptr});
  impl_->next = now + (terminal ? kRedraw : kFirstLine);
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

void Progress::report(State const& state) {
  if (!impl_) return;
  auto const now = impl_->clock();
  if (now < impl_->next) return;
  auto const elapsed = now - impl_->begin;
  auto const line = Impl::text(state, elapsed);
  if (impl_->terminal) {
    impl_->out << "\r\x1b[K" << (state.done ? Impl::bar(*state.done) : "") << line << std::flush;
    impl_->drawn = true;
    impl_->next = now + kRedraw;
  } else {
    impl_->log->info("{}{}", state.done ? fmt::format("{:.0f}% done, ", std::floor(*state.done * 100)) : "",
                     line);
    impl_->next = now + std::min(elapsed * (kLineGrowth - 1), kLongestPause);
  }
}

void Progress::finish() {
  if (impl_ && impl_->drawn) {
    impl_->out << "\r\x1b[K" << std::flush;
    impl_->drawn = false;
  }
}

Progress progress_on_stderr(ProgressMode mode) {
  return Progress(mode, std::cerr, ::isatty(STDERR_FILENO) == 1);
}

}  // namespace farfault::cli
