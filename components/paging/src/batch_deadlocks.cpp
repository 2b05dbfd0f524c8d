// SPDX-License-Identifier: Apache-2.0
// Deadlock of workers that wait for each other's frames.
//
// - A worker is stuck if its next page needs a frame, no operation in flight can free one, and all pages on
//   its GPU are in flight. Each of these pages is unmapped and waits for a frame on its way to another GPU,
//   or makes progress.
// - Stuck workers are in a deadlock if all pages on their GPUs wait for each other. No other wait is part of
//   a cycle. Numbers of transitions: begun pages leave enough for one eviction unit, and an eviction that has
//   begun completes. Frames of the CPU: it has room for a unit of a full GPU when nothing is in transfer
//   (check_eviction_capacity() in topologies). Pages in flight for another worker: begun pages never wait for
//   pages that are not begun.
// - The worker of the highest-numbered GPU gives back the pages on the others' GPUs, which can then be
//   evicted. A batch gives a page back at most once, so this ends.
#include <algorithm>
#include <vector>

#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

namespace {

using Workers = std::vector<BatchWorker*>;

bool contains(Workers const& workers, BatchWorker const& worker) {
  return std::ranges::find(workers, &worker) != workers.end();
}

// A page on the worker's GPU, or a copy of it, is in flight and will end without the stuck workers.
bool awaits_others(BatchWorker const& worker, Workers const& stuck, DriverTurn& t) {
  auto const device = worker.device(t.spec);
  return std::ranges::any_of(t.s.transitions.pages(), [&](PageInFlight const& p) {
    if (p.in_use == 0 || p.client == PagingClient::relocations || !t.s.memory.is_on(p.page(), device))
      return false;
    bool const waits = p.client == PagingClient::batch && p.awaits_consent();
    return !waits || !contains(stuck, t.s.batch.worker_of(p, t.spec));
  });
}

}  // namespace

bool BatchClient::end_deadlock(DriverTurn& t) {
  Workers stuck;
  for (auto& w : workers_)
    if (w.is_serving() && t.s.evictions.lacks_victim(w.gpu())) stuck.push_back(&w);
  while (stuck.size() > 1) {
    auto const free =
        std::ranges::find_if(stuck, [&](BatchWorker* w) { return awaits_others(*w, stuck, t); });
    if (free == stuck.end()) break;
    stuck.erase(free);
  }
  if (stuck.size() < 2) return false;
  std::ranges::sort(stuck, std::ranges::greater{}, [](BatchWorker* w) { return w->gpu(); });
  std::vector<DeviceId> devices;
  for (auto const* w : stuck) devices.push_back(w->device(t.spec));
  return std::ranges::any_of(stuck, [&](BatchWorker* w) { return w->give_back(devices, t); });
}

}  // namespace farfault
