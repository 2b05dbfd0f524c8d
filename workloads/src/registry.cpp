// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/registry.hpp"

#include "spec_builder.hpp"

namespace farfault::workloads {

std::unique_ptr<WorkloadBuilder> make(std::string_view name, std::vector<WorkloadInfo> const& known) {
  std::vector<std::string> names;
  for (auto const& info : known) {
    if (info.name == name) return info.make();
    names.emplace_back(info.name);
  }
  auto const near = nearest_name(name, names);
  throw UserError("unknown workload '" + shown(name) + "'" +
                  (near.empty() ? "; `farfault workloads` lists them" : "; did you mean '" + near + "'?"));
}

void check_context(BuildContext const& context) {
  if (context.warp_width != 32 && context.warp_width != 64)
    throw UserError("warp width " + std::to_string(context.warp_width) + " is not one of: 32, 64");
}

}  // namespace farfault::workloads
