// SPDX-License-Identifier: Apache-2.0
// Private: the complete model of a run, built from its configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application_set.hpp"
#include "farfault/cli/run_options.hpp"
#include "farfault/engine/config.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/topologies/assembly.hpp"

namespace farfault::cli {

// A file that the configuration names is missing or invalid.
class InputFileError : public UserError {
 public:
  using UserError::UserError;
};

// A file that the configuration names and the model was built from.
struct ModelInput {
  std::string parameter;  // the parameter that names it
  std::string path;       // as opened
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // FNV-1a of its bytes
};

struct Model {
  // Builds the configuration and the machine. The workloads and the components, which may take long, are
  // built later, in this order. `options` must outlive it. `variable`: the keys that vary() will set.
  explicit Model(RunOptions const& options, std::vector<std::string> const& variable = {});
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;

  void build_workloads();
  void assemble();

  // Sets other values of options.point_settings, before build_workloads(); the model then equals one that was
  // built with them. Requires config.can_vary() for all keys; each call has the same keys in the same order.
  // Throws InputFileError like the constructor; returns false for any other error. In both cases the model
  // can be varied again.
  bool vary(std::vector<PlacedSetting> const& settings);

  // The resolved configuration without the limits on inputs, which never affect the content of a result: a
  // run with a raised limit resumes the checkpoints of the earlier run, and has its digest.
  std::string result_config() const { return config.resolved({kLimits}); }
  // Hash of everything that the result depends on: result_config(), and the contents of input files.
  std::uint64_t hash() const;

  static constexpr char const* kLimits = "limits";  // the section of InputLimits

  Config config;
  Policies const* policies;  // of extensions
  RunParams run;
  InputLimits limits;
  topologies::MachineConfig machine_config;
  std::vector<ModelInput> inputs;
  topologies::Machine machine;
  Policy<PagePlacement> placement;
  ApplicationSet applications;
  std::optional<topologies::Assembly> assembly;

 private:
  template <class Spec>
  void bind(std::string const& section, Spec& spec) {
    ParamTable table(policies);
    spec.describe(table);
    config.bind(section, table, Config::Spec::lasting);
  }
  void load_machine();
  void note_inputs();
  void share();
  void open_placement();
  std::string folder_of(std::string const& key) const;
  // The file that parameter `key` names: relative to the folder of the configuration, if it exists there.
  std::string path_of(std::string const& key, std::string const& name) const;

  RunOptions const& options_;
  std::optional<topologies::MachineSource> machine_source_;
  std::vector<PagePlacement::Input> placement_inputs_;
  std::vector<PlacedSetting> varied_;  // as set by vary(); empty: parts of the model do not match them
};

}  // namespace farfault::cli
