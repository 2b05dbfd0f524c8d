// SPDX-License-Identifier: Apache-2.0
// Private: everything that a run is made of, built from its configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application_set.hpp"
#include "farfault/cli/simulation.hpp"
#include "farfault/engine/config.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/topologies/assembly.hpp"

namespace farfault::cli {

// A file that the configuration names is missing, or not what it should be.
class InputFileError : public UserError {
 public:
  using UserError::UserError;
};

// A file that the configuration names and the model was built from.
struct ModelInput {
  std::string parameter;  // that names it
  std::string path;       // as it was opened
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // FNV-1a of its bytes
};

struct Model {
  // The configuration and the machine; then, in this order, what may take long: the workloads, and the
  // components of all.
  // `options` must outlive it. `variable`: the keys that vary() will set.
  explicit Model(RunOptions const& options, std::vector<std::string> const& variable = {});
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;

  void build_workloads();
  void assemble();

  // Makes of it, before build_workloads(), what a model of its own would be whose options.point_settings have
  // these values; config.can_vary() holds for all, and each call has the same keys in the same order. Throws
  // InputFileError as the making of that model would; false where it would be refused for another reason. In
  // both cases this one can be varied again.
  bool vary(std::vector<PlacedSetting> const& settings);

  // The resolved configuration without the limits on inputs, which decide whether there is a result and never
  // what it is: a run whose limit was raised resumes the checkpoints of the one before, and has its digest.
  std::string result_config() const { return config.resolved({kLimits}); }
  // Of everything that the result depends on: result_config(), and the contents of input files.
  std::uint64_t hash() const;

  static constexpr char const* kLimits = "limits";  // the section of InputLimits

  Config config;
  Policies const* policies;  // from outside the project
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
  // The file that parameter `key` names: as seen from the configuration's own folder, where it is there.
  std::string path_of(std::string const& key, std::string const& name) const;

  RunOptions const& options_;
  std::optional<topologies::MachineSource> machine_source_;
  std::vector<PagePlacement::Input> placement_inputs_;
  std::vector<PlacedSetting> varied_;  // as vary() has set them; empty: not all of the model is as they say
};

}  // namespace farfault::cli
