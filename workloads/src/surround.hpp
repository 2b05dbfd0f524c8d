// SPDX-License-Identifier: Apache-2.0
// Private: adds operations before and after all others of a program.
#pragma once

#include <utility>
#include <vector>

#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

// `before` and `after` run in stream 0, without waits. Other streams begin after the last operation of
// `before`, and `after` begins when all streams have ended.
inline void surround(Workload& workload, std::vector<Operation> before, std::vector<Operation> const& after) {
  auto all = std::move(before);
  auto const first = static_cast<std::uint32_t>(all.size());
  if (first != 0)
    for (std::uint32_t stream = 1; stream < workload.streams(); ++stream)
      all.push_back(Operation::wait_for(first - 1, stream));
  auto const moved_by = static_cast<std::uint32_t>(all.size());
  std::vector<std::uint32_t> last(workload.streams());
  for (auto o : workload.operations()) {
    if (o.kind == OperationKind::wait) o.number += moved_by;
    last[o.stream] = static_cast<std::uint32_t>(all.size());
    all.push_back(o);
  }
  for (std::uint32_t stream = 1; stream < workload.streams(); ++stream)
    all.push_back(Operation::wait_for(last[stream], 0));
  all.insert(all.end(), after.begin(), after.end());
  workload.set_operations(std::move(all));
}

}  // namespace farfault::workloads
