// SPDX-License-Identifier: Apache-2.0
// Private: models of the runs of a study, made with what these have in common.
//
// Guarantees: a model that find() gives is as one made for its run alone, which
// tests/cli/shared_models_test.cpp compares. Runs that differ in values of parameters alone share a model:
// their configuration is read once, and of each run only what its values change is checked. A run that a
// configuration of its own would refuse gets none, so that its mistakes are told as ever.
//
// Limits: kMost models at a time; of more kinds of runs, those that were used last.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../model.hpp"
#include "study.hpp"

namespace farfault::cli {

// A model, and the options that must outlive it.
struct OwnModel {
  RunOptions options;
  Model model;

  // `variable`: of options.point_settings.
  OwnModel(RunOptions o, std::vector<std::string> const& variable)
      : options(std::move(o)), model(options, variable) {}
};

class SharedModels {
 public:
  static constexpr std::size_t kMost = 64;

  explicit SharedModels(std::string study_path) : study_path_(std::move(study_path)) {}

  // The model of a run of this configuration with these settings, until the next call; null where the run
  // needs one of its own. Throws InputFileError, as the making of one would.
  Model* find(std::string const& base, std::vector<StudySetting> const& settings);
  // Takes the model that was made for such a run, for those that differ from it in values alone.
  void keep(std::string const& base, std::vector<StudySetting> const& settings,
            std::unique_ptr<OwnModel> model);

 private:
  // Runs of one configuration with settings of the same keys.
  struct Kind {
    bool is_known = false;        // a model was kept
    std::set<std::size_t> fixed;  // settings that decide which parameters there are
  };
  struct Kept {
    std::string name;  // of the kind, and of the values of its fixed settings
    std::unique_ptr<OwnModel> own;
  };

  Kind& kind_of(std::string const& base, std::vector<StudySetting> const& settings, std::string& name);
  static void add_values(Kind const& kind, std::vector<StudySetting> const& settings, std::string& name);

  std::string study_path_;
  std::map<std::string, Kind> kinds_;
  std::list<Kept> models_;  // the one that was used last first
  std::map<std::string, std::list<Kept>::iterator> by_name_;
};

}  // namespace farfault::cli
