// SPDX-License-Identifier: Apache-2.0
// Private: the completed share of a sweep and its remaining time, from runs that ended and from the shares
// that active runs report.
//
// - A run's work is its cost (relative to the other runs of the study).
// - The work before the checkpoint of a resumed run is complete, but took none of this program's time.
// - The remaining time is known as soon as one run has ended or has completed a thousandth of its work. It
//   assumes the speed so far, and is never shorter than the remaining time of an active run.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "farfault/cli/run_options.hpp"

namespace farfault::cli {

class SweepWork {
 public:
  // `cost`: of all runs.
  explicit SweepWork(double cost) : all_(cost), waiting_(cost) {}

  // Times are in seconds since the start of the sweep.
  void start(std::size_t run, double cost, double time);
  void report(std::size_t run, RunShare share);
  // The run has completed or failed.
  void end(std::size_t run);
  // The active run is stopped, and will start again.
  void put_back(std::size_t run);
  // Another process executes this run, which is not active.
  void skip(double cost);

  double done() const;  // 0 to 1
  std::optional<double> time_left(double time) const;

 private:
  static constexpr double kFirstShare = 0.001;
  struct Active {
    double cost = 0;
    double start = 0;
    RunShare share;
    double here() const { return share.now - share.before; }  // done by this program
  };

  double left() const;

  double all_;
  double waiting_;         // cost of runs that have not started
  double ended_here_ = 0;  // work of this program on runs that ended
  std::map<std::size_t, Active> active_;
};

}  // namespace farfault::cli
