#include "farfault/workloads/copies.hpp"

#include <algorithm>
#include <vector>

namespace farfault::workloads {

namespace {

bool has_copies(Workload const& workload) {
  return std::ranges::any_of(workload.operations(), &Operation::is_copy);
}

}  // namespace

void leave_out_copies(Workload& workload) {
  if (!has_copies(workload)) return;
  std::vector<Operation> kept;
  // By operation: its number among those that are kept; of a copy that of the last one kept before it in its
  // stream, since that is when it would have ended.
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
  // A stream of copies alone is gone: those above it move down.
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
  std::vector<Operation> all;
  for (auto const& b : buffers)
    if (b.host_written && b.bytes != 0) all.push_back(Operation::copy_to_gpus(b.base, b.bytes));
  auto const copies = static_cast<std::uint32_t>(all.size());
  if (copies != 0)
    for (std::uint32_t stream = 1; stream < workload.streams(); ++stream)
      all.push_back(Operation::wait_for(copies - 1, stream));
  auto const before = static_cast<std::uint32_t>(all.size());
  std::vector<std::uint32_t> last(workload.streams());
  for (auto o : workload.operations()) {
    if (o.kind == OperationKind::wait) o.number += before;
    last[o.stream] = static_cast<std::uint32_t>(all.size());
    all.push_back(o);
  }
  for (std::uint32_t stream = 1; stream < workload.streams(); ++stream)
    all.push_back(Operation::wait_for(last[stream], 0));
  bool const has_results = std::ranges::any_of(buffers, [](Buffer const& b) { return !b.host_written; });
  for (auto const& b : buffers)
    if ((!b.host_written || !has_results) && b.bytes != 0)
      all.push_back(Operation::copy_to_host(b.base, b.bytes));
  workload.set_operations(std::move(all));
}

}  // namespace farfault::workloads
