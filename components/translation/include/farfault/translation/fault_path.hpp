// SPDX-License-Identifier: Apache-2.0
// Fault path: the component that records a fault and sends it to the driver, either the IOMMU, whose table
// did not serve the access, or the GPU that faulted. It has facts only.
//
// - recorded_by_gpu: the kinds of faults that the GPU records. The IOMMU responds to them that the fault is
//   not recorded, and keeps nothing. The GPU's GMMU records the fault in its own fault buffer and sends a
//   fault packet over the fabric to the CPU, for the driver.
// - The driver writes the IOMMU's table in either case. The replay takes the path of a translation and frees
//   the fault-buffer entry at its owner.
// - GPUs that fault on one page have one entry each, and the driver answers each; an IOMMU has one entry for
//   all of its GPUs.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class FaultPath {
 public:
  using Interface = FaultPath;
  struct Setup {};
  struct Facts {
    Needed<std::uint32_t> recorded_by_gpu;  // bit k: FaultKind k
  };
  static constexpr std::uint32_t kEveryKind = ~0U;
  static PolicyList<FaultPath> known();

  virtual ~FaultPath() = default;
};

extern template class PolicyChoice<FaultPath>;

}  // namespace farfault
