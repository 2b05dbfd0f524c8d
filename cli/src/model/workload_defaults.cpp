// SPDX-License-Identifier: Apache-2.0
#include "workload_defaults.hpp"

#include "farfault/engine/error.hpp"

namespace farfault::cli {

void set_defaults(Config& config, std::string const& table, std::string const& section,
                  workloads::WorkloadInfo const& workload, workloads::SizeName size,
                  ParamTable const& parameters) {
  if (size == workloads::SizeName::defaults) return;
  auto const key = table + ".size";
  auto const* const chosen = workloads::find_size(workload.sizes, size);
  if (chosen == nullptr) {
    config.refuse(key, key + " = " + std::string(workloads::name_of(size)) + ": workload '" + workload.name +
                           "' has no such size; sizes: " + workloads::names_of(workload.sizes));
    return;
  }
  try {
    workloads::set_defaults(*chosen, parameters);
  } catch (UserError const& e) {
    config.refuse(key, key + ": workload '" + workload.name + "': " + e.what());
    return;
  }
  std::string names;
  for (auto const& [name, value] : chosen->values) {
    auto const parameter = section + "." + name;
    if (!config.peek(parameter)) return;
    names += (names.empty() ? "" : ", ") + parameter;
  }
  if (!names.empty()) config.exclude(key, "defaults of " + names);
}

}  // namespace farfault::cli
