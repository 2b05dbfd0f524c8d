// SPDX-License-Identifier: Apache-2.0
// Which machines of a cluster share one memory.
//
// Contract: instance_of() is asked for every machine when a simulation is built, and is a function of the
// number alone. Machines with the same answer are one instance: one host, one driver and one set of page
// tables over all of their GPUs and CPUs, which run the workload together; a page may lie on any of them. The
// driver is beside the first CPU of the first of them. Each instance runs the whole workload by itself. On a
// machine that is no cluster it is not asked.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class MemoryScope {
 public:
  using Interface = MemoryScope;
  struct Setup {};
  static PolicyList<MemoryScope> known();

  virtual ~MemoryScope() = default;
  virtual std::uint32_t instance_of(std::uint32_t machine) const = 0;
};

extern template class PolicyChoice<MemoryScope>;

}  // namespace farfault
