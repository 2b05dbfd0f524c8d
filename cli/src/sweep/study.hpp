// SPDX-License-Identifier: Apache-2.0
// Private: a study as its file has it: what all runs share, and what varies.
//
// Errors: UserError, one sentence with file, line, key and rule. Whether the keys are parameters, and the
// values theirs, is seen when the runs are planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "random_values.hpp"

namespace farfault::cli {

enum class ValueKind : std::uint8_t { count, number, text };

// As a parameter of a run gets it.
struct StudyValue {
  std::string toml;
  std::string text;  // as written, without quotes
  ValueKind kind = ValueKind::text;
};

struct StudySetting {
  std::string key;
  StudyValue value;
  int line = 0;
  // Of an array of tables: the same once more, for mistakes to have the lines at which they stand.
  std::string placed_toml = {};          // with each table at its line, counted from 1
  std::vector<StudySetting> inner = {};  // what the tables hold: application.0.workload
};

// A point of a list.
struct StudyPoint {
  std::string name;  // of its own; empty where the points of the list have none
  double cost = 1;   // how long it takes beside the others
  std::vector<StudySetting> settings;
  int line = 0;
};

// A key and the values that it takes in turn.
struct StudyAxis {
  std::string key;
  std::vector<StudyValue> values;
  int line = 0;
};

struct RandomAxis {
  std::string key;
  std::optional<RandomRange> range;
  std::vector<StudyValue> choices;  // where there is no range
  int line = 0;
};

struct Study {
  std::string path;
  StudySetting base;                 // of runs whose points name no other; no text: each point names one
  std::string output;                // folder of the results
  std::vector<StudySetting> shared;  // by all runs
  std::vector<StudyPoint> list;
  std::vector<StudyAxis> grid;
  std::vector<RandomAxis> random;
  std::uint64_t samples = 0;
  std::uint64_t random_seed = 1;
  std::vector<std::uint64_t> seeds;  // of the runs; empty: they are not swept
  int seeds_line = 0;
  std::uint64_t slurm_parts = 0;  // tasks of the array job; 0: as fits the runs
  std::vector<std::string> slurm_options;
};

inline constexpr char const* kSeedKey = "run.seed";
// Varies as a parameter does: the configuration of the run, a file as seen from the study's folder, or the
// name of a preset.
inline constexpr char const* kBaseKey = "base";

Study read_study(std::string const& path);

}  // namespace farfault::cli
