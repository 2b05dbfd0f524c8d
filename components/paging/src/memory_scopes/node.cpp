// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/memory_scope.hpp"

namespace farfault::memory_scopes {

void node(PolicyList<MemoryScope>& list) {
  list.add("node", "each machine separately, with its own run of the workload", {.machines = 1});
}

}  // namespace farfault::memory_scopes
