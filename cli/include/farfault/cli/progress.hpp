// SPDX-License-Identifier: Apache-2.0
// Progress of a run, for the user.
//
// - On a terminal: one line, redrawn at most four times per second and never wider than the terminal.
// - Elsewhere (log of a batch job): a dated line after ten seconds, then at intervals that grow by half, at
//   most ten minutes.
// - Off: no output.
//
// Guarantees: report() is cheap between drawings. Progress reads the wall clock and never touches the model,
// so results do not depend on it. Not thread-safe: one thread reports.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault::cli {

enum class ProgressMode { automatic, on, off };

// "auto", "on" or "off"; throws UserError for anything else.
ProgressMode progress_mode(std::string_view word);

class Progress {
 public:
  struct State {
    Time now{};                  // simulated
    std::uint64_t events = 0;    // handled since the run began
    std::optional<double> done;  // share of the work, 0 to 1, if known
  };
  using WallClock = std::function<double()>;     // seconds, monotonic
  using Columns = std::function<std::size_t()>;  // current width of the terminal

  // `automatic` draws on a terminal and writes lines elsewhere; `on` does the same; `off` is silent.
  Progress(ProgressMode mode, std::ostream& out, bool terminal, WallClock clock = {}, Columns columns = {});
  ~Progress();
  Progress(Progress&&) noexcept;

  // Without a terminal, prints the first line after `seconds` instead of after ten.
  void print_within(double seconds);
  // For a resumed run: the share of the work that earlier programs did. It took none of this program's time.
  void resumed(double done);
  void report(State const& state);
  // For work other than a single run: the phrases to print at this elapsed time, the most important first.
  using Phrases = std::function<std::vector<std::string>(double elapsed)>;
  void report(std::optional<double> done, Phrases const& phrases);
  // Clears the line of a terminal; called before anything else is printed, and at the end.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Width of the terminal at `descriptor`; without a terminal, the value of `variable` (COLUMNS), else 80.
std::size_t terminal_columns(int descriptor, char const* variable);
// Progress on standard error; draws if it is a terminal.
Progress progress_on_stderr(ProgressMode mode);

}  // namespace farfault::cli
