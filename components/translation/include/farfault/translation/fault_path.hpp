// SPDX-License-Identifier: Apache-2.0
// Fault path: the component that records a fault and sends it to the driver, either the IOMMU, whose table
// did not serve the access, or the GPU that faulted. It has facts only.
//
// - recorded_by_gpu: the kinds of faults that the GPU records. The GPU's GMMU records the fault in its own
//   fault buffer and sends a fault packet over the fabric to the CPU, for the driver.
// - Every kind: the driver keeps a page table for the GPU, with remote mappings of pages on other devices
//   (gpu_ends_walks()). A walk of this table ends with a translation or a fault, without a request to the
//   IOMMU. Source: NVIDIA's open driver (uvm_va_block.c: entries with aperture sysmem or peer).
// - Otherwise, and for requests that the router sends to the IOMMU, the IOMMU responds to faults of these
//   kinds that the fault is not recorded, and keeps nothing.
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
  static constexpr std::uint32_t kEveryKind = ~0U;
  struct Facts {
    Needed<std::uint32_t> recorded_by_gpu;  // bit k: FaultKind k

    // A walk of the GPU's own table ends in the GPU.
    constexpr bool gpu_ends_walks() const { return recorded_by_gpu == kEveryKind; }
  };
  static PolicyList<FaultPath> known();

  virtual ~FaultPath() = default;
};

extern template class PolicyChoice<FaultPath>;

}  // namespace farfault
