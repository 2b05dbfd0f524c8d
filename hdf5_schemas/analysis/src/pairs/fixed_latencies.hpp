// SPDX-License-Identifier: Apache-2.0
// Private: latencies of a run's GPUs that its configuration fixes: the clock, and look-ups in cycles of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "amount.hpp"

namespace farfault::analysis {

// A stage of an access, and the parameter of its fixed part in cycles.
struct FixedLatency {
  std::string_view stage;      // "sm_time_in_l2_tlb"
  std::string_view parameter;  // "gpu.l2_tlb.latency"
};
inline constexpr std::array<FixedLatency, 5> kFixedLatencies{
    {{"sm_time_in_l1_tlb", "gpu.l1_tlb.latency"},
     {"sm_time_in_l2_tlb", "gpu.l2_tlb.latency"},
     {"sm_time_in_walk", "gpu.gmmu.latency"},
     {"sm_time_in_l1_cache", "gpu.l1_cache.latency"},
     {"sm_time_in_l2_cache", "gpu.l2_cache.latency"}}};

struct FixedLatencies {
  std::uint64_t clock = 0;                                     // Hz; 0: unknown
  std::array<std::uint64_t, kFixedLatencies.size()> cycles{};  // 0: unknown, or none

  // Fixed time of `visits` of a stage; 0 if it is unknown.
  Amount time_of(std::string_view stage, Amount visits) const;
};

// From the parameters of a result (settings_of()).
FixedLatencies fixed_latencies(std::map<std::string, std::string> const& settings);

}  // namespace farfault::analysis
