// SPDX-License-Identifier: Apache-2.0
// Private: a run, read from its growing file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "farfault/analysis/live.hpp"

namespace farfault::cli {

// Layout of frames.
struct FrameForm {
  std::size_t columns = 80;
  bool blocks = true;  // the terminal has block characters
};

class WatchedRun {
 public:
  // `result`: the run's output, which grows as ".partial". Throws UserError if neither exists.
  explicit WatchedRun(std::string result);

  // Reads new data. Throws UserError if the file cannot be read: an active run may have been flushing, so the
  // next call may succeed.
  void update();

  std::string const& result() const { return result_; }
  // True if a program is writing the file but has not flushed a sample yet.
  bool awaits_samples() const { return written_ && !has_ended() && !last_; }
  bool has_ended() const;                       // the file is final
  bool is_written() const { return written_; }  // by an active program
  std::optional<double> done() const;           // share of the thread blocks, if known
  std::vector<std::string> lines(FrameForm const& form) const;
  std::string one_line_state() const;  // "43%, 1.87 ms"

 private:
  struct Seen {  // progress of the run at a time
    double wall = 0;
    std::int64_t time_ps = 0;
    std::uint64_t blocks = 0;
  };
  std::string state() const;
  void take(analysis::LiveRun run, double written_at);
  // Start of the interval for rates.
  std::optional<Seen> reference() const;

  std::string result_;
  bool written_ = false;
  analysis::LiveRun run_;
  std::vector<analysis::LivePoint> points_;
  double begin_ = 0;  // start of the program, wall-clock; 0: unknown
  std::optional<Seen> first_, last_;
};

}  // namespace farfault::cli
