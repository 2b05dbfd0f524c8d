// SPDX-License-Identifier: Apache-2.0
// Private: executes the missing runs of a plan.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "folder_lock.hpp"
#include "jobs.hpp"
#include "plan.hpp"

namespace farfault::cli {

class Executor {
 public:
  // `lock`: the lock on the folder; child processes release it.
  Executor(Plan& plan, SweepOptions const& options, FolderLock& lock, std::uint32_t jobs, std::ostream& err);

  // Executes these runs, highest cost first, and enters their outcomes into the table. Returns the signal
  // that stopped it, or 0.
  int run(std::vector<std::size_t> runs);
  std::size_t made() const { return made_; }
  // Runs that were skipped because another process executes them.
  std::size_t skipped() const { return skipped_; }

 private:
  void skip(std::size_t run);
  void remove_unfinished(std::size_t run);
  void ended(JobEnd const& end);
  void report_progress(std::size_t running);

  Plan& plan_;
  SweepOptions const& options_;
  FolderLock& lock_;
  std::uint32_t at_a_time_;
  std::ostream& err_;
  Progress progress_;
  std::size_t all_ = 0, made_ = 0, failed_ = 0, skipped_ = 0;
  double cost_ = 0, cost_ended_ = 0;
};

// A run that is executed only to measure its time; its result is deleted.
struct Probe {
  bool ended = false;  // within its time limit
  int stopped_by = 0;
  std::string failure;
  double seconds = 0;
  std::uint64_t peak_bytes = 0;
};
Probe measure(Plan const& plan, std::size_t run, SweepOptions const& options, double longest);

}  // namespace farfault::cli
