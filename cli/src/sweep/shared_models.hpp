// SPDX-License-Identifier: Apache-2.0
// Private: models of the runs of a study, built from their common settings.
//
// Guarantees: a model from find() equals a model built for its run alone (tests/cli/shared_models_test.cpp).
// Runs that differ only in parameter values share a model: their configuration is read once, and only the
// effects of changed values are checked again. find() returns no model for a run with an error, so the error
// message is that of a configuration read for this run.
//
// Limits: at most kMax models, replaced in LRU order.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "study/study.hpp"

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
  static constexpr std::size_t kMax = 1024;  // of about 0.4 MB each

  explicit SharedModels(std::string study_path) : study_path_(std::move(study_path)) {}

  // The model of a run of this configuration with these settings, valid until the next call; null if the run
  // needs a separate model. Throws InputFileError, as the constructor of a model would.
  Model* find(std::string const& base, std::vector<StudySetting> const& settings);
  // Keeps the model of a run for later runs that differ from it only in values.
  void keep(std::string const& base, std::vector<StudySetting> const& settings,
            std::unique_ptr<OwnModel> model);

 private:
  // Runs of one configuration with settings of the same keys.
  struct Kind {
    bool is_known = false;        // a model was kept
    std::set<std::size_t> fixed;  // settings that determine the set of parameters
  };
  struct Kept {
    std::string name;  // of the kind and the values of its fixed settings
    std::unique_ptr<OwnModel> own;
  };

  Kind& kind_of(std::string const& base, std::vector<StudySetting> const& settings, std::string& name);
  static void add_values(Kind const& kind, std::vector<StudySetting> const& settings, std::string& name);

  std::string study_path_;
  std::map<std::string, Kind> kinds_;
  std::list<Kept> models_;  // most recently used first
  std::map<std::string, std::list<Kept>::iterator> by_name_;
};

}  // namespace farfault::cli
