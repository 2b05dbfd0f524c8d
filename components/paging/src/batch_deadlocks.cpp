// SPDX-License-Identifier: Apache-2.0
// Deadlocks of workers that wait for each other's replays, or for each other's frames.
//
// - A page that waits for a replay of another GPU waits for pages of that GPU's batches. If workers wait for
//   each other's replays in a circle, the worker of the lowest-numbered GPU does not wait.
// - A worker is stuck if its next page needs a frame, no operation in flight for its GPU can free one, and
//   all pages on its GPU are in flight.
// - Pages of its batch that need no frame, because a copy becomes the page, then overtake that page.
// - Stuck workers are in a deadlock if all pages on their GPUs are unmapped and wait for frames on these
//   GPUs. The worker of the highest-numbered GPU gives back the pages on the others' GPUs, which can then be
//   evicted. A batch gives a page back at most once, so this ends.
// - No other wait is part of a cycle. Transition numbers: begun pages leave enough for one eviction unit, and
//   an eviction that has begun completes. CPU frames: the CPU has room for a unit of a full GPU when nothing
//   is in transfer (check_eviction_capacity() in topologies). Pages in flight for another worker: a page that
//   is begun waits for no page that is not.
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <functional>
#include <vector>

#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

namespace {

using Workers = std::vector<BatchWorker*>;

bool contains(Workers const& workers, BatchWorker const& worker) {
  return std::ranges::find(workers, &worker) != workers.end();
}

// A page on the worker's GPU, or a copy of it, does not wait for a frame of the stuck workers' GPUs.
bool awaits_others(BatchWorker const& worker, Workers const& stuck, DriverTurn& t) {
  auto const device = worker.device(t.spec);
  return std::ranges::any_of(t.s.transitions.pages(), [&](PageInFlight const& p) {
    if (p.in_use == 0 || p.client == PagingClient::relocations || !t.holds_frame(p, device)) return false;
    if (p.client != PagingClient::batch || !p.awaits_consent()) return true;
    auto const& owner = t.s.batch.worker_of(p, t.spec);
    return owner.incoming().all()[p.tag].is_local != 0 || !contains(stuck, owner);
  });
}

}  // namespace

bool BatchClient::has_to_replay(std::uint64_t gpu, std::uint64_t page, DriverTurn const& t) const {
  return of_gpu_[gpu].stays.until(page) == Time::max() &&
         t.s.memory.is_on(page, t.spec.devices.gpu(static_cast<std::uint32_t>(gpu)));
}

bool BatchClient::waits_for(std::uint64_t gpu, BatchWorker const& other, DriverTurn const& t) const {
  if (gpu < other.gpu()) return false;
  boost::container::small_vector<std::uint64_t, 16> reached{gpu};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    auto const& worker = worker_of(reached[i]);
    bool const is_serving = worker.is_serving() && worker.gpu() == reached[i];
    auto const* page = is_serving ? worker.incoming().to_begin() : nullptr;
    if (page == nullptr || page->waits_for_replay == 0) continue;
    for (std::uint64_t g = 0; g < of_gpu_.size(); ++g) {
      if (g == reached[i] || g < other.gpu() || !has_to_replay(g, page->page, t)) continue;
      if (g == other.gpu()) return true;
      if (std::ranges::find(reached, g) == reached.end()) reached.push_back(g);
    }
  }
  return false;
}

Time BatchClient::stays_until(BatchWorker const& worker, std::uint64_t page, DriverTurn const& t) const {
  Time latest{};
  for (std::uint64_t g = 0; g < of_gpu_.size(); ++g) {
    if (g == worker.gpu()) continue;
    auto const until = of_gpu_[g].stays.until(page);
    if (until == Time{} || !t.s.memory.is_on(page, t.spec.devices.gpu(static_cast<std::uint32_t>(g))))
      continue;
    if (until != Time::max() || !waits_for(g, worker, t)) latest = std::max(latest, until);
  }
  return latest;
}

std::vector<BatchWorker*> BatchClient::stuck(DriverTurn const& t) {
  Workers stuck;
  for (auto& w : workers_)
    if (w.is_serving() && t.s.evictions.lacks_victim(w.gpu())) stuck.push_back(&w);
  return stuck;
}

bool BatchClient::end_deadlock(DriverTurn& t) {
  auto stuck = this->stuck(t);
  bool admitted = false;
  for (auto* w : stuck) admitted = w->admit_local(t) || admitted;
  if (admitted) return true;
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
