// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/workload_size.hpp"

#include <algorithm>

#include "farfault/engine/error.hpp"

namespace farfault::workloads {

std::string_view name_of(SizeName size) {
  switch (size) {
    case SizeName::defaults:
      return "default";
    case SizeName::small:
      return "small";
    case SizeName::medium:
      return "medium";
    case SizeName::paper:
      return "paper";
  }
  panic("a size without a name", __FILE__, __LINE__);
}

void describe_size(ParamTable& table, SizeName& size) {
  table
      .choice("size", size,
              {{"default", SizeName::defaults, "the defaults of the workload's parameters"},
               {"small", SizeName::small, "a run of seconds"},
               {"medium", SizeName::medium, "a run of up to a few minutes"},
               {"paper", SizeName::paper, "the size of the paper that is reproduced, if it is known"}},
              "Size of the workload: sets defaults of its parameters (farfault workloads NAME). A parameter "
              "that is set keeps its value",
              "simulator setting")
      .shorthand();
}

std::string names_of(WorkloadSizes const& sizes) {
  std::string names;
  for (auto const& size : sizes) names += (names.empty() ? "" : ", ") + std::string(name_of(size.name));
  return names.empty() ? "none" : names;
}

WorkloadSize const* find_size(WorkloadSizes const& sizes, SizeName name) {
  auto const found = std::ranges::find(sizes, name, &WorkloadSize::name);
  return found == sizes.end() ? nullptr : &*found;
}

void set_defaults(WorkloadSize const& size, ParamTable const& table) {
  for (auto const& [name, value] : size.values) {
    auto const* const param = table.find(name);
    auto const what = "size '" + std::string(name_of(size.name)) + "' sets " + name;
    if (param == nullptr) throw UserError(what + ", which is not a parameter of the workload");
    try {
      param->set(value);
    } catch (UserError const& e) {
      throw UserError(what + ": " + e.what());
    }
  }
}

}  // namespace farfault::workloads
