// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/memory_scope.hpp"

namespace farfault::memory_scopes {
namespace {

struct Node final : MemoryScope {
  std::uint32_t instance_of(std::uint32_t machine) const override { return machine; }
};

}  // namespace

void node(PolicyList<MemoryScope>& list) {
  list.add<Node>("node", "each machine separately, with its own run of the workload");
}

}  // namespace farfault::memory_scopes
