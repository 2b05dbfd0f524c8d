// SPDX-License-Identifier: Apache-2.0
// Who keeps the record of a fault that the driver serves, and sends it to the driver: the IOMMU, whose table
// has not served the access, or the GPU that made it.
//
// Contract: kept_by_gpu() is asked for each kind of fault when a simulation is built, and is a function of
// the parameters alone. Where it says so, the IOMMU answers that the fault is not recorded, and forgets it;
// the GPU's GMMU records it in a fault buffer of its own, and sends a fault packet over the fabric to the
// CPU, for the driver. The driver writes the IOMMU's table in either case, and the replay takes the way of a
// translation: it ends the record of whoever has one. So several GPUs that fault on one page have a record
// each, and the driver answers each; the IOMMU has one record for all of its GPUs.
#pragma once

#include "farfault/engine/policy.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class FaultPath {
 public:
  using Interface = FaultPath;
  struct Setup {};
  static PolicyList<FaultPath> known();

  virtual ~FaultPath() = default;
  virtual bool kept_by_gpu(FaultKind kind) const = 0;
};

extern template class PolicyChoice<FaultPath>;

}  // namespace farfault
