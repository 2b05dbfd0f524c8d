// SPDX-License-Identifier: Apache-2.0
// Compares the parameters and the summaries of several runs. The first run is the reference.
//
// Guarantees and errors: as in reader.hpp; any files may be given.
// Limits: a "<path>.partial" of an incomplete run is compared by its summary as far as it has one.
// Cost: reads the summaries, and the tables of kernels of different runs; reads whole files only for two runs
// whose summaries agree and whose digests differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace farfault::analysis {

struct ComparedRun {
  std::string path;
  std::string digest;  // empty if the run is incomplete
  std::string end_reason;
  std::string farfault_version;
  std::string commit;     // of the program that wrote it; empty: not recorded
  bool equal = false;     // results equal to the first run's; parameters may differ
  std::string name = {};  // set by a caller that has names for runs, such as points of a sweep
};

// A parameter, or the content of an input file, that differs between runs. "none": the run does not have it.
struct ComparedSetting {
  std::string name;
  std::vector<std::string> values;  // by run
  bool is_implied = false;          // set by such a caller: the value follows from others
  bool in_all() const;              // false: only some runs have it, so it follows from another setting
};

// A figure of /summary that differs between runs.
struct ComparedFigure {
  std::string scope;   // "machine", "gpu", "application"
  std::string name;    // "machine", "gpu0", "bfs"
  std::string metric;  // "iommu_walks"
  std::string unit;    // as in the file: "ps", "byte", "1"
  std::string text;
  std::vector<std::optional<std::uint64_t>> values;  // by run; nullopt: the run does not have it
  // Sort key, from 0 to 1: the largest difference d from the first run, relative to the larger value v: d /
  // (v + 10 * sqrt(v)), so that small counts weigh less. Times are in us, sizes in units of 64 bytes. A
  // figure that the first run does not have has effect 0.
  double effect = 0;
  // Contribution to the change of the machine's end, in ps, as in explain_pair.hpp; of the run with the
  // largest one. nullopt: unknown.
  std::optional<std::int64_t> end_ps;
};

struct RunsCompared {
  std::vector<ComparedRun> runs;
  std::vector<ComparedSetting> settings;  // first the settings that all runs have; each part by name
  std::vector<ComparedFigure> figures;    // largest contribution to the end first, then largest effect
  std::uint64_t figures_in_all = 0;       // number of figures, including equal ones
  std::vector<std::string> implied_by =
      {};  // set by such a caller: settings from which the implied ones follow
  bool all_equal() const;
};

// Throws UserError for fewer than two files, or more than kMaxCompared.
inline constexpr std::size_t kMaxCompared = 1000;
RunsCompared compare(std::vector<std::string> const& paths);

std::string to_json(RunsCompared const& compared);  // one line, {"kind":"comparison",...}
// A heading, and one line per setting and figure: kind, scope, name, metric, unit, one column per run. Text
// is quoted as in RFC 4180 and has no control characters.
std::string to_csv(RunsCompared const& compared);

}  // namespace farfault::analysis
