// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/fault_path.hpp"

namespace farfault::fault_paths {
namespace {

// PCIe ATS: the IOMMU's page request queue.
struct Iommu final : FaultPath {
  bool recorded_by_gpu(FaultKind) const override { return false; }
};

}  // namespace

void iommu(PolicyList<FaultPath>& list) {
  list.add<Iommu>("iommu", "fault buffer of the IOMMU, which the driver reads");
}

}  // namespace farfault::fault_paths
