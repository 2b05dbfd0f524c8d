// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/fault_path.hpp"

namespace farfault::fault_paths {
namespace {

// PCIe ATS: the IOMMU's page request queue.
struct Iommu final : FaultPath {
  bool kept_by_gpu(FaultKind) const override { return false; }
};

}  // namespace

void iommu(PolicyList<FaultPath>& list) {
  list.add<Iommu>("iommu", "the IOMMU, in its fault buffer, from where the driver takes it");
}

}  // namespace farfault::fault_paths
