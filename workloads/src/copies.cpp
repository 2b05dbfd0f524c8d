// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/copies.hpp"

#include <algorithm>
#include <vector>

#include "surround.hpp"

namespace farfault::workloads {

namespace {

bool has_copies(Workload const& workload) {
  return std::ranges::any_of(workload.operations(), &Operation::is_copy);
}

}  // namespace

void exclude_copies(Workload& workload) {
  if (!has_copies(workload)) return;
  std::vector<Operation> kept;
  // Per operation: its number among the kept operations. For a copy: the number of the last kept operation
  // before it in its stream, since the copy would end then.
  std::vector<std::uint32_t> number;
  std::vector<std::int64_t> last(workload.streams(), -1);
  for (auto o : workload.operations()) {
    if (!o.is_copy()) {
      bool const ended = o.kind == OperationKind::wait && number[o.number] == ~0U;
      if (o.kind == OperationKind::wait && !ended) o.number = number[o.number];
      if (!ended) {
        last[o.stream] = static_cast<std::int64_t>(kept.size());
        kept.push_back(o);
      }
    }
    number.push_back(last[o.stream] < 0 ? ~0U : static_cast<std::uint32_t>(last[o.stream]));
  }
  // A stream with copies only disappears; the streams above it are renumbered.
  std::vector<std::uint32_t> new_stream(workload.streams());
  std::uint32_t streams = 0;
  for (std::uint32_t i = 0; i < workload.streams(); ++i) {
    new_stream[i] = streams;
    if (last[i] >= 0) ++streams;
  }
  for (auto& o : kept) o.stream = new_stream[o.stream];
  workload.set_operations(std::move(kept));
}

void add_copies(Workload& workload) {
  if (has_copies(workload) || workload.buffers().empty()) return;
  auto const& buffers = workload.buffers();
  std::vector<Operation> before, after;
  for (auto const& b : buffers)
    if (b.host_written && b.bytes != 0) before.push_back(Operation::copy_to_gpus(b.base, b.bytes));
  bool const has_results = std::ranges::any_of(buffers, [](Buffer const& b) { return !b.host_written; });
  for (auto const& b : buffers)
    if ((!b.host_written || !has_results) && b.bytes != 0)
      after.push_back(Operation::copy_to_host(b.base, b.bytes));
  surround(workload, std::move(before), after);
}

}  // namespace farfault::workloads
