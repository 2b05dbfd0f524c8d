// SPDX-License-Identifier: Apache-2.0
// The dimensions of a sweep: its varied keys, each with its values.
//
// - With names, the points of the list are one dimension, `name`, instead of their keys
//   (SweepColumn::varies_with). If one of these keys is asked for, the keys replace the name.
// - Values are ordered by size if all are numbers or quantities of one kind ("64 KiB"); other values have the
//   order of their first runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/results/sweep.hpp"

namespace farfault::analysis {

inline constexpr char const* kSweepName = "name";
inline constexpr char const* kSweepSeed = "run.seed";

// One key.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  // each once; empty text: the runs do not have the key
  std::vector<double> sizes;        // of the values, in base units; empty: the values have no order of size
  std::vector<std::size_t> of_run;  // index into `values`
};

struct SweepAxes {
  std::vector<SweepAxis> asked;
  std::vector<SweepAxis> others;  // without the seed; a key that follows from the ones before it is omitted
  std::optional<SweepAxis> seed;  // unless it is asked for
};

results::SweepColumn const* find_column(std::vector<results::SweepColumn> const& columns,
                                        std::string_view name);
std::size_t rows_of(std::vector<results::SweepColumn> const& columns);
// A value as text: the shortest form of a number, empty if it is missing.
std::string cell_text(results::SweepColumn const& column, std::size_t row);
// True for equal texts, numbers and quantities ("8 KiB" and "8192 B").
bool is_same_value(std::string const& a, std::string const& b);

SweepAxis sweep_axis(results::SweepColumn const& column);
// The keys that may be asked for, the name first.
std::vector<std::string> sweep_keys(results::SweepTable const& table);
// Throws UserError for a key that does not vary. `option`: what the message calls it.
void check_sweep_key(results::SweepTable const& table, std::string const& key, std::string const& option);
SweepAxes sweep_axes(results::SweepTable const& table, std::vector<std::string> const& asked);

}  // namespace farfault::analysis
