// SPDX-License-Identifier: Apache-2.0
// Private: results that are runs of sweeps, DIR/runs/*.h5, with their rows in the table DIR/sweep.h5.
//
// A folder may come from another person: a table outside it, a damaged table and an older one without a
// result are ignored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "farfault/analysis/compare.hpp"
#include "farfault/results/sweep.hpp"

namespace farfault::cli {

class SweptRuns {
 public:
  // `files`: results in the order of a command line.
  explicit SweptRuns(std::vector<std::string> const& files);

  // Gives runs the names of their points and values of the other keys ("bfs, distributed"), adds the setting
  // `name`, and marks the settings that follow from it.
  void name(analysis::RunsCompared& compared) const;

  // The table if the results are all completed runs of one sweep, with the digests of the table; else null.
  results::SweepTable const* whole_table(analysis::RunsCompared const& compared) const;
  // True if a result belongs to a sweep without a table, or is not the result of the table.
  bool lacks_table(analysis::RunsCompared const& compared) const;
  // The speedup of a result in its table, and why it has none.
  struct Speedup {
    double value;  // NaN: none
    std::string reason;
  };
  std::optional<Speedup> speedup(std::size_t file) const;

 private:
  struct Place {
    std::size_t table = 0, row = 0;
  };
  struct Row {
    results::SweepTable const& table;
    std::size_t row;
  };
  std::optional<Row> row_of(std::size_t file) const;
  bool is_in_table(std::size_t file, analysis::ComparedRun const& run) const;
  bool is_implied(analysis::ComparedSetting const& setting, std::vector<std::string> const& points) const;

  std::vector<results::SweepTable> tables_;
  std::vector<bool> is_swept_;                // by file: belongs to a sweep
  std::vector<std::optional<Place>> places_;  // by file: in the table of its sweep
};

}  // namespace farfault::cli
