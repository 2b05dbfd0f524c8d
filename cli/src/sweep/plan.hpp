// SPDX-License-Identifier: Apache-2.0
// Private: all runs of a study, with their configurations checked and their cached results found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checked_results.hpp"
#include "farfault/cli/sweep.hpp"
#include "model/model.hpp"
#include "run_table.hpp"
#include "saved_runs.hpp"
#include "shared_models.hpp"
#include "study/points.hpp"
#include "unused_keys.hpp"

namespace farfault::cli {

// "gpu.sms" of "gpu.sms = 4".
std::string key_of_assignment(std::string const& assignment);

// The origin of a result: results are found by content, never by modification time.
class RunIdentity {
 public:
  // `model` must outlive it unchanged.
  RunIdentity(Model const& model, bool extended);
  // The name of its result: 16 digits that depend on the configuration and the contents of the input files.
  std::string name() const;
  // The reason if the file is not a complete result of this run and this program; empty if it is.
  std::string why_not_in(results::SweptRun const& run) const;

 private:
  Model const& model_;
  std::uint64_t hash_;
  bool extended_;  // the commit does not fully identify the program
};

class Plan {
 public:
  struct Run {
    std::string name;       // name of its result
    std::size_t first = 0;  // the first run with this name: an earlier one if two points are equal
  };

  // Checks the configuration of every run, or of the runs of options.part, and opens the input files. Throws
  // the same errors as a run; if only some of the runs lack readable input files, these runs fail instead.
  // `report_progress`: reports progress from 0 to 1.
  Plan(SweepOptions const& options, Study const& study, Points const& points,
       std::function<void(double)> const& report_progress);

  RunTable& table() { return table_; }
  RunTable const& table() const { return table_; }
  std::string const& folder() const { return folder_; }
  Run const& run(std::size_t number) const { return runs_[number]; }
  // The first run whose result has this name.
  std::optional<std::size_t> run_of(std::string const& name) const;
  // Runs with a separate result, in order.
  std::vector<std::size_t> const& distinct() const { return distinct_; }
  // Distinct runs without a result.
  std::vector<std::size_t> missing() const;
  // Copies outcomes to runs that equal an earlier run.
  void copy_repeated();
  // The record of verified results.
  CheckedResults& checked() { return checked_; }
  // The checkpoints of runs without a result.
  SavedRuns& saved() { return saved_; }
  SavedRuns const& saved() const { return saved_; }
  // Looks for the checkpoint of a run without a result, and enters it into the table.
  void look_for_checkpoint(std::size_t run);
  // Cost of a run relative to the others.
  double cost(std::size_t run) const { return points_.cost(run); }
  // Wall-clock time in s for a cost of 1, from the cached results; 0 if there are none.
  double time_of_cost() const { return known_cost_ == 0 ? 0 : wall_time_ / known_cost_; }
  // Runs that fail because an input file is missing; their failed rows already exist. Never all runs.
  std::vector<std::size_t> const& without_input() const { return without_input_; }
  // Number of files that have the name of a result but do not match it.
  std::size_t stale() const { return stale_; }

  // Settings without effect in the planned runs.
  UnusedKeys const& unused_keys() const { return unused_keys_; }

  // Number of models that were built; shared models count once.
  std::size_t models_made() const { return models_made_; }

  // The equivalent options of `farfault run`.
  RunOptions run_options(std::size_t run, std::string const& output) const;

 private:
  using Settings = std::vector<StudySetting>;

  // The configuration of a run: a file or the name of a preset. Throws UserError if it is neither.
  std::string base_of(Settings const& settings, std::size_t run) const;
  RunOptions run_options(std::string const& base, Settings const& settings, std::string const& output) const;
  void add(std::size_t run);
  void add(std::size_t run, std::string const& base, Settings const& settings);
  void fail(std::size_t run, std::vector<StudyValue> values, std::string const& why);
  // Null: the run has no configuration.
  void note_unused(Settings const& settings, Model const* model);
  void add(std::size_t run, Settings const& settings, Model const& model);
  void look_for(std::size_t run, RunIdentity const& identity);
  // Adds the input files of its workloads, if known. Throws InputFileError if they cannot be read.
  bool add_known_inputs(Model& model) const;
  void read_inputs_of_workloads(Model& model);
  // `model`: provides values that the settings omit; null if unknown.
  std::vector<StudyValue> values_of(Settings const& settings, Model const* model) const;

  SweepOptions const& options_;
  Study const& study_;
  Points const& points_;
  std::string folder_;  // of the results of the runs
  CheckedResults checked_;
  SavedRuns saved_;
  std::vector<Run> runs_;
  RunTable table_;
  SharedModels models_;
  UnusedKeys unused_keys_;
  std::size_t models_made_ = 0;
  mutable std::map<std::string, std::string> bases_;  // existing files and presets, by name
  std::map<std::string, std::size_t> firsts_;
  std::map<std::string, std::vector<ModelInput>> workload_inputs_;  // by workload key
  std::map<std::string, std::string> workload_failures_;  // by workload key: why its files cannot be read
  std::vector<std::size_t> distinct_, without_input_;
  std::size_t stale_ = 0;
  double known_cost_ = 0;
  double wall_time_ = 0;
};

}  // namespace farfault::cli
