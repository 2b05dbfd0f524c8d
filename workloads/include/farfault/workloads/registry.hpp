// SPDX-License-Identifier: Apache-2.0
// Registry of workloads by name.
//
// Each workload is one file of src/catalogue: a Spec (its parameters with defaults and sources), a function
// that builds a Workload from it, and its sizes (workload_size.hpp).
// - Guarantees: all() has a fixed order and never changes. A builder owns its Spec, so a ParamTable filled by
//   describe() is valid as long as the builder. build() is a pure function of the parameters, the context and
//   the content of the input files.
// - Errors: make() throws UserError for an unknown name and names the nearest known one. build() throws
//   ParameterError for a parameter's value, and UserError for unreadable or unsuitable input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/input_limits.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/protocols/workload.hpp"
#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/workload_size.hpp"

namespace farfault::workloads {

// The properties of the machine and of the run that a workload depends on.
struct BuildContext {
  std::uint32_t warp_width = 32;    // threads that execute together: 32 or 64
  std::uint64_t page_bytes = 4096;  // base page of the machine
  std::string base_folder;          // base of relative names of input files; empty: the current folder
  std::uint64_t seed = 1;           // seed of generated data
  BufferSegments buffers{};         // unused if the input has addresses
  InputLimits limits{};             // limits of input files
};

// A parameter's value that does not fit the other parameters, the input or the machine:
// "width = 100 must be a multiple of 64". The caller adds the table and the place of the parameter.
class ParameterError : public UserError {
 public:
  ParameterError(std::string_view name, std::string const& value, std::string const& rule)
      : UserError(invalid_value(name, value, rule)), name_(name) {}
  ParameterError(std::string_view name, std::uint64_t value, std::string const& rule)
      : ParameterError(name, std::to_string(value), rule) {}
  ParameterError(std::string_view name, ByteSize value, std::string const& rule)
      : ParameterError(name, to_text(value), rule) {}

  std::string const& name() const { return name_; }

 private:
  std::string name_;
};

class WorkloadBuilder {
 public:
  virtual ~WorkloadBuilder() = default;
  virtual void describe(ParamTable& table) = 0;
  virtual Workload build(BuildContext const& context) const = 0;
};

struct WorkloadInfo {
  std::string name;
  std::string text;  // one line
  std::unique_ptr<WorkloadBuilder> (*make)();
  WorkloadSizes sizes = {};
};

// The workloads of this project.
std::vector<WorkloadInfo> const& all();

// Returns a builder of the workload `name` with default parameters.
std::unique_ptr<WorkloadBuilder> make(std::string_view name, std::vector<WorkloadInfo> const& known = all());

}  // namespace farfault::workloads
