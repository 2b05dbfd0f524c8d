// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), section 4.2: one unit is evicted when a batch begins and the
// memory is full. Each further unit is transferred together with a page that migrates in, over the opposite
// direction of the link.
#include "overlapped_eviction.hpp"

namespace farfault::eviction_schedules {
namespace {

struct Unobtrusive final : OverlappedEviction {
  using OverlappedEviction::OverlappedEviction;
};

}  // namespace

void unobtrusive(PolicyList<EvictionSchedule>& list) {
  list.add<Unobtrusive>("unobtrusive",
                        "one unit at the start of a batch, then one alongside each page that migrates in");
}

}  // namespace farfault::eviction_schedules
