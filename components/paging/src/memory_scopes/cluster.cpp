// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/memory_scope.hpp"

namespace farfault::memory_scopes {
namespace {

struct Cluster final : MemoryScope {
  std::uint32_t instance_of(std::uint32_t) const override { return 0; }
};

}  // namespace

void cluster(PolicyList<MemoryScope>& list) {
  list.add<Cluster>("cluster", "all machines (unified memory, one driver, kernels over all GPUs)");
}

}  // namespace farfault::memory_scopes
