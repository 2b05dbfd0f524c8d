// SPDX-License-Identifier: Apache-2.0
// Which unit of a GPU's memory is evicted first.
//
// A unit is an aligned range of virtual pages that leaves together (driver.batch.eviction_unit), named by its
// first base page. Contract: arrived() is called when a page of the unit gets a frame of this GPU's memory;
// left() when its last one has lost it, or the unit begins to leave. victim() names a unit that is there and
// of which may_leave(unit) holds, or none: then all are under way, or pinned. An order that goes by accesses
// has an epoch: used() is called when an SM or a scalar cache of the GPU accesses a page of the unit, once
// per page, SM and epoch or more often, a driver.notify_latency later, with the time; also of units that have
// left by then.
// Each GPU has an object of its own.
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
  using MayLeave = std::function<bool(std::uint64_t unit)>;
  static PolicyList<EvictionOrder> known();

  virtual ~EvictionOrder() = default;
  virtual void arrived(std::uint64_t unit) = 0;
  virtual void left(std::uint64_t unit) = 0;
  // Zero: it does not go by accesses.
  virtual Duration epoch() const { return Duration::zero(); }
  virtual void used(std::uint64_t /*unit*/, Time /*now*/) {}
  virtual std::optional<std::uint64_t> victim(MayLeave const& may_leave) = 0;
};

extern template class PolicyChoice<EvictionOrder>;

}  // namespace farfault
