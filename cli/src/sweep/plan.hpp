// SPDX-License-Identifier: Apache-2.0
// Private: every run of a study, its configuration checked, and which of their results are there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../model.hpp"
#include "checked_results.hpp"
#include "farfault/cli/sweep.hpp"
#include "points.hpp"
#include "run_table.hpp"
#include "shared_models.hpp"

namespace farfault::cli {

// What a result was made of: it is looked for by its content, never by when it was written.
class RunIdentity {
 public:
  // `model` must outlive it, and not change.
  RunIdentity(Model const& model, bool extended);
  // The name of its result: 16 digits that depend on the configuration and the contents of the input files.
  std::string name() const;
  // Why the file holds no whole result of it, by this program; empty where it does.
  std::string why_not_in(results::SweptRun const& run) const;

 private:
  Model const& model_;
  std::uint64_t hash_;
  bool extended_;  // the commit does not tell everything about the program
};

class Plan {
 public:
  struct Run {
    std::string name;       // of its result
    std::size_t first = 0;  // the first run of this name: another one, where two points are the same
  };

  // Checks the configuration of every run, or of those of options.part, and opens the input files. Throws
  // what a run would; where there are no files, or none that can be read, for some of the runs alone, these
  // fail. `tell`: how far it is, from 0 to 1.
  Plan(SweepOptions const& options, Study const& study, Points const& points,
       std::function<void(double)> const& tell);

  RunTable& table() { return table_; }
  RunTable const& table() const { return table_; }
  std::string const& folder() const { return folder_; }
  Run const& run(std::size_t number) const { return runs_[number]; }
  // The first run whose result has this name.
  std::optional<std::size_t> run_of(std::string const& name) const;
  // The runs that have a result of their own, in order.
  std::vector<std::size_t> const& distinct() const { return distinct_; }
  // Those of them that have none yet.
  std::vector<std::size_t> missing() const;
  // Runs that are the same as an earlier one end as that has ended.
  void copy_repeated();
  // Of the results that are there, whether they are as their runs wrote them.
  CheckedResults& checked() { return checked_; }
  // How long a run takes beside the others.
  double cost(std::size_t run) const { return points_.cost(run); }
  // Of the results that are there, wall-clock time in s for a cost of 1; 0 where there is none.
  double time_of_cost() const { return known_cost_ == 0 ? 0 : wall_time_ / known_cost_; }
  // Runs that fail for want of an input file, and have failed rows already; not all of them do.
  std::vector<std::size_t> const& without_input() const { return without_input_; }
  // How many files have the name of a result and are none of it.
  std::size_t stale() const { return stale_; }

  // How many models were made; runs that share one count once.
  std::size_t models_made() const { return models_made_; }

  // As `farfault run` would be called.
  RunOptions run_options(std::size_t run, std::string const& output) const;

 private:
  using Settings = std::vector<StudySetting>;

  // The configuration of a run: a file or the name of a preset. Throws UserError where it is neither.
  std::string base_of(Settings const& settings, std::size_t run) const;
  RunOptions run_options(std::string const& base, Settings const& settings, std::string const& output) const;
  void add(std::size_t run);
  void add(std::size_t run, std::string const& base, Settings const& settings);
  void fail(std::size_t run, std::vector<StudyValue> values, std::string const& why);
  void add(std::size_t run, Settings const& settings, Model const& model);
  void look_for(std::size_t run, RunIdentity const& identity);
  // Adds the files that its workloads read, where they are known. Throws InputFileError where these cannot be
  // read.
  bool add_known_inputs(Model& model) const;
  void read_inputs_of_workloads(Model& model);
  // `model`: what the settings leave out; null where that is not known.
  std::vector<StudyValue> values_of(Settings const& settings, Model const* model) const;

  SweepOptions const& options_;
  Study const& study_;
  Points const& points_;
  std::string folder_;  // of the results of the runs
  CheckedResults checked_;
  std::vector<Run> runs_;
  RunTable table_;
  SharedModels models_;
  std::size_t models_made_ = 0;
  mutable std::map<std::string, std::string> bases_;  // files and presets that are there, by their names
  std::map<std::string, std::size_t> firsts_;
  std::map<std::string, std::vector<ModelInput>> workload_inputs_;  // by what says what runs
  std::map<std::string, std::string> workload_failures_;  // by the same: why its files cannot be read
  std::vector<std::size_t> distinct_, without_input_;
  std::size_t stale_ = 0;
  double known_cost_ = 0;
  double wall_time_ = 0;
};

}  // namespace farfault::cli
