// Batch-aware unified memory (ASPLOS 2020), Fig. 8: an eviction takes no time. Translations are removed from
// TLBs nevertheless, while the driver works on the batch.
#include "farfault/paging/eviction_schedule.hpp"

namespace farfault::eviction_schedules {
namespace {

struct Ideal final : EvictionSchedule {
  bool begins(Moment const&) const override { return true; }
  bool leaves(Moment const&) const override { return true; }
  bool takes_time() const override { return false; }
};

}  // namespace

void ideal(PolicyList<EvictionSchedule>& list) {
  list.add<Ideal>("ideal", "units leave in no time, and take no bandwidth");
}

}  // namespace farfault::eviction_schedules
