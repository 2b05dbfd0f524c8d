// SPDX-License-Identifier: Apache-2.0
#include "watched_run.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "curves.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "process/counted.hpp"
#include "sparkline.hpp"

namespace farfault::cli {
namespace {

constexpr std::uint64_t kFirstPoints = 120;
constexpr std::uint64_t kNewPoints = 8;
constexpr std::size_t kMaxPoints = 512;
constexpr std::size_t kWidestCurve = 60;
constexpr std::size_t kCurveNameWidth = 38;

// Modification time of the file in s; 0 if it does not exist.
double written_at(std::string const& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

// Parses "2026-01-31T12:00:00Z", in s; 0 for an invalid date.
double seconds_of(std::string const& date) {
  std::tm tm{};
  auto const* const end = ::strptime(date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &tm);
  return end != nullptr && *end == '\0' ? static_cast<double>(::timegm(&tm)) : 0;
}

std::string ps_text(std::int64_t ps) {
  return for_people(Duration{ps});
}

// Half as many points as the maximum or fewer, evenly spread in time, with the last one.
std::vector<analysis::LivePoint> evenly_spread(std::vector<analysis::LivePoint> const& points) {
  auto const apart = points.back().time_ps / static_cast<std::int64_t>(kMaxPoints / 2 - 1);
  std::vector<analysis::LivePoint> kept;
  for (auto const& p : points)
    if (p.time_ps - (kept.empty() ? 0 : kept.back().time_ps) >= apart) kept.push_back(p);
  if (kept.empty() || kept.back().sample != points.back().sample) kept.push_back(points.back());
  return kept;
}

std::string value_text(Curve const& curve) {
  // The last interval with a value.
  auto const last =
      std::find_if(curve.values.rbegin(), curve.values.rend(), [](double v) { return std::isfinite(v); });
  if (last == curve.values.rend()) return "";
  return curve.share ? fmt::format("{:.1f}%", 100 * *last) : for_people(*last);
}

}  // namespace

WatchedRun::WatchedRun(std::string result) : result_(std::move(result)) {
  auto const partial = result_ + ".partial";
  if (!exists(partial) && !exists(result_))
    throw UserError(one_line(result_) + ": neither this file nor " + one_line(partial) + " exists");
}

void WatchedRun::update() {
  auto const partial = result_ + ".partial";
  written_ = is_locked(partial);
  // The partial file of the latest run has priority: the complete file may belong to an earlier run.
  auto const path = exists(partial) ? partial : result_;
  auto const wall = written_at(path);
  auto const first = points_.empty() ? 0 : points_.back().sample + 1;
  auto const most = points_.empty() ? kFirstPoints : kNewPoints;
  auto run = analysis::read_live(path, watched_counters(), first, most);
  // A new run has started under the same name.
  if (run.start_time != run_.start_time || run.samples < first) {
    points_.clear();
    first_.reset();
    last_.reset();
    if (first != 0) run = analysis::read_live(path, watched_counters(), 0, kFirstPoints);
  }
  take(std::move(run), wall);
}

void WatchedRun::take(analysis::LiveRun run, double written_at) {
  run_ = std::move(run);
  begin_ = seconds_of(run_.start_time);
  if (run_.points.empty()) return;
  points_.insert(points_.end(), run_.points.begin(), run_.points.end());
  if (points_.size() > kMaxPoints) points_ = evenly_spread(points_);
  last_ = Seen{written_at, points_.back().time_ps, points_.back().totals[watched_counter("sm", "blocks")]};
  if (!first_) first_ = last_;
}

bool WatchedRun::has_ended() const {
  return run_.end_reason != "running";
}

std::optional<double> WatchedRun::done() const {
  if (!last_ || run_.thread_blocks == 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(last_->blocks) / static_cast<double>(run_.thread_blocks));
}

std::string WatchedRun::state() const {
  if (has_ended()) return shown(run_.end_reason);
  return written_ ? "running"
                  : "no process is writing it: the run was killed, or its lock is not visible here";
}

std::optional<WatchedRun::Seen> WatchedRun::reference() const {
  if (!last_) return std::nullopt;
  if (first_ && last_->wall - first_->wall >= 1) return first_;
  if (begin_ <= 0 || last_->wall - begin_ < 1) return std::nullopt;
  // For a resumed run, the number of blocks completed before is unknown.
  if (run_.start_ps != 0) return std::nullopt;
  return Seen{begin_, 0, 0};
}

std::string WatchedRun::one_line_state() const {
  if (!last_) return "no samples yet";
  auto const share = done();
  return (share ? fmt::format("{:3.0f}%, ", std::floor(100 * *share)) : "") + ps_text(last_->time_ps);
}

std::vector<std::string> WatchedRun::lines(FrameForm const& form) const {
  std::vector<std::string> list{one_line(result_) + ": " + state()};
  if (!last_) {
    auto const since = begin_ > 0 ? static_cast<double>(std::time(nullptr)) - begin_ : -1;
    list.push_back(
        (awaits_samples() && since >= 0 ? "  for " + wall_time(since) + "; no" : std::string("  no")) +
        " samples yet: a run writes the first after 10 s, or immediately when watched");
    return list;
  }
  auto const share = done();
  std::string progress = "  ";
  if (share) {
    constexpr std::size_t kBar = 24;
    auto const filled = static_cast<std::size_t>(*share * kBar);
    progress += fmt::format("[{}{}] {:.0f}%, ", std::string(filled, '#'), std::string(kBar - filled, '.'),
                            std::floor(100 * *share));
  }
  auto const since = has_ended() ? std::nullopt : reference();
  auto const seconds = since ? last_->wall - since->wall : 0.0;
  if (share && seconds > 0 && last_->blocks > since->blocks) {
    auto const left = run_.thread_blocks - std::min(run_.thread_blocks, last_->blocks);
    progress +=
        wall_time(static_cast<double>(left) * seconds / static_cast<double>(last_->blocks - since->blocks)) +
        " left, ";
  }
  progress += ps_text(last_->time_ps) + " simulated";
  if (seconds > 0)
    progress +=
        fmt::format(", {} per second",
                    ps_text(std::llround(static_cast<double>(last_->time_ps - since->time_ps) / seconds)));
  list.push_back(progress);
  auto const& totals = points_.back().totals;
  list.push_back(fmt::format("  {} warp instructions, {} memory transactions, {}",
                             for_people(static_cast<double>(totals[watched_counter("sm", "instructions")])),
                             for_people(static_cast<double>(totals[watched_counter("sm", "transactions")])),
                             counted(run_.samples, "sample")));
  constexpr std::size_t kReservedColumns = kCurveNameWidth + 13;
  auto const width =
      form.columns > kReservedColumns + 8 ? std::min(kWidestCurve, form.columns - kReservedColumns) : 8;
  for (auto const& curve : curves(points_, run_.instances, width))
    list.push_back(fmt::format("  {:<{}}{:>8}  {}", curve.what, kCurveNameWidth, value_text(curve),
                               sparkline(curve.values, form.blocks)));
  return list;
}

}  // namespace farfault::cli
