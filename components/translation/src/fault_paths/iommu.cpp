// SPDX-License-Identifier: Apache-2.0
// PCIe ATS: the IOMMU's page request queue.
#include "farfault/translation/fault_path.hpp"

namespace farfault::fault_paths {

void iommu(PolicyList<FaultPath>& list) {
  list.add("iommu", "fault buffer of the IOMMU, which the driver reads", {.recorded_by_gpu = 0});
}

}  // namespace farfault::fault_paths
