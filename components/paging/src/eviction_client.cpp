// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/eviction_client.hpp"

#include <algorithm>
#include <bit>

#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

EvictionClient::EvictionClient(PagingDriverSpec const& spec) {
  auto const& p = spec.batch;
  auto const bits = static_cast<unsigned>(std::countr_zero(p.eviction_unit.bytes));
  unit_size_.value = bits > spec.page_bits ? bits - spec.page_bits : 0;
  auto const gpus = spec.devices.gpus();
  schedule_ = p.eviction_schedule.make({});
  for (std::uint32_t g = 0; g < gpus; ++g) {
    orders_.add(p.eviction_order.make({spec.page_bits, spec.spaces}));
    residency_.emplace_back(spec.page_bits, spec.spaces);
    of_gpu_.push_back({.unmapped = Ring<std::uint32_t>(spec.params.migrations)});
  }
  if (spec.placed == nullptr) return;
  for (auto const& placed : *spec.placed) {
    if (placed.device >= kFirstCpu) continue;
    orders_[placed.device].arrived(unit_of(placed.page));
    residency_[placed.device].of(placed.page).dirty = 1;  // no other memory holds the data
  }
}

void EvictionClient::used(PageUse const& m, DriverTurn& t) {
  auto const gpu = t.spec.devices.number_of(m.gpu);
  if (m.access == Access::write) residency_[gpu].of(t.s.memory.first_page_of(m.page)).dirty = 1;
  orders_[gpu].used(unit_of(m.page), t.now);
}

void EvictionClient::wrote(std::uint64_t page, DeviceId device, DriverTurn& t) {
  if (!t.spec.in_batches) return;
  residency_[t.spec.devices.number_of(device)].of(t.s.memory.first_page_of(page)).dirty = 1;
}

void EvictionClient::arrived(PageInFlight const& page, bool was_there, DriverTurn& t) {
  auto const gpu = t.spec.devices.number_of(page.request.gpu);
  orders_[gpu].arrived(unit_of(page.page()));
  auto& residency = residency_[gpu].of(page.page());
  if (!was_there) residency.arrived = t.now;
  residency.application = page.request.application;
  // Data written on another GPU reaches CPU memory only by an eviction. A copy is clean.
  bool const from_gpu = page.from != kNoFrame && device_of(page.from) < kFirstCpu;
  if (page.from != page.to) residency.dirty = from_gpu && !adds_copy(page.transition) ? 1 : 0;
}

void EvictionClient::left(std::uint64_t page, DeviceId device, DriverTurn& t) {
  if (device >= kFirstCpu) return;
  // A page that is moved within the device's memory is not mapped meanwhile.
  auto const is_moved_within = [&](std::uint64_t p) {
    if (!t.spec.relocates() || !t.s.transitions.is_in_flight(p)) return false;
    auto const& moving = t.s.transitions[t.s.transitions.number_of(p)];
    return moving.transition == Transition::relocate && device_of(moving.to) == device;
  };
  auto const unit = unit_of(page);
  for (auto p = unit; p - unit < pages_of_unit(); ++p)
    if (t.s.memory.is_on(p, device) || is_moved_within(p)) return;
  orders_[t.spec.devices.number_of(device)].removed(unit);
}

void EvictionClient::returns(std::uint64_t page, std::uint64_t gpu) {
  if (residency_[gpu].of(page).evictions == 0) return;
  ++counts_.premature;
  ++of_gpu_[gpu].lifetimes.premature;
}

Time EvictionClient::latest_arrival(std::uint64_t page, std::uint64_t gpu, DriverTurn const& t) const {
  Time latest{};
  for (std::uint32_t g = 0; g < residency_.size(); ++g) {
    auto const* residency = g != gpu ? residency_[g].find(page) : nullptr;
    if (residency != nullptr && t.s.memory.is_on(page, t.spec.devices.gpu(g)))
      latest = std::max(latest, residency->arrived);
  }
  return latest;
}

EvictionSchedule::Snapshot EvictionClient::snapshot(BatchWorker const& worker, DriverTurn const& t) const {
  auto free = t.s.memory.frames(worker.gpu()).available();
  bool lacks_frame = worker.lacks_frame(t);
  if (t.spec.large.any()) {
    auto const* next = worker.incoming().to_pass();
    if (next != nullptr && !t.s.memory.has_frame(next->size, worker.device(t.spec))) free = 0;
    lacks_frame = lacks_frame && !t.s.relocations.works_on(worker.gpu());
  }
  auto const& g = of_gpu_[worker.gpu()];
  auto const n = [](std::uint64_t count) { return static_cast<std::uint32_t>(count); };
  return {.free_frames = free,
          .page_needs_frame = lacks_frame,
          .in = n(worker.incoming().in_transfer()),
          .unmapping = n(g.unmapping),
          .unmapped = n(g.unmapped.size()),
          .out = n(g.out)};
}

// A page waits for a frame, and no operation in flight for this GPU can free one.
bool EvictionClient::is_starved(BatchWorker const& worker, DriverTurn const& t) const {
  return snapshot(worker, t).page_needs_frame && worker.incoming().arriving() == 0 &&
         units(worker.gpu()) == 0;
}

bool EvictionClient::is_local(std::uint64_t page, DeviceId device, DriverTurn const& t) const {
  return t.s.memory.is_on(page, device) && !t.s.transitions.is_in_flight(page);
}

bool EvictionClient::lacks_frames(BatchWorker const& worker, std::uint64_t about_to_be_free,
                                  DriverTurn const& t) const {
  auto const free = t.s.memory.frames(worker.gpu()).available();
  if (free + about_to_be_free < worker.needed_frames(t)) return true;
  return t.spec.large.any() && about_to_be_free == 0 && worker.lacks_frame(t);
}

bool EvictionClient::evict(BatchWorker const& worker, DriverTurn& t) {
  auto const gpu = worker.gpu();
  of_gpu_[gpu].lacks_victim = 0;
  std::uint64_t about_to_be_free = 0;
  for (auto const& unit : units_)
    if (unit.gpu == gpu) about_to_be_free += unit.pages;
  while (lacks_frames(worker, about_to_be_free, t) && schedule_->evicts(snapshot(worker, t))) {
    auto const pages = begin_unit(worker, t);
    if (pages == 0) break;
    about_to_be_free += pages;
  }
  return send_units(worker, t);
}

std::optional<std::uint64_t> EvictionClient::victim(BatchWorker const& worker, bool allow_in_flight,
                                                    DriverTurn& t) {
  // Prefetched pages must not evict pages that were faulted on.
  bool const for_prefetched = worker.incoming().only_prefetched_left();
  auto const device = worker.device(t.spec);
  return orders_[worker.gpu()].victim([&](std::uint64_t u) {
    if (for_prefetched && worker.incoming().has_page_in(u, pages_of_unit())) return false;
    bool some = false;
    for (auto p = u; p - u < pages_of_unit(); ++p) {
      if (!allow_in_flight && t.s.transitions.is_in_flight(p)) return false;
      some = some || is_local(p, device, t);
    }
    return some;
  });
}

std::uint64_t EvictionClient::begin_unit(BatchWorker const& worker, DriverTurn& t) {
  auto& s = t.s;
  auto const gpu = worker.gpu();
  auto const device = worker.device(t.spec);
  auto& g = of_gpu_[gpu];
  if (s.transitions.free() < pages_of_unit()) return 0;
  auto unit = victim(worker, false, t);
  bool has_pages_in_flight = false;
  // Pages migrate into or out of all resident units, and no operation is in flight: evict the other pages of
  // one of them.
  if (!unit && is_starved(worker, t) && !s.relocations.works_on(gpu)) {
    unit = victim(worker, true, t);
    g.lacks_victim = unit ? 0 : 1;
    has_pages_in_flight = unit.has_value();
  }
  if (!unit) return 0;
  orders_[gpu].removed(*unit);
  g.first = std::min(g.first, t.now);
  if (free_units_.empty()) {
    free_units_.push_back(static_cast<std::uint32_t>(units_.size()));
    units_.emplace_back();
  }
  auto const index = free_units_.back();
  free_units_.pop_back();
  units_[index] = {.unit = *unit, .gpu = gpu};
  ++g.unmapping;
  for (std::uint64_t p = *unit, base_pages = 1; p - *unit < pages_of_unit(); p += base_pages) {
    base_pages = 1;
    if (!is_local(p, device, t)) continue;
    auto const home = *s.memory.home(p);
    base_pages = std::uint64_t{1} << home.size;
    PageInFlight page;
    page.request = {.page = p, .gpu = device, .application = residency_[gpu].of(p).application};
    page.from = s.memory.frame_on(p, device, home);
    page.size = home.size;
    page.transition = eviction_of(page.from != home.frame);
    page.client = PagingClient::evictions;
    page.tag = index;
    page.consents = 1;
    units_[index].pages += static_cast<std::uint32_t>(base_pages);
    ++units_[index].unmapping;
    t.begin(page);
  }
  if (has_pages_in_flight && keeps_pages(index, t)) orders_[gpu].arrived(*unit);
  return units_[index].pages;
}

bool EvictionClient::keeps_pages(std::uint32_t index, DriverTurn const& t) const {
  auto const& unit = units_[index];
  auto const device = t.spec.devices.gpu(static_cast<std::uint32_t>(unit.gpu));
  for (auto p = unit.unit; p - unit.unit < pages_of_unit(); ++p) {
    if (!t.s.transitions.is_in_flight(p)) continue;
    auto const& moving = t.s.transitions[t.s.transitions.number_of(p)];
    bool const leaves = moving.client == PagingClient::evictions && moving.tag == index;
    if (!leaves && t.holds_frame(moving, device)) return true;
  }
  return false;
}

bool EvictionClient::drop_prefetched(BatchWorker& worker, DriverTurn& t) {
  if (!is_starved(worker, t) || !worker.incoming().only_prefetched_left() ||
      t.s.relocations.works_on(worker.gpu()))
    return false;
  worker.keep_next(t);
  return true;
}

bool EvictionClient::send_units(BatchWorker const& worker, DriverTurn& t) {
  auto& g = of_gpu_[worker.gpu()];
  bool freed = false;
  // A unit that is not needed any more, because a program has freed memory, is still evicted before the batch
  // ends.
  while (!g.unmapped.empty() &&
         (worker.incoming().all_mapped() || schedule_->writes_out(snapshot(worker, t)))) {
    auto const index = g.unmapped.front();
    auto const unit = units_[index].unit;
    // Pages that migrate free CPU frames.
    if (t.s.memory.cpu_frames().available() < pages_for_cpu(index, t)) break;
    g.unmapped.pop();
    ++g.out;
    for (auto p = unit; p - unit < pages_of_unit(); ++p) freed = send_page(p, index, t) || freed;
  }
  return freed;
}

// True: its frame is free.
bool EvictionClient::send_page(std::uint64_t page, std::uint32_t index, DriverTurn& t) {
  auto& s = t.s;
  if (!s.transitions.is_in_flight(page)) return false;
  auto const number = s.transitions.number_of(page);
  auto const& evicted = s.transitions[number];
  if (evicted.page() != page) return false;  // a further base page of a large page
  // Otherwise it was on another device: it migrates in, or is evicted there.
  if (evicted.client != PagingClient::evictions || evicted.tag != index) return false;
  auto const gpu = units_[index].gpu;
  auto& record = s.batch.worker_of(gpu).record();
  ++record.evicted_pages;
  bool const of_copy = takes(evicted.transition, PageStep::drop_copy);
  auto const heir = of_copy || !t.spec.makes_copies ? std::nullopt : s.memory.copies().latest(page);
  bool const dirty = residency_[gpu].of(page).dirty != 0;
  if (heir && dirty) residency_[t.spec.devices.number_of(*heir)].of(page).dirty = 1;
  bool const clean = t.spec.batch.clean_pages == CleanPages::dropped && !dirty;
  bool const dropped = of_copy || heir || clean;
  if (dropped) ++record.dropped_pages;
  s.transitions.admit(number, dropped || !t.facts.eviction_schedule.takes_time);
  return t.run(number) == PageProgress::ended;
}

std::uint64_t EvictionClient::pages_for_cpu(std::uint32_t index, DriverTurn const& t) const {
  if (!t.spec.makes_copies) return units_[index].pages;
  std::uint64_t pages = 0;
  for (auto const& p : t.s.transitions.pages())
    if (p.in_use != 0 && p.client == PagingClient::evictions && p.tag == index)
      pages += ends_on_host(p.transition) && !t.s.memory.copies().latest(p.page()) ? 1 : 0;
  return pages;
}

// No IOMMU and no GPU maps the page any more.
void EvictionClient::ready(PageInFlight const& page) {
  auto& unit = units_[page.tag];
  if (--unit.unmapping != 0) return;
  --of_gpu_[unit.gpu].unmapping;
  of_gpu_[unit.gpu].unmapped.push(page.tag);
}

void EvictionClient::transfer_begins(PageInFlight const& page, DriverTurn& t) {
  t.s.batch.worker_of(page, t.spec).record().bytes_out += t.spec.page_bytes(page.size);
}

// The data is in CPU memory, or it was a copy, or a copy has become the page: the frame is free.
void EvictionClient::ended(PageInFlight const& done, DriverTurn& t) {
  auto& unit = units_[done.tag];
  auto& g = of_gpu_[unit.gpu];
  auto& residency = residency_[unit.gpu].of(done.page());
  ++residency.evictions;
  auto const lifetime = static_cast<std::uint64_t>(picoseconds(t.now - residency.arrived));
  counts_.lifetime_ps += lifetime;
  if (t.spec.batch.lifetimes == CountedLifetimes::all || residency.arrived >= g.first) {
    ++g.lifetimes.pages;
    g.lifetimes.lifetime_ps += lifetime;
  }
  ++t.s.stats[done.request.application].evicted_pages;
  if (ends_on_host(done.transition) && t.spec.pages_move) t.s.records.migrated(done, t.now);
  unit.pages -= std::uint32_t{1} << done.size;
  if (unit.pages != 0) return;
  --g.out;
  free_units_.push_back(done.tag);
  report_lifetimes(unit.gpu, t);
}

void EvictionClient::report_lifetimes(std::uint64_t gpu, DriverTurn& t) {
  auto& lifetimes = of_gpu_[gpu].lifetimes;
  if (t.spec.reports_lifetimes && lifetimes.pages + lifetimes.premature != 0)
    t.out.report(static_cast<std::uint32_t>(gpu), lifetimes);
  lifetimes = {};
}

}  // namespace farfault
