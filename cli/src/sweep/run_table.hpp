// SPDX-License-Identifier: Apache-2.0
// Private: the outcome of each run of a sweep, and the table of all runs.
//
// The table is a function of the entered values; the order in which runs end has no effect. It is a
// results::SweepTable for result files, a CSV with the same columns for programs, and a list of the first
// rows for users.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "farfault/results/sweep.hpp"
#include "study/study.hpp"

namespace farfault::cli {

// A parameter that varies.
struct VariedKey {
  std::string key;
  std::string text;       // description of the parameter
  bool by_point = false;  // key of the list: the name of a point implies its value
};

class RunTable {
 public:
  enum class State : std::uint8_t { missing, done, failed };

  RunTable(std::vector<VariedKey> keys, std::size_t runs);

  // One value per key. `point`: the name of its point of the list; empty without names.
  void set_values(std::size_t run, std::string point, std::vector<StudyValue> values);
  // The reason why an existing file of this name does not count as the result, or its checkpoint; may be
  // empty.
  void set_missing(std::size_t run, std::string why);
  // `result`: path of its file in the folder of the sweep.
  void set_done(std::size_t run, std::string result, results::SweptRun const& what);
  void set_failed(std::size_t run, std::string error);
  // Copies the outcome of run `other`.
  void set_as(std::size_t run, std::size_t other);

  State state(std::size_t run) const { return rows_[run].state; }
  std::string const& error_of(std::size_t run) const { return rows_[run].error; }
  std::size_t count(State state) const;
  // "run 3 (workload.size = 8 MiB)", "run 3 (small, run.seed = 2)"
  std::string name_of(std::size_t run) const;

  // If `seeds` is not 1, each group of this many rows is one point, and the table has the spread too. With
  // names, the keys of the list follow the figures.
  results::SweepTable table(std::size_t seeds) const;
  // Prints the first rows: parameters, state, end of the run in simulated time, and further columns: a
  // heading each, and a cell for each row. Further columns after the first one are omitted if they would
  // exceed kMaxWidth. Returns the number of further columns.
  static constexpr std::size_t kMaxWidth = 120;
  std::size_t print(std::ostream& out, std::size_t seeds, std::size_t most,
                    std::vector<std::vector<std::string>> const& more = {}) const;

 private:
  struct Row {
    std::string point;
    std::vector<StudyValue> values;
    State state = State::missing;
    std::string error, result, digest;
    std::vector<std::pair<std::size_t, std::uint64_t>> figures;  // by figure number
  };
  struct Figure {
    std::string name, unit, text;
  };
  bool are_named() const { return !rows_.empty() && !rows_[0].point.empty(); }
  // True if the key is needed to identify a run.
  bool is_reported(VariedKey const& key) const { return !(key.by_point && are_named()); }
  // Without run.seed if each row is a point.
  void add_parameters(std::vector<results::SweepColumn>& columns, bool reported, std::size_t step) const;
  std::uint64_t figure_of(Row const& row, std::size_t figure) const;
  std::vector<std::size_t> figures_by_name() const;
  results::SweepColumn parameter_column(std::size_t key, std::size_t step) const;
  std::vector<results::SweepColumn> spread(std::size_t seeds) const;
  std::string end_text(std::size_t run, std::size_t seeds) const;

  std::vector<VariedKey> keys_;
  std::vector<Row> rows_;
  std::vector<Figure> figures_;
  std::map<std::string, std::size_t> figure_numbers_;
};

// The rows of /runs or /spread: a heading, and a line per row, with its number first in the column
// `dimension`. Text is quoted as in RFC 4180; a missing number is empty. A text that begins with =, +, - or @
// and is not a number gets an apostrophe, so that no spreadsheet evaluates it.
std::string to_csv(std::string const& dimension, std::vector<results::SweepColumn> const& columns);

}  // namespace farfault::cli
