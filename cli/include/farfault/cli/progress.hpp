// SPDX-License-Identifier: Apache-2.0
// How far a run is, for the user.
//
// On a terminal: one line that is redrawn four times a second at most, and never wider than the terminal,
// which would break it in two. Elsewhere (a batch job's log): a line with the date after ten seconds, then
// each time half as much time again has passed, at most ten minutes apart. Off: nothing. report() is cheap
// between drawings. It reads the wall clock and never touches the model: results do not depend on it. Not
// thread-safe: one thread reports.
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
    std::optional<double> done;  // share of the work, 0 to 1, where it can be told
  };
  using WallClock = std::function<double()>;     // seconds, never going back
  using Columns = std::function<std::size_t()>;  // of the terminal at this moment

  // `automatic` draws on a terminal and writes lines elsewhere; `on` does the same; `off` is silent.
  Progress(ProgressMode mode, std::ostream& out, bool terminal, WallClock clock = {}, Columns columns = {});
  ~Progress();
  Progress(Progress&&) noexcept;

  // Without a terminal, prints the first line after `seconds` instead of after ten.
  void speak_within(double seconds);
  // Of a run that is resumed, the share of the work that was done before: it took none of this program's
  // time.
  void resumed(double done);
  void report(State const& state);
  // The same for what is no single run: what there is to say, the most important first, once so many seconds
  // have passed.
  using Phrases = std::function<std::vector<std::string>(double elapsed)>;
  void report(std::optional<double> done, Phrases const& phrases);
  // Clears the line of a terminal; called before anything else is printed, and at the end.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The width of the terminal at `descriptor`; where there is none, what `variable` (COLUMNS) says, else 80.
std::size_t terminal_columns(int descriptor, char const* variable);
// Standard error, and whether a person sees it.
Progress progress_on_stderr(ProgressMode mode);

// "12.3 us", "4.56 s": three digits, for people; results hold exact times.
std::string for_people(Duration d);
// "3.21 M", "950".
std::string for_people(double amount);
// "1:05", "2:03:09".
std::string wall_time(double seconds);

}  // namespace farfault::cli
