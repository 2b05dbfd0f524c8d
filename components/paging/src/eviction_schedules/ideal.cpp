// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), Fig. 8: an eviction takes no time. Translations are removed from
// TLBs nevertheless: of one unit when a batch begins and the memory is full, and of the next one while a page
// comes. No page leaves before another one needs its frame, so what is still in use stays as long as with
// other schedules.
#include "farfault/paging/eviction_schedule.hpp"

namespace farfault::eviction_schedules {
namespace {

struct Ideal final : EvictionSchedule {
  bool begins(Moment const& now) const override {
    return now.free_frames == 0 && now.in <= 1 && now.unmapping == 0 && now.unmapped == 0;
  }
  bool leaves(Moment const&) const override { return true; }
  bool takes_time() const override { return false; }
};

}  // namespace

void ideal(PolicyList<EvictionSchedule>& list) {
  list.add<Ideal>("ideal", "units leave in no time, and take no bandwidth");
}

}  // namespace farfault::eviction_schedules
