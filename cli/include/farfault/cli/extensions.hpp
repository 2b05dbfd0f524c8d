// SPDX-License-Identifier: Apache-2.0
// Extensions of Farfault: policies, workloads, formats of machine files, and presets.
//
//   farfault::Extensions()
//       .policy<ByRegion>("by_region", "as the last one of its 2 MiB region")    // engine/policy.hpp
//       .workload<Gather>("gather", "reads of random elements")                  // workloads/registry.hpp
//       .machine_format({"rings", "rings of GPUs", &opens, &parse})              // topologies/load.hpp
//       .preset("two", "include = [\"paper-gmmu-bypass\"]\n...")                 // as a file, read by name
//
// - Configurations may use each name like a built-in one; `farfault params` and `farfault workloads` describe
//   it.
// - A program with policies only may pass farfault::policies().add<T>(...).
// - Errors: check() throws UserError, one sentence, for the first invalid extension: a name that is not a
//   valid key, is taken or is given twice; a parameter or statistic that is declared twice, lacks its source
//   or has an invalid name.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/policy.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault {

class Extensions {
 public:
  Extensions() = default;
  Extensions(Policies policies)  // NOLINT: policies are extensions
      : policies_(std::move(policies)), more_policies_(true) {}

  template <class Policy>
  Extensions& policy(std::string const& name, std::string const& text) {
    policies_.add<Policy>(name, text);
    more_policies_ = true;
    return *this;
  }
  // A policy of the interface `Kind`, which has facts only.
  template <class Kind>
  Extensions& policy(std::string const& name, std::string const& text, typename Kind::Facts facts) {
    policies_.add<Kind>(name, text, std::move(facts));
    more_policies_ = true;
    return *this;
  }
  template <std::derived_from<workloads::WorkloadBuilder> Builder>
  Extensions& workload(std::string name, std::string text, workloads::WorkloadSizes sizes = {}) {
    more_workloads_.push_back(
        {std::move(name), std::move(text),
         []() -> std::unique_ptr<workloads::WorkloadBuilder> { return std::make_unique<Builder>(); },
         std::move(sizes)});
    return *this;
  }
  Extensions& machine_format(topologies::MachineFormat format);
  Extensions& preset(std::string name, std::string toml);

  void check() const;
  // True if the program has no extensions.
  bool empty() const {
    return !more_policies_ && more_workloads_.empty() && formats_.empty() && presets_.empty();
  }

  Policies const& policies() const { return policies_; }
  // Built-in workloads and presets first, then the extensions; formats contain only the extensions.
  std::vector<workloads::WorkloadInfo> workloads() const;
  topologies::MachineFormats const& machine_formats() const { return formats_; }
  std::vector<std::string> preset_names() const;
  std::optional<std::string> find_preset(std::string_view name) const;

 private:
  struct Preset {
    std::string name;
    std::string text;
  };

  Policies policies_;
  bool more_policies_ = false;
  std::vector<workloads::WorkloadInfo> more_workloads_;
  topologies::MachineFormats formats_;
  std::vector<Preset> presets_;
};

}  // namespace farfault
