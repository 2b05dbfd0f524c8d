// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/allocations.hpp"

#include <algorithm>

#include "surround.hpp"

namespace farfault::workloads {

void add_allocations(Workload& workload) {
  if (std::ranges::any_of(workload.operations(), &Operation::is_allocation)) return;
  std::vector<Operation> before, after;
  for (auto const& b : workload.buffers()) {
    if (b.bytes == 0) continue;
    before.push_back(Operation::allocate(b.base, b.bytes));
    after.push_back(Operation::free(b.base, b.bytes));
  }
  surround(workload, std::move(before), after);
}

}  // namespace farfault::workloads
