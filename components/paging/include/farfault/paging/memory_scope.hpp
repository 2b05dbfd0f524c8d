// SPDX-License-Identifier: Apache-2.0
// Policy that selects the machines of a cluster that share one memory.
//
// - instance_of() is called for every machine when a simulation is built, and depends on the machine number
//   only.
// - Machines with equal results form one instance: one host, one driver, and one set of page tables for all
//   of their GPUs and CPUs, which run the workload together. A page may be on any of these devices. The
//   driver is at the first CPU of the first machine.
// - Each instance runs the whole workload. The policy is not used for a machine that is not a cluster.
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
