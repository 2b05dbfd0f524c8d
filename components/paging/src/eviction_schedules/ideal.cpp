// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), Fig. 8: evictions take no time. They begin as with `unobtrusive`
// and the same `ahead`, for which this policy is a bound. Translations are still removed from TLBs.
#include "overlapped_eviction.hpp"

namespace farfault::eviction_schedules {
namespace {

struct Ideal final : OverlappedEviction {
  static constexpr Facts facts() { return {.takes_time = false}; }
  using OverlappedEviction::OverlappedEviction;
};

}  // namespace

void ideal(PolicyList<EvictionSchedule>& list) {
  list.add<Ideal>("ideal", "as unobtrusive with the same ahead, but evictions take no time and no bandwidth");
}

}  // namespace farfault::eviction_schedules
