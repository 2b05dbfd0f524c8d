// SPDX-License-Identifier: Apache-2.0
// A figure of a sweep over one or two dimensions.
//
// - A cell is the mean over the seeds. It is empty, with a reason, if a run is missing, has failed or has no
//   value, and if the study has no such run.
// - The remaining dimensions: one table or line for each combination of their values.
// - A ratio has its geometric mean over the dimension `mean_over` of the study, too.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "farfault/analysis/sweep_point_names.hpp"
#include "farfault/analysis/sweep_ratios.hpp"

namespace farfault::analysis {

struct SweepPivot {
  std::string figure, unit, text, baseline;  // baseline: of a ratio
  bool is_ratio = false;
  SweepAxis columns, rows;
  struct Table {
    SweepValues others;
    std::string mean_over;                      // dimension over which the cells are means; empty: none
    std::vector<std::vector<SweepMean>> cells;  // [row][column]
    std::vector<SweepMean> row_of_means;     // per column, over the rows; empty unless they are `mean_over`
    std::vector<SweepMean> column_of_means;  // per row, over the columns
  };
  std::vector<Table> tables;
};

// `x`: key of the columns, `y`: of the rows. Throws UserError for a key that does not vary, for another
// figure, and for more than 1,000,000 cells.
SweepPivot sweep_pivot(results::SweepTable const& table, std::string const& x, std::string const& y,
                       std::string const& figure);
std::string to_json(SweepPivot const& pivot);  // one line, {"kind":"pivot",...}

struct SweepCurves {
  std::string figure, unit, text, baseline;
  bool is_ratio = false;
  SweepAxis x;
  bool has_means = false;  // over x
  struct Line {
    SweepValues others;
    std::vector<SweepMean> points;  // per value of x
    SweepMean mean;                 // over x
  };
  std::vector<Line> lines;
};

// Throws as sweep_pivot.
SweepCurves sweep_curves(results::SweepTable const& table, std::string const& x, std::string const& figure);
// A key to draw a figure over: numbers and quantities before texts, many values before few, and keys of the
// baseline and the seed last. Empty: nothing varies.
std::string sweep_curve_key(results::SweepTable const& table);

}  // namespace farfault::analysis
