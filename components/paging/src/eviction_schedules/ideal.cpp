// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), Fig. 8: an eviction takes no time. Units begin to leave when they
// do with `unobtrusive`, to which this is a bound; translations are removed from TLBs nevertheless.
#include "beside_pages.hpp"

namespace farfault::eviction_schedules {
namespace {

struct Ideal final : BesidePages {
  using BesidePages::BesidePages;
  bool takes_time() const override { return false; }
};

}  // namespace

void ideal(PolicyList<EvictionSchedule>& list) {
  list.add<Ideal>("ideal", "units begin as with unobtrusive, leave in no time, and take no bandwidth");
}

}  // namespace farfault::eviction_schedules
