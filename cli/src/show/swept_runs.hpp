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

  // Gives runs the names of their points and values of the other keys ("bfs, distributed"), adds the settings
  // `name` and `base`, and marks the settings that follow from the name or from varied keys.
  void name(analysis::RunsCompared& compared) const;

  // The table if the results are all completed runs of one sweep, with the digests of the table; else null.
  results::SweepTable const* whole_table(analysis::RunsCompared const& compared) const;
  // True if a result belongs to a sweep without a table, or is not the result of the table.
  bool lacks_table(analysis::RunsCompared const& compared) const;
  // Ratios in the tables of the results: the speedup first, then the ratios of other figures by name.
  std::vector<std::string> ratios() const;
  // A ratio of a result in its table, and why it has none.
  struct Ratio {
    double value;  // NaN: none
    std::string reason;
  };
  std::optional<Ratio> ratio(std::size_t file, std::string const& name) const;

 private:
  struct Place {
    std::size_t table = 0, row = 0;
  };
  struct Row {
    results::SweepTable const& table;
    std::size_t row;
  };
  std::optional<Row> row_of(std::size_t file) const;
  struct Dimension;
  std::vector<Dimension> dimensions() const;
  std::vector<std::string> sources_of(analysis::ComparedSetting const& setting,
                                      std::vector<Dimension> const& dimensions) const;
  void fold(analysis::RunsCompared& compared) const;
  bool is_in_table(std::size_t file, analysis::ComparedRun const& run) const;

  std::vector<results::SweepTable> tables_;
  std::vector<bool> is_swept_;                // by file: belongs to a sweep
  std::vector<std::optional<Place>> places_;  // by file: in the table of its sweep
};

}  // namespace farfault::cli
