// SPDX-License-Identifier: Apache-2.0
// Private: everything that a run is made of, built from its configuration.
#pragma once

#include <optional>
#include <string>

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
  // `options` must outlive it.
  explicit Model(RunOptions const& options);
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;

  void build_workloads();
  void assemble();

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
    config.bind(section, table);
  }
  void load_machine(topologies::MachineFormats const& more);
  void open_placement();
  std::string folder_of(std::string const& key) const;
  // The file that parameter `key` names: as seen from the configuration's own folder, where it is there.
  std::string path_of(std::string const& key, std::string const& name) const;
};

}  // namespace farfault::cli
