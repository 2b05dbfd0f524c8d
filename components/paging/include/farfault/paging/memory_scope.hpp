// SPDX-License-Identifier: Apache-2.0
// Policy that selects the machines of a cluster that share one memory. It has facts only.
//
// - `machines` successive machines, beginning with the first, form one instance: one host, one driver, and
//   one set of page tables for all of their GPUs and CPUs, which run the workload together. A page may be on
//   any of these devices. The driver is at the first CPU of the first machine.
// - Each instance runs the whole workload. The policy is not used for a machine that is not a cluster.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class MemoryScope {
 public:
  using Interface = MemoryScope;
  struct Setup {};
  static constexpr std::uint32_t kAllMachines = 0;
  struct Facts {
    Needed<std::uint32_t> machines;  // of an instance, or kAllMachines

    constexpr std::uint32_t instance_of(std::uint32_t machine) const {
      return machines == kAllMachines ? 0 : machine / machines;
    }
  };
  static PolicyList<MemoryScope> known();

  virtual ~MemoryScope() = default;
};

extern template class PolicyChoice<MemoryScope>;

}  // namespace farfault
