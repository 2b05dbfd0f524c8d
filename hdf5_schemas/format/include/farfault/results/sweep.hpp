// SPDX-License-Identifier: Apache-2.0
// The table of a sweep: one HDF5 file with a row per run (layout: docs/reference/sweep-table.md). Also reads
// the parts of a run's result that a sweep needs.
//
// Guarantees: write_sweep() writes "<path>.partial" and renames it, so the old table stays complete until the
// new one is. Equal tables produce equal bytes. Reading: guarantees and errors as in reader.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "farfault/results/reader.hpp"
#include "farfault/results/schema.hpp"

namespace farfault::results {

inline constexpr std::uint64_t kNoFigure = std::numeric_limits<std::uint64_t>::max();

struct SweepColumn {
  std::string name;
  std::string role;  // "parameter", "figure", "ratio" (to the baseline), or empty
  std::string unit;  // as in a result: "ps", "byte", "1"
  std::string text;
  // A missing number is kNoFigure, or NaN.
  std::variant<std::vector<std::string>, std::vector<std::uint64_t>, std::vector<double>> values;
  // "name" for a parameter that the points of a list with names set: the name implies its value.
  std::string varies_with = {};
};

struct SweepTable {
  std::vector<SweepColumn> runs;        // of equal length: one row per run
  std::vector<SweepColumn> spread;      // one row per point, over its seeds; empty if seeds are not swept
  std::vector<SweepColumn> means = {};  // mean speedups, one row per group of runs; empty: none
  std::string baseline = {};            // "gpu.router.policy = distributed"; empty: none
  std::string mean_over = {};           // dimension of the means; empty: none
};

// Throws UserError if the file cannot be opened for writing, RunError if writing fails.
void write_sweep(std::string const& path, SweepTable const& table);

struct SweepSummary {
  std::int64_t schema_version = 0;
  std::string farfault_version;
  std::uint64_t runs = 0, done = 0, failed = 0, missing = 0;
  std::vector<std::string> parameters;  // varied
  std::uint64_t figures = 0;
};

// True if the file is, or claims to be, the table of a sweep; never throws.
bool looks_like_sweep(std::string const& path);
SweepSummary read_sweep(std::string const& path);
// Without the spread, and with these figures only, as far as the table has them. Order of the columns: name
// and facts, parameters (the one that changes least from row to row first), ratios, figures.
SweepTable read_sweep_table(std::string const& path, std::vector<std::string> const& figures);
std::string to_json(SweepSummary const& summary);  // one line, {"kind":"sweep",...}
std::string to_text(SweepSummary const& summary);  // for users

// Identity of a result, by which a sweep recognizes its runs, and its figures.
struct SweptRun {
  std::string farfault_version;
  std::string commit, build;        // of the program; empty: not recorded
  std::string config;               // resolved configuration without the names of input files
  std::vector<InputRecord> inputs;  // the input files
  std::string end_reason;
  std::string result_digest;        // empty if the run is incomplete
  double wall_time = 0;             // s
  bool resumed = false;             // from a checkpoint; wall_time does not include the time before it
  std::vector<SummaryRow> figures;  // of the machine
};
SweptRun read_swept_run(std::string const& path);

// SweptRun::config of a configuration before its run. `toml`: resolved text; `file_parameters`: parameters
// that name input files.
std::string without_file_names(std::string const& toml, std::vector<std::string> const& file_parameters);

}  // namespace farfault::results
