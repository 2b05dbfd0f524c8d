// SPDX-License-Identifier: Apache-2.0
// The table of a sweep: one HDF5 file with a row for each run; the layout is described in
// hdf5_schemas/README.md. And what a sweep asks of the result of one run.
//
// Guarantees: write_sweep() leaves a whole table or the one before it: it is written as "<path>.partial" and
// renamed. Equal tables give equal bytes. Reading has the guarantees and errors of reader.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "farfault/results/reader.hpp"
#include "farfault/results/writer.hpp"

namespace farfault::results {

inline constexpr std::uint64_t kNoFigure = std::numeric_limits<std::uint64_t>::max();

struct SweepColumn {
  std::string name;
  std::string role;  // "parameter", "figure", or empty
  std::string unit;  // as in a result: "ps", "byte", "1"
  std::string text;
  // Numbers that are missing are kNoFigure, or not a number.
  std::variant<std::vector<std::string>, std::vector<std::uint64_t>, std::vector<double>> values;
};

struct SweepTable {
  std::vector<SweepColumn> runs;    // of equal length: a row for each run
  std::vector<SweepColumn> spread;  // a row for each point, over its seeds; empty where no seeds are swept
};

// Throws UserError where the file cannot be written, RunError where that fails.
void write_sweep(std::string const& path, SweepTable const& table);

struct SweepSummary {
  std::int64_t schema_version = 0;
  std::string farfault_version;
  std::uint64_t runs = 0, done = 0, failed = 0, missing = 0;
  std::vector<std::string> parameters;  // that were varied
  std::uint64_t figures = 0;
};

// Whether the file is, or says that it is, the table of a sweep; never throws.
bool looks_like_sweep(std::string const& path);
SweepSummary read_sweep(std::string const& path);
std::string to_json(SweepSummary const& summary);  // one line, {"kind":"sweep",...}
std::string to_text(SweepSummary const& summary);  // for people

// What a result was made of, which tells whether it is the one that a sweep wants, and what it came to.
struct SweptRun {
  std::string farfault_version;
  std::string commit, build;        // of the program; empty where the file does not say
  std::string config;               // the resolved configuration without the names of input files
  std::vector<InputRecord> inputs;  // those files
  std::string end_reason;
  std::string result_digest;        // empty where the run did not finish
  double wall_time = 0;             // s
  std::vector<SummaryRow> figures;  // of the machine
};
SweptRun read_swept_run(std::string const& path);

// The same of a configuration that is to be run: `toml` is its resolved text, the others name its input
// files.
std::string without_file_names(std::string const& toml, std::vector<std::string> const& file_parameters);

}  // namespace farfault::results
