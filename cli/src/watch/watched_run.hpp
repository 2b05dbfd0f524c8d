// SPDX-License-Identifier: Apache-2.0
// Private: a run as its growing file shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "farfault/results/live.hpp"

namespace farfault::cli {

// How frames are drawn.
struct FrameForm {
  std::size_t columns = 80;
  bool blocks = true;  // whether the terminal has characters for curves
};

class WatchedRun {
 public:
  // `result`: the run's output, whose ".partial" grows. Throws UserError where there is neither.
  explicit WatchedRun(std::string result);

  // Reads what is new. Throws UserError where the file cannot be read: a run that is under way may have been
  // in the middle of a flush, and the next call may be luckier.
  void update();

  std::string const& result() const { return result_; }
  // A program is writing it, and has written no sample out.
  bool awaits_samples() const { return written_ && !has_ended() && !last_; }
  bool has_ended() const;                       // nothing more will come
  bool is_written() const { return written_; }  // by a program that is at work
  std::optional<double> done() const;           // share of the thread blocks, where it is known
  std::vector<std::string> lines(FrameForm const& form) const;
  std::string one_line_state() const;  // "43 %, 1.87 ms"

 private:
  struct Seen {  // how far the run was, and when
    double wall = 0;
    std::int64_t time_ps = 0;
    std::uint64_t blocks = 0;
  };
  std::string state() const;
  void take(results::LiveRun run, double written_at);
  // Since when rates are counted.
  std::optional<Seen> reference() const;

  std::string result_;
  bool written_ = false;
  results::LiveRun run_;
  std::vector<results::LivePoint> points_;
  double begin_ = 0;  // of the program, wall-clock; 0: not known
  std::optional<Seen> first_, last_;
};

}  // namespace farfault::cli
