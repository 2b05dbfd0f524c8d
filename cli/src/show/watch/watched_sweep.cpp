// SPDX-License-Identifier: Apache-2.0
#include "watched_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "process/counted.hpp"
#include "sweep/places.hpp"
#include "sweep/run_list.hpp"
#include "sweep/swept_results.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxListed = 8;
constexpr std::string_view kResult = ".h5", kPartial = ".h5.partial", kFailed = ".failed",
                           kPreviousCheckpoint = ".checkpoint.previous";

// The names of the runs by kind of file.
struct Names {
  std::set<std::string> results, partials, failures, checkpoints;
};

Names names_in(std::string const& sweep) {
  auto const folder = (fs::path(sweep) / "runs").string();
  check_inside(folder, sweep);
  Names names;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    auto const file = entry->path().filename().string();
    if (entry->is_symlink()) check_inside(entry->path().string(), sweep);
    for (auto const& [ending, set] : {std::pair{kPartial, &names.partials},
                                      {kResult, &names.results},
                                      {kFailed, &names.failures},
                                      {kCheckpointEnding, &names.checkpoints},
                                      {kPreviousCheckpoint, &names.checkpoints}})
      if (file.ends_with(ending)) set->insert(file.substr(0, file.size() - ending.size()));
  }
  return names;
}

std::string more(std::size_t count) {
  return count > kMaxListed ? fmt::format("    and {} more", count - kMaxListed) : std::string();
}

}  // namespace

WatchedSweep::WatchedSweep(std::string folder) : folder_(std::move(folder)) {
  if (!fs::is_directory(fs::path(folder_) / "runs"))
    throw UserError(one_line(folder_) + ": not the folder of a sweep: it has no folder 'runs'");
}

void WatchedSweep::update() {
  auto const names = names_in(folder_);
  auto const list = read_run_list(folder_);
  known_ = list.has_value();
  texts_.clear();
  failed_.clear();
  std::set<std::string> all;
  if (list)
    for (auto const& run : *list) {
      if (run.name.empty()) {
        failed_.push_back({one_line(run.text), one_line(run.error), ""});
        continue;
      }
      texts_[run.name] = run.text;
      all.insert(run.name);
    }
  else
    for (auto const* set : {&names.results, &names.partials, &names.failures})
      all.insert(set->begin(), set->end());
  runs_ = all.size() + failed_.size();
  done_ = saved_ = 0;
  for (auto const& name : all) {
    auto const result = result_path(folder_, name);
    if (names.partials.contains(name) && is_locked(result + std::string(".partial"))) {
      auto& run = running_[name];
      try {
        if (!run) run = std::make_unique<WatchedRun>(result);
        run->update();
      } catch (UserError const&) {  // it has just ended, or is flushing
        if (!run) running_.erase(name);
      }
      continue;
    }
    running_.erase(name);
    if (names.results.contains(name))
      ++done_;
    else if (names.failures.contains(name))
      failed_.push_back({text_of(name), "", name});
    else if (names.checkpoints.contains(name))
      ++saved_;
  }
  std::erase_if(running_, [&](auto const& entry) { return !all.contains(entry.first); });
}

bool WatchedSweep::awaits_samples() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](auto const& entry) { return entry.second->awaits_samples(); });
}

std::vector<std::string> WatchedSweep::results() const {
  std::vector<std::string> list;
  for (auto const& [name, run] : running_) list.push_back(run->result());
  return list;
}

std::string WatchedSweep::text_of(std::string const& name) const {
  auto const found = texts_.find(name);
  return one_line(found == texts_.end() ? name : found->second);
}

std::vector<std::string> WatchedSweep::lines(FrameForm const&) const {
  constexpr std::size_t kBar = 24;
  auto const ended = done_ + failed_.size();
  auto const pending = runs_ - ended - std::min(runs_ - ended, running_.size());
  std::vector<std::string> list;
  if (known_) {
    auto const filled = runs_ == 0 ? kBar : ended * kBar / runs_;
    list.push_back(one_line(folder_) + ": sweep of " + counted(runs_, "run"));
    list.push_back(fmt::format("  [{}{}] {} done, {} failed, {} running, {} pending{}",
                               std::string(filled, '#'), std::string(kBar - filled, '.'), done_,
                               failed_.size(), running_.size(), pending,
                               saved_ == 0 ? "" : fmt::format(", {} of them saved", saved_)));
  } else {
    list.push_back(one_line(folder_) + ": sweep with an unknown number of runs");
    list.push_back(fmt::format("  {} done, {} failed, {} running", done_, failed_.size(), running_.size()));
  }
  std::size_t shown = 0;
  if (!running_.empty()) list.push_back("  running");
  for (auto const& [name, run] : running_)
    if (shown++ < kMaxListed) list.push_back(fmt::format("    {}: {}", text_of(name), run->one_line_state()));
  if (running_.size() > kMaxListed) list.push_back(more(running_.size()));
  if (!failed_.empty()) list.push_back("  failed");
  for (std::size_t i = 0; i < std::min(failed_.size(), kMaxListed); ++i) {
    auto const& [text, error, name] = failed_[i];
    list.push_back(
        fmt::format("    {}: {}", text, name.empty() ? error : failure_in(failure_path(folder_, name))));
  }
  if (failed_.size() > kMaxListed) list.push_back(more(failed_.size()));
  return list;
}

}  // namespace farfault::cli
