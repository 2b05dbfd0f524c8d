// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/fault_path.hpp"

namespace farfault::fault_paths {
namespace {

// NVIDIA GPUs since Pascal: a buffer that the GMMU writes (uvm_gpu_replayable_faults.c).
struct Gpu final : FaultPath {
  bool recorded_by_gpu(FaultKind) const override { return true; }
};

}  // namespace

void gpu(PolicyList<FaultPath>& list) {
  list.add<Gpu>("gpu", "fault buffer of the faulting GPU's GMMU, which notifies the driver by a packet");
}

}  // namespace farfault::fault_paths
