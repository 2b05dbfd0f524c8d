// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs since Pascal: a buffer that the GMMU writes (uvm_gpu_replayable_faults.c).
#include "farfault/translation/fault_path.hpp"

namespace farfault::fault_paths {

void gpu(PolicyList<FaultPath>& list) {
  list.add("gpu", "fault buffer of the faulting GPU's GMMU, which notifies the driver by a packet",
           {.recorded_by_gpu = FaultPath::kEveryKind});
}

}  // namespace farfault::fault_paths
