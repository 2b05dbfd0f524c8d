// SPDX-License-Identifier: Apache-2.0
// Sizes of a workload: each is a name for values of the workload's parameters.
//
//   WorkloadInfo info() {
//     return {"relu", "...", &SpecBuilder<Spec, build>::make,
//             {{kSmall, {{"size", "4MiB"}}},
//              {kMedium, {{"size", "16MiB"}}},
//              {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2"}}};
//   }
//
// - small: less than 2 s on the preset paper-gmmu-bypass (at most 350,000 accesses). medium: up to a few
//   minutes. paper: the size of a paper that Farfault reproduces, or of the suite's published input, with its
//   source; the source has "assumed" with the derivation of what it does not give.
// - Order: a larger size has at least the footprint and the accesses of a smaller one.
// - A size without values has the defaults of the parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/params.hpp"

namespace farfault::workloads {

enum class SizeName : std::uint8_t { defaults, small, medium, paper };
inline constexpr auto kSmall = SizeName::small;
inline constexpr auto kMedium = SizeName::medium;
inline constexpr auto kPaper = SizeName::paper;

std::string_view name_of(SizeName size);

struct WorkloadSize {
  SizeName name;
  std::vector<std::pair<std::string, std::string>> values;  // parameter, and value as in a configuration
  std::string source = {};                                  // of the size of a paper
};
using WorkloadSizes = std::vector<WorkloadSize>;  // in ascending order

// Declares the parameter `size`.
void describe_size(ParamTable& table, SizeName& size);

// "small, medium"; "none" without sizes.
std::string names_of(WorkloadSizes const& sizes);

// Null if the workload does not have this size.
WorkloadSize const* find_size(WorkloadSizes const& sizes, SizeName name);

// Gives the parameters of `table` the values of the size. Throws UserError for a name that is not a parameter
// and for an invalid value.
void set_defaults(WorkloadSize const& size, ParamTable const& table);

}  // namespace farfault::workloads
