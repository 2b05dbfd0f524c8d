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
  unmapped_ = Ring<std::uint32_t>(spec.params.migrations);
  schedule_ = p.eviction_schedule.make({});
  arrived_ = PageRecords<Time>(spec.page_bits, spec.spaces);
  first_evictions_.assign(gpus, Time::max());
  for (std::uint32_t g = 0; g < gpus; ++g) {
    orders_.add(p.eviction_order.make({spec.page_bits, spec.spaces}));
    residency_.emplace_back(spec.page_bits, spec.spaces);
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
  if (m.access == Access::write) residency_[gpu].of(m.page).dirty = 1;
  orders_[gpu].used(unit_of(m.page), t.now);
}

void EvictionClient::wrote(std::uint64_t page, DeviceId device, DriverTurn& t) {
  if (t.spec.in_batches) residency_[t.spec.devices.number_of(device)].of(page).dirty = 1;
}

void EvictionClient::arrived(PageInFlight const& page, bool was_there, DriverTurn& t) {
  auto const gpu = t.s.batch.gpu();
  orders_[gpu].arrived(unit_of(page.page()));
  auto& residency = residency_[gpu].of(page.page());
  if (!was_there) residency.arrived = arrived_.of(page.page()) = t.now;
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

void EvictionClient::returns(std::uint64_t page, DriverTurn& t) {
  if (residency_[t.s.batch.gpu()].of(page).evictions == 0) return;
  ++t.s.counts.premature_evictions;
  ++lifetimes_.premature;
}

Time EvictionClient::latest_arrival(std::uint64_t page) const {
  auto const* at = arrived_.find(page);
  return at != nullptr ? *at : Time{};
}

EvictionSchedule::Snapshot EvictionClient::snapshot(DriverTurn const& t) const {
  auto const free = t.s.memory.frames(t.s.batch.gpu()).available();
  auto const n = [](std::uint64_t count) { return static_cast<std::uint32_t>(count); };
  return {.free_frames = free,
          .page_needs_frame = free == 0 && t.s.batch.next_needs_frame(t.now),
          .in = n(t.s.batch.incoming().in_transfer()),
          .unmapping = n(unmapping_),
          .unmapped = n(unmapped_.size()),
          .out = n(out_)};
}

// A page waits for a frame, and no operation in flight can free one.
bool EvictionClient::is_starved(DriverTurn const& t) const {
  auto const now = snapshot(t);
  return now.page_needs_frame && t.s.batch.incoming().arriving() == 0 && now.unmapping == 0 &&
         now.unmapped == 0 && now.out == 0;
}

bool EvictionClient::is_local(std::uint64_t page, DriverTurn const& t) const {
  return t.s.memory.is_on(page, t.s.batch.device(t.spec)) && !t.s.transitions.is_in_flight(page);
}

bool EvictionClient::evict(DriverTurn& t) {
  std::uint64_t about_to_be_free = 0;
  for (auto const& unit : units_) about_to_be_free += unit.pages;
  auto const needed = t.s.batch.incoming().needed_frames();
  while (t.s.memory.frames(t.s.batch.gpu()).available() + about_to_be_free < needed &&
         schedule_->evicts(snapshot(t))) {
    auto const pages = begin_unit(t);
    if (pages == 0) break;
    about_to_be_free += pages;
  }
  return send_units(t);
}

std::optional<std::uint64_t> EvictionClient::victim(bool allow_in_flight, DriverTurn& t) {
  // Prefetched pages must not evict pages that were faulted on.
  bool const for_prefetched = t.s.batch.incoming().only_prefetched_left();
  return orders_[t.s.batch.gpu()].victim([&](std::uint64_t u) {
    if (for_prefetched && t.s.batch.incoming().has_page_in(u, pages_of_unit())) return false;
    bool some = false;
    for (auto p = u; p - u < pages_of_unit(); ++p) {
      if (!allow_in_flight && t.s.transitions.is_in_flight(p)) return false;
      some = some || is_local(p, t);
    }
    return some;
  });
}

std::uint64_t EvictionClient::begin_unit(DriverTurn& t) {
  auto& s = t.s;
  auto const gpu = s.batch.gpu();
  auto const device = s.batch.device(t.spec);
  if (s.transitions.free() < pages_of_unit()) return 0;
  auto unit = victim(false, t);
  // Pages migrate into all resident units, and no operation is in flight: evict the other pages of one of
  // them.
  if (!unit && is_starved(t) && !s.relocations.works_on(gpu)) unit = victim(true, t);
  if (!unit) return 0;
  orders_[gpu].removed(*unit);
  first_evictions_[gpu] = std::min(first_evictions_[gpu], t.now);
  if (free_units_.empty()) {
    free_units_.push_back(static_cast<std::uint32_t>(units_.size()));
    units_.emplace_back();
  }
  auto const index = free_units_.back();
  free_units_.pop_back();
  units_[index] = {*unit, 0, 0};
  ++unmapping_;
  for (auto p = *unit; p - *unit < pages_of_unit(); ++p) {
    if (!is_local(p, t)) continue;
    PageInFlight page;
    page.request = {.page = p, .gpu = device, .application = residency_[gpu].of(p).application};
    page.from = s.memory.frame_on(p, device);
    page.transition = eviction_of(page.from != s.memory.home(p)->frame);
    page.client = PagingClient::evictions;
    page.tag = index;
    page.consents = 1;
    ++units_[index].pages;
    ++units_[index].unmapping;
    t.begin(page);
  }
  return units_[index].pages;
}

bool EvictionClient::drop_prefetched(DriverTurn& t) {
  auto& batch = t.s.batch;
  if (!is_starved(t) || !batch.incoming().only_prefetched_left() || t.s.relocations.works_on(batch.gpu()))
    return false;
  batch.keep_next(t);
  return true;
}

bool EvictionClient::send_units(DriverTurn& t) {
  bool freed = false;
  // A unit that is not needed any more, because a program has freed memory, is still evicted before the batch
  // ends.
  while (!unmapped_.empty() && (t.s.batch.incoming().all_mapped() || schedule_->writes_out(snapshot(t)))) {
    auto const index = unmapped_.front();
    auto const unit = units_[index].unit;
    // Pages that migrate free CPU frames.
    if (t.s.memory.cpu_frames().available() < pages_for_cpu(index, t)) break;
    unmapped_.pop();
    ++out_;
    for (auto p = unit; p - unit < pages_of_unit(); ++p) freed = send_page(p, t) || freed;
  }
  return freed;
}

// True: its frame is free.
bool EvictionClient::send_page(std::uint64_t page, DriverTurn& t) {
  auto& s = t.s;
  if (!s.transitions.is_in_flight(page)) return false;
  auto const number = s.transitions.number_of(page);
  if (s.transitions[number].client != PagingClient::evictions)
    return false;  // it was elsewhere and migrates in
  auto& record = s.batch.record();
  ++record.evicted_pages;
  bool const of_copy = takes(s.transitions[number].transition, PageStep::drop_copy);
  auto const heir = of_copy || !t.spec.makes_copies ? std::nullopt : s.memory.copies().latest(page);
  bool const dirty = residency_[s.batch.gpu()].of(page).dirty != 0;
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
  if (--units_[page.tag].unmapping != 0) return;
  --unmapping_;
  unmapped_.push(page.tag);
}

void EvictionClient::transfer_begins(DriverTurn& t) {
  t.s.batch.record().bytes_out += t.spec.page_bytes();
}

// The data is in CPU memory, or it was a copy, or a copy has become the page: the frame is free.
void EvictionClient::ended(PageInFlight const& done, DriverTurn& t) {
  auto const gpu = t.s.batch.gpu();
  auto& residency = residency_[gpu].of(done.page());
  ++residency.evictions;
  auto const lifetime = static_cast<std::uint64_t>(picoseconds(t.now - residency.arrived));
  t.s.counts.lifetime_ps += lifetime;
  if (t.spec.batch.lifetimes == CountedLifetimes::all || residency.arrived >= first_evictions_[gpu]) {
    ++lifetimes_.pages;
    lifetimes_.lifetime_ps += lifetime;
  }
  ++t.s.stats[done.request.application].evicted_pages;
  if (ends_on_host(done.transition) && t.spec.pages_move) t.s.records.migrated(done, t.now);
  if (--units_[done.tag].pages != 0) return;
  --out_;
  free_units_.push_back(done.tag);
  report_lifetimes(t);
}

void EvictionClient::report_lifetimes(DriverTurn& t) {
  if (t.spec.reports_lifetimes && lifetimes_.pages + lifetimes_.premature != 0)
    t.out.report(static_cast<std::uint32_t>(t.s.batch.gpu()), lifetimes_);
  lifetimes_ = {};
}

}  // namespace farfault
