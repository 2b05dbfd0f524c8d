// SPDX-License-Identifier: Apache-2.0
// Policy that selects the next eviction unit of a GPU's memory. Each GPU has its own object, with the same
// parameters: a policy that draws random numbers has the same sequence on each GPU.
//
// - A unit is an aligned range of virtual pages that are evicted together (driver.batch.eviction_unit),
//   named by its first base page.
// - arrived(): a page of the unit has received a frame of this GPU's memory. Called for each page, so
//   usually for a unit that is already resident.
// - removed(): the unit's last page has lost its frame, or the unit's eviction has begun. Also called for a
//   unit that is not resident: no effect.
// - victim(): a resident unit for which evictable(unit) is true; removed() follows immediately. None: all
// units
//   are pinned or in flight. evictable() examines every page of the unit: call it for few units.
// - epoch: nonzero if the order depends on accesses. Then used() is called, with the time, when an SM or a
//   scalar cache of the GPU accesses a page of the unit: at least once per page, SM and epoch, after
//   driver.notify_latency, and also for units that have been evicted meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

class EvictionOrder {
 public:
  using Interface = EvictionOrder;
  struct Setup {
    unsigned page_bits = 12;
    std::uint32_t spaces = 1;
  };
  using Evictable = std::function<bool(std::uint64_t unit)>;
  struct Facts {
    Duration epoch{};
  };
  static PolicyList<EvictionOrder> known();

  virtual ~EvictionOrder() = default;
  virtual void arrived(std::uint64_t unit) = 0;
  virtual void removed(std::uint64_t unit) = 0;
  virtual void used(std::uint64_t /*unit*/, Time /*now*/) {}
  virtual std::optional<std::uint64_t> victim(Evictable const& evictable) = 0;
};

extern template class PolicyChoice<EvictionOrder>;

}  // namespace farfault
