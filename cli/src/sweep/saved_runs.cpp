// SPDX-License-Identifier: Apache-2.0
#include "saved_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "farfault/cli/readable.hpp"
#include "farfault/engine/archive.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/files.hpp"
#include "places.hpp"
#include "run/driver_state.hpp"

namespace farfault::cli {
namespace {

// The file that a run writes first, and the lock that it holds (CheckpointLock).
std::string writing_path(std::string const& checkpoint) {
  return checkpoint + ".writing";
}
std::string lock_of(std::string const& checkpoint) {
  return checkpoint + ".lock";
}

// Why a run of this name and program cannot continue from the checkpoint; empty if it can.
std::string why_not_from(Checkpoint const& head, std::string const& name, std::uint64_t program) {
  if (fmt::format("{:016x}", head.header.config_hash) != name)
    return "its checkpoint is from a different configuration or input file";
  DriverState state;
  try {
    Loader loader(head.run);
    loader(state);
    if (loader.at_end() && state.program == program) return {};
  } catch (UserError const&) {  // the layout of another version
  }
  return "its checkpoint is from a different farfault version";
}

SavedRun saved_run(std::string const& checkpoint, std::string const& name, std::uint64_t program) {
  SavedRun saved;
  for (auto const& path : {checkpoint, previous_checkpoint(checkpoint)}) {
    if (!exists(path)) continue;
    try {
      auto const head = read_checkpoint_head(path);
      return {head.header.time, why_not_from(head, name, program)};
    } catch (ResumeError const& e) {
      if (saved.why_not.empty()) saved.why_not = e.reason();
    } catch (UserError const&) {
      return {};
    }
  }
  return saved;
}

}  // namespace

std::string text_of(SavedRun const& run) {
  if (!run.why_not.empty()) return run.why_not + "; the next execution starts from the beginning";
  return "stopped" + (run.at ? " at " + for_people(run.at->time_since_epoch()) : "") +
         "; the next execution continues from the checkpoint";
}

SavedRuns::SavedRuns(std::string folder, std::uint64_t program)
    : folder_(std::move(folder)), program_(program) {}

SavedRun const* SavedRuns::look_for(std::size_t run, std::string const& name) {
  saved_.erase(run);
  if (!has(name)) return nullptr;
  if (is_locked(result_path(folder_, name) + ".partial") || is_locked(log_path(folder_, name)))
    return nullptr;
  return &(saved_[run] = saved_run(checkpoint_path(folder_, name), name, program_));
}

SavedRun const* SavedRuns::find(std::size_t run) const {
  auto const at = saved_.find(run);
  return at == saved_.end() ? nullptr : &at->second;
}

bool SavedRuns::has(std::string const& name) const {
  auto const path = checkpoint_path(folder_, name);
  return exists(path) || exists(previous_checkpoint(path));
}

void SavedRuns::remove(std::size_t run, std::string const& name) {
  auto const path = checkpoint_path(folder_, name);
  for (auto const& file : {previous_checkpoint(path), path, writing_path(path)}) std::remove(file.c_str());
  if (!is_locked(lock_of(path))) std::remove(lock_of(path).c_str());
  saved_.erase(run);
}

std::set<std::string> SavedRuns::names() const {
  auto const path = std::string(kCheckpointEnding);
  return runs_with(folder_, {path, previous_checkpoint(path), writing_path(path), lock_of(path)});
}

std::size_t SavedRuns::usable() const {
  return static_cast<std::size_t>(std::count_if(
      saved_.begin(), saved_.end(), [](auto const& saved) { return saved.second.why_not.empty(); }));
}

}  // namespace farfault::cli
