// SPDX-License-Identifier: Apache-2.0
// Private: what came of each run of a sweep, and the table of all of them.
//
// The table is a function of what was set: the order in which runs end does not show. In results it is
// results::SweepTable, for programs a CSV with the same columns, for people the first rows.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "farfault/results/sweep.hpp"
#include "study.hpp"

namespace farfault::cli {

// A parameter that varies.
struct VariedKey {
  std::string key;
  std::string text;       // what the parameter is
  bool by_point = false;  // of a list: the name of a point tells its value
};

class RunTable {
 public:
  enum class State : std::uint8_t { missing, done, failed };

  RunTable(std::vector<VariedKey> keys, std::size_t runs);

  // One for each key. `point`: the name of its point of the list; empty where they have none.
  void set_values(std::size_t run, std::string point, std::vector<StudyValue> values);
  // Why there is no result where a file has its name.
  void set_missing(std::size_t run, std::string why);
  // `result` is the path of its file in the folder of the sweep.
  void set_done(std::size_t run, std::string result, results::SweptRun const& what);
  void set_failed(std::size_t run, std::string error);
  // As run `other` ended.
  void set_as(std::size_t run, std::size_t other);

  State state(std::size_t run) const { return rows_[run].state; }
  std::string const& error_of(std::size_t run) const { return rows_[run].error; }
  std::size_t count(State state) const;
  // "run 3 (workload.size = 8 MiB)", "run 3 (small, run.seed = 2)"
  std::string name_of(std::size_t run) const;

  // Where `seeds` is not 1, so many runs in a row are one point, and the table has their spread, too.
  results::SweepTable table(std::size_t seeds) const;
  // The first rows: parameters, state, and when each run ended in simulated time.
  void print(std::ostream& out, std::size_t seeds, std::size_t most) const;

 private:
  struct Row {
    std::string point;
    std::vector<StudyValue> values;
    State state = State::missing;
    std::string error, result, digest;
    std::vector<std::pair<std::size_t, std::uint64_t>> figures;  // by number
  };
  struct Figure {
    std::string name, unit, text;
  };
  bool are_named() const { return !rows_.empty() && !rows_[0].point.empty(); }
  // Those that people need to know which run it is.
  bool is_told(VariedKey const& key) const { return !(key.by_point && are_named()); }
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

// The rows of /runs, or of /spread: a heading, and a line for each, with its number first in the column
// `dimension`. Text is quoted as RFC 4180 says; a number that is missing is empty. A text
// that begins with =, +, - or @ and is no number has an apostrophe before it, so that no spreadsheet runs it.
std::string to_csv(std::string const& dimension, std::vector<results::SweepColumn> const& columns);

}  // namespace farfault::cli
