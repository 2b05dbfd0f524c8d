// SPDX-License-Identifier: Apache-2.0
// `farfault sweep`: the runs of a study, and one table of them.
//
// - Every configuration is checked before the first run starts.
// - A run is cached if its result matches the configuration, the contents of input files and the program.
// - A signal saves the active runs; the next sweep continues them from their checkpoints, with equal results.
// - A failed run is a row of the table, and the sweep continues.
// - The table depends on the study alone, not on the number of concurrent runs; it is replaced atomically.
// - Call it before any thread is started: runs are child processes, and files are read in children under
//   limits.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "farfault/cli/extensions.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::cli {

// A share of a study's runs: the I-th of N, from 1.
struct SweepPart {
  std::uint64_t number = 1;
  std::uint64_t of = 1;
};
// Parses "I/N"; throws UserError for anything else.
SweepPart sweep_part(std::string const& text);

// Default minutes between checkpoints of a run, in case a node fails.
inline constexpr double kCheckpointMinutes = 30;

// Two dimensions of the table, printed instead of its rows.
struct SweepPivotOptions {
  std::vector<std::string> keys;  // of the columns, of the rows; empty: print the rows of the table
  std::string figure;             // empty: the speedup, or the end without a baseline
};

struct SweepOptions {
  std::string study;  // TOML file
  std::vector<std::string> sets;
  std::string output;                        // folder; empty: as in the study
  std::optional<std::uint32_t> jobs;         // concurrent runs; none: one per core
  std::uint32_t threads = 1;                 // of each run
  std::optional<ByteSize> memory;            // limit of each run
  std::optional<ByteSize> total_memory;      // limit of all concurrent runs; none: memory of the machine
  std::optional<double> checkpoint_minutes;  // between checkpoints of each run; none: kCheckpointMinutes
  std::optional<SweepPart> part;
  bool collect = false;  // write the table, execute no runs
  bool dry_run = false;  // print the plan only
  bool slurm = false;    // as an array job
  bool json = false;     // the table, or the pivot, as JSON: the only output
  SweepPivotOptions pivot;
  ProgressMode progress = ProgressMode::automatic;
  Extensions extensions;
};

// Returns the exit code: 0 done, 1 some runs failed or are missing, 3 stopped by a signal.
int sweep(SweepOptions const& options, std::ostream& out, std::ostream& err);

}  // namespace farfault::cli
