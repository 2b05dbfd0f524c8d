// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/memory_scope.hpp"

namespace farfault::memory_scopes {

void cluster(PolicyList<MemoryScope>& list) {
  list.add("cluster", "all machines (unified memory, one driver, kernels over all GPUs)",
           {.machines = MemoryScope::kAllMachines});
}

}  // namespace farfault::memory_scopes
