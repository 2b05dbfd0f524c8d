// SPDX-License-Identifier: Apache-2.0
// The builder of all workloads: a struct of parameters and a function that builds.
#pragma once

#include <memory>

#include "farfault/workloads/registry.hpp"

namespace farfault::workloads {

void check_context(BuildContext const& context);

// Spec has `void describe(ParamTable&)`.
template <class Spec, Workload (*Build)(Spec const&, BuildContext const&)>
class SpecBuilder final : public WorkloadBuilder {
 public:
  void describe(ParamTable& table) override { spec_.describe(table); }
  Workload build(BuildContext const& context) const override {
    check_context(context);
    return Build(spec_, context);
  }

  static std::unique_ptr<WorkloadBuilder> make() { return std::make_unique<SpecBuilder>(); }

 private:
  Spec spec_;
};

}  // namespace farfault::workloads
