// SPDX-License-Identifier: Apache-2.0
// `farfault sweep`: the runs of a study, and one table of them.
//
// Guarantees: every run's configuration is checked before anything runs. A run whose result is there, of the
// same configuration, the same contents of input files and the same program, is not run again. A run that
// fails is a row of the table like any other, and the sweep goes on. The table depends on the study alone,
// not on how many runs there were at a time; it is replaced by a whole one. Call it before any thread is
// started: runs are child processes of this one, and files are read in children under limits.
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
// Of "I/N"; throws UserError for anything else.
SweepPart sweep_part(std::string const& text);

struct SweepOptions {
  std::string study;  // TOML file
  std::vector<std::string> sets;
  std::string output;                    // folder; empty: what the study says
  std::optional<std::uint32_t> jobs;     // runs at a time; none: one for each core
  std::uint32_t threads = 1;             // of each run
  std::optional<ByteSize> memory;        // that a run may take
  std::optional<ByteSize> total_memory;  // that all runs at a time may take; none: that of the machine
  std::optional<SweepPart> part;
  bool collect = false;  // run nothing
  bool dry_run = false;  // say what would be done
  bool slurm = false;    // as an array job
  ProgressMode progress = ProgressMode::automatic;
  Extensions extensions;
};

// Returns the exit code: 0 done, 1 some runs failed, 3 stopped by a signal.
int sweep(SweepOptions const& options, std::ostream& out, std::ostream& err);

}  // namespace farfault::cli
