// SPDX-License-Identifier: Apache-2.0
// Private: the content of a study's file: common settings, and the values that vary.
//
// Errors: UserError, one sentence with file, line, key and rule. Keys and values are checked against the
// parameters when the runs are planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "random_values.hpp"

namespace farfault::cli {

enum class ValueKind : std::uint8_t { count, number, text };

// A value, as given to a parameter of a run.
struct StudyValue {
  std::string toml;
  std::string text;  // as written, without quotes
  ValueKind kind = ValueKind::text;
};

struct StudySetting {
  std::string key;
  StudyValue value;
  int line = 0;
  // For an array of tables: the same TOML with line numbers, so that errors have the lines of the study's
  // file.
  std::string placed_toml = {};          // with each table at its line, counted from 1
  std::vector<StudySetting> inner = {};  // keys within the tables: application.0.workload
};

// A point of a list.
struct StudyPoint {
  std::string name;  // empty if the points of the list have no names
  double cost = 1;   // relative to the other runs
  std::vector<StudySetting> settings;
  int line = 0;
};

// A key and its values.
struct StudyAxis {
  std::string key;
  std::vector<StudyValue> values;
  int line = 0;
};

struct RandomAxis {
  std::string key;
  std::optional<RandomRange> range;
  std::vector<StudyValue> choices;  // empty with a range
  int line = 0;
};

struct Study {
  std::string path;
  StudySetting base;                 // for runs whose points name no other; empty: each point names one
  std::string output;                // folder of the results
  std::vector<StudySetting> shared;  // set by all runs
  std::vector<StudyPoint> list;
  std::vector<StudyAxis> grid;
  std::vector<RandomAxis> random;
  std::uint64_t samples = 0;
  std::uint64_t random_seed = 1;
  std::vector<std::uint64_t> seeds;  // seeds of the runs; empty: no sweep over seeds
  int seeds_line = 0;
  std::vector<StudySetting> baseline;  // the runs to compare with; key kNameKey: a point; empty: none
  std::string mean_over;               // dimension of the mean ratios; empty: none
  std::vector<std::string> figures;    // with a ratio to the baseline in the table
  int baseline_line = 0, mean_over_line = 0, figures_line = 0;
  std::uint64_t slurm_parts = 0;  // tasks of the array job; 0: chosen by the number of runs
  std::vector<std::string> slurm_options;
};

inline constexpr char const* kSeedKey = "run.seed";
// Varies like a parameter: the configuration of a run, a file relative to the study's folder, or the name of
// a preset.
inline constexpr char const* kBaseKey = "base";
inline constexpr char const* kNameKey = "name";  // of a point of the list

Study read_study(std::string const& path);

}  // namespace farfault::cli
