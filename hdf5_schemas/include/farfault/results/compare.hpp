// SPDX-License-Identifier: Apache-2.0
// What several runs were asked for and what came out of each, side by side: the first one is what the others
// are compared with.
//
// Guarantees and errors are those of reader.hpp: any files may be given. A "<path>.partial" of a run that did
// not finish takes part with what its summary holds. Cost: the summaries are read; whole files only of two
// runs whose summaries agree and whose digests do not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace farfault::results {

struct ComparedRun {
  std::string path;
  std::string digest;  // empty where the run did not finish
  std::string end_reason;
  std::string farfault_version;
  std::string commit;  // of the program that made it; empty where it does not say so
  bool equal = false;  // to the first one: the same results, whatever was asked for
};

// A parameter, or an input file's content, that is not the same in all runs; "none" where a run has none.
struct ComparedSetting {
  std::string name;
  std::vector<std::string> values;  // by run
  bool in_all() const;              // what only some of the runs have follows from another setting
};

// A figure of /summary that is not the same in all runs.
struct ComparedFigure {
  std::string scope;   // "machine", "gpu", "application"
  std::string name;    // "machine", "gpu0", "bfs"
  std::string metric;  // "iommu_walks"
  std::string unit;    // as in the file: "ps", "byte", "1"
  std::string text;
  std::vector<std::optional<std::uint64_t>> values;  // by run; none where a run does not have it
  // From 0 to 1, by which figures are ordered: the largest difference from the first run, as a share of the
  // larger value. Small counts weigh less: ten times its square root is added to the larger value, of times
  // in ns and of bytes in 64. A figure that a run does not have weighs nothing.
  double effect = 0;
};

struct RunsCompared {
  std::vector<ComparedRun> runs;
  std::vector<ComparedSetting> settings;  // those that all runs have first, each by name
  std::vector<ComparedFigure> figures;    // that with the largest effect first
  std::uint64_t figures_in_all = 0;       // those that agree included
  bool all_equal() const;
};

// Throws UserError for fewer than two files, or more than kMostCompared.
inline constexpr std::size_t kMostCompared = 1000;
RunsCompared compare(std::vector<std::string> const& paths);

std::string to_json(RunsCompared const& compared);  // one line, {"kind":"comparison",...}
// A heading, and a line for each setting and figure: kind, scope, name, metric, unit, a column for each run.
// Text is quoted as RFC 4180 says, and has no control characters.
std::string to_csv(RunsCompared const& compared);

}  // namespace farfault::results
