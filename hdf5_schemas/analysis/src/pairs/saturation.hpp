// SPDX-License-Identifier: Apache-2.0
// Private: a resource that is busy in nearly all of both runs bounds them. The change of its busy time is
// then the cause of the change of the end, whatever accesses wait for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amount.hpp"
#include "common_kernels.hpp"
#include "run_figures.hpp"
#include "spread.hpp"

namespace farfault::analysis {

inline constexpr double kSaturated = 0.9;  // share of the run

// A kind of resource, and the two causes of its busy time: the number of its units of work, and their time.
struct Saturable {
  std::string_view resource;  // "GMMU page walkers"
  std::string_view stage;     // in which accesses wait for it
  std::string_view units;     // cause: "l2_tlb_misses"
  std::string_view service;   // cause: "walk_service"
  std::string_view per;       // "per L2 TLB miss"
};
std::vector<Saturable> const& saturables();

struct Saturation {
  Saturable const* kind = nullptr;
  std::string name;       // the busiest instance in the slower run
  Amount busy_a, busy_b;  // ps
  Amount units_a, units_b;
};

// The resource with the highest utilization in both runs, if it is at least kSaturated.
std::optional<Saturation> saturation_of(RunFigures const& a, RunFigures const& b);

// Replaces parts of the change of kernel time by the change of the busy time, as far as it has the same sign.
void bound_by(Saturation const& saturation, std::vector<ModelPart>& parts);

}  // namespace farfault::analysis
