// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), Fig. 4, from NVIDIA's driver (uvm_pmm_gpu.c): a unit is evicted
// when the allocation of a page has failed. No other transfer overlaps: all pages of the unit are evicted
// before one migrates in.
#include "farfault/paging/eviction_schedule.hpp"

namespace farfault::eviction_schedules {
namespace {

struct Serialized final : EvictionSchedule {
  bool evicts(Snapshot const& now) const override {
    return now.page_needs_frame && now.in == 0 && now.unmapping == 0 && now.unmapped == 0 && now.out == 0;
  }
  bool writes_out(Snapshot const& now) const override { return now.out == 0; }
  bool reads_in(Snapshot const& now) const override { return now.out == 0; }
};

}  // namespace

void serialized(PolicyList<EvictionSchedule>& list) {
  list.add<Serialized>("serialized", "one unit when a page waits for a frame and no transfer is in flight");
}

}  // namespace farfault::eviction_schedules
