// SPDX-License-Identifier: Apache-2.0
// Private: executes the missing runs of a plan.
//
// - Runs with a checkpoint continue from it; if it cannot be used, one sentence is printed, and the run
// starts
//   from the beginning.
// - A signal saves the active runs. A failed run keeps a checkpoint that it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "folder_lock.hpp"
#include "jobs.hpp"
#include "plan.hpp"
#include "sweep_work.hpp"

namespace farfault::cli {

class Executor {
 public:
  // `lock`: the lock on the folder; child processes release it.
  Executor(Plan& plan, SweepOptions const& options, FolderLock& lock, std::uint32_t jobs, std::ostream& err);

  // Executes these runs and enters their outcomes into the table. Runs with a checkpoint are first and runs
  // that failed before are last, otherwise in the order of their costs, highest first. Returns the signal
  // that stopped it, or 0.
  int run(std::vector<std::size_t> runs);
  std::size_t made() const { return made_; }
  // Runs that continued from a checkpoint.
  std::size_t resumed() const { return resumed_.size(); }
  // Runs that the signal stopped, and that have a checkpoint.
  std::size_t saved() const { return saved_; }
  // Runs that were skipped because another process executes them.
  std::size_t skipped() const { return skipped_; }

 private:
  std::string const& name_of(std::size_t run) const { return plan_.run(run).name; }
  void sort(std::vector<std::size_t>& runs) const;
  void start(Jobs& jobs, std::size_t run);
  void ended(Jobs& jobs, JobEnd const& end);
  void restart(std::size_t run, std::string const& why);
  void remove_unfinished(std::size_t run);
  void stopped(JobEnd const& end);
  void concluded(JobEnd const& end);
  void print(std::string const& sentence);
  double seconds() const;
  void report_progress(Jobs const& jobs);

  Plan& plan_;
  SweepOptions const& options_;
  FolderLock& lock_;
  std::uint32_t at_a_time_;
  std::ostream& err_;
  Progress progress_;
  std::chrono::steady_clock::time_point begin_;
  std::deque<std::size_t> waiting_;
  std::size_t all_ = 0, made_ = 0, failed_ = 0, saved_ = 0, skipped_ = 0;
  std::set<std::size_t> resumed_;
  SweepWork work_{0};
};

// A run that is executed only to measure its time; its result is deleted.
struct Probe {
  bool ended = false;  // within its time limit
  double share = 0;    // of its work, completed within the time limit; 0: unknown
  int stopped_by = 0;
  std::string failure;
  double seconds = 0;
  std::uint64_t peak_bytes = 0;
};
Probe measure(Plan const& plan, std::size_t run, SweepOptions const& options, double longest);

}  // namespace farfault::cli
