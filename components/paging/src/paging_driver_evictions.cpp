// SPDX-License-Identifier: Apache-2.0
// Eviction of units from a GPU whose memory is full, for the pages of a batch.
//
// - Policies: eviction order (eviction_order.hpp) and schedule (eviction_schedule.hpp).
// - A unit is unmapped everywhere. The GPU's copy engine copies its pages, clean or dirty, to CPU memory,
//   where they are mapped. With `batch.clean_pages` = dropped, clean pages are mapped there without a copy.
// - Once all faulted pages of the batch have a frame, units with pages of the batch are not evicted. A
//   prefetched page that then finds no free frame keeps its place.
#include <algorithm>
#include <bit>

#include "farfault/paging/paging_driver.hpp"

namespace farfault {

namespace {

// All faulted pages of the batch have a frame, or need none.
bool only_prefetched_left(BatchState const& b) {
  auto const first = b.pages.begin() + static_cast<std::ptrdiff_t>(b.sent);
  return std::none_of(first, b.pages.end(), [](IncomingPage const& p) { return p.faulted != 0; });
}

// The unit of `size` pages contains a page of the batch. Pages of a batch are in address order.
bool is_of_batch(BatchState const& b, std::uint64_t unit, std::uint64_t size) {
  auto const p = std::ranges::lower_bound(b.pages, unit, {}, &IncomingPage::page);
  return p != b.pages.end() && p->page - unit < size;
}

// A page waits for a frame, and no operation in flight can free one.
bool is_starved(BatchState const& b, EvictionSchedule::Snapshot const& now) {
  return now.page_needs_frame && b.transferring == 0 && now.unmapping == 0 && now.unmapped == 0 &&
         now.out == 0;
}

}  // namespace

unsigned PagingDriver::unit_size() const {
  auto const bits = static_cast<unsigned>(std::countr_zero(spec().batch.eviction_unit.bytes));
  return bits > spec().page_bits ? bits - spec().page_bits : 0;
}

// The page is resident on the device from now on. Allocated pages are not registered, so they are not
// evicted.
void PagingDriver::resident(std::uint64_t page, DeviceId device, PagingDriverState& s) const {
  if (spec().in_batches && device < kFirstCpu)
    s.batch.orders[spec().devices.number_of(device)].arrived(unit_of(page));
}

void PagingDriver::on_used(PageUse const& m, Cx& cx) const {
  auto& b = cx.state().batch;
  auto const gpu = spec().devices.number_of(m.gpu);
  if (m.access == Access::write) b.residency[gpu].of(m.page).dirty = 1;
  b.orders[gpu].used(unit_of(m.page), cx.now());
}

// True for a page that is being moved within the device's memory, and is not mapped meanwhile.
bool PagingDriver::is_relocated(std::uint64_t page, DeviceId device, PagingDriverState const& s) const {
  if (!relocates() || !is_in_flight(page, s)) return false;
  auto const& moving = s.moves[s.batch.of_page.find(page)->move - 1];
  bool const within =
      moving.role == PageMigration::Role::relocated || moving.role == PageMigration::Role::remapped;
  return within && device_of(moving.to) == device;
}

// The page is not resident on the device any more.
void PagingDriver::not_resident(std::uint64_t page, DeviceId device, PagingDriverState& s) const {
  if (device >= kFirstCpu) return;
  auto const unit = unit_of(page);
  for (auto p = unit; p - unit < std::uint64_t{1} << unit_size(); ++p)
    if (is_on(p, device, s) || is_relocated(p, device, s)) return;
  s.batch.orders[spec().devices.number_of(device)].removed(unit);
}

EvictionSchedule::Snapshot PagingDriver::snapshot(PagingDriverState const& s, Time now) const {
  auto const& b = s.batch;
  auto const free = s.frames[b.gpu].available();
  bool waits = false;
  if (free == 0 && b.sent < b.begun) {
    auto const& page = b.pages[b.sent];
    waits = page.stage == IncomingPage::Stage::ready && page.worked <= now;
  }
  auto const n = [](std::uint64_t count) { return static_cast<std::uint32_t>(count); };
  return {.free_frames = free,
          .page_needs_frame = waits,
          .in = n(b.in),
          .unmapping = n(b.unmapping),
          .unmapped = n(b.unmapped.size()),
          .out = n(b.out)};
}

bool PagingDriver::evict(Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  std::uint64_t about_to_be_free = 0;
  for (auto const& unit : b.evicting) about_to_be_free += unit.pages;
  auto const needed = b.pages.size() - b.sent - b.in_place;
  while (s.frames[b.gpu].available() + about_to_be_free < needed &&
         b.schedule->evicts(snapshot(s, cx.now()))) {
    auto const pages = begin_unit(cx);
    if (pages == 0) break;
    about_to_be_free += pages;
  }
  return send_units(cx);
}

// Returns the number of pages in the unit whose eviction begins; 0: none may be evicted now.
std::uint64_t PagingDriver::begin_unit(Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto const gpu = batch_gpu(s);
  auto const size = std::uint64_t{1} << unit_size();
  if (s.free_moves.size() < size) return 0;
  auto const is_local = [&](std::uint64_t page) { return is_on(page, gpu, s) && !is_in_flight(page, s); };
  // Prefetched pages must not evict pages that were faulted on.
  bool const for_prefetched = only_prefetched_left(b);
  auto const victim = [&](bool allow_in_flight) {
    return b.orders[b.gpu].victim([&](std::uint64_t u) {
      if (for_prefetched && is_of_batch(b, u, size)) return false;
      bool some = false;
      for (auto p = u; p - u < size; ++p) {
        if (!allow_in_flight && is_in_flight(p, s)) return false;
        some = some || is_local(p);
      }
      return some;
    });
  };
  auto unit = victim(false);
  // Pages migrate into all resident units, and no operation is in flight: evict the other pages of one of
  // them.
  if (!unit && is_starved(b, snapshot(s, cx.now())) && !is_relocating(b.gpu, s)) unit = victim(true);
  if (!unit) return 0;
  b.orders[b.gpu].removed(*unit);
  auto& first = b.gpus[b.gpu].first_eviction;
  first = std::min(first, cx.now());
  if (b.free_evicting.empty()) {
    b.free_evicting.push_back(static_cast<std::uint32_t>(b.evicting.size()));
    b.evicting.emplace_back();
  }
  auto const index = b.free_evicting.back();
  b.free_evicting.pop_back();
  b.evicting[index] = {*unit, 0, 0};
  ++b.unmapping;
  for (auto p = *unit; p - *unit < size; ++p) {
    if (!is_local(p)) continue;
    auto const number = take_number(p, s);
    auto& moving = s.moves[number];
    moving = {};
    moving.fault = {.page = p,
                    .gpu = gpu,
                    .kind = FaultKind::moving,
                    .recorded_by_gpu = 1,
                    .application = b.residency[b.gpu].of(p).application};
    moving.from = s.table.find_mapped(p)->frame;
    bool const of_copy = device_of(moving.from) != gpu;
    if (of_copy) {
      moving.from = *s.copies.find(p, gpu);
      moving.change = PageMigration::Change::copy;
    }
    moving.started = cx.now();
    moving.in_use = 1;
    moving.role = PageMigration::Role::evicted;
    moving.index = index;
    ++b.evicting[index].pages;
    ++b.evicting[index].unmapping;
    notify_iommus(number, of_copy ? MoveStep::drop : MoveStep::unmap, Duration::zero(), cx);
  }
  return b.evicting[index].pages;
}

// A prefetched page for which no unit may be evicted keeps its place. True if there was one.
bool PagingDriver::drop_prefetched(Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  if (!is_starved(b, snapshot(s, cx.now())) || !only_prefetched_left(b) || is_relocating(b.gpu, s))
    return false;
  auto& page = b.pages[b.sent];
  auto const number = b.of_page.of(page.page).move - 1;
  bool const is_unmapped = page.mapped != 0 && (page.copies == 0 || !s.copies.read_only(page.page));
  for (std::uint32_t i = 0; is_unmapped && i < spec().iommus; ++i)
    cx.send(
        move, i,
        PageMove{.page = page.page, .frame = s.moves[number].from, .move = number, .step = MoveStep::remap});
  if (is_unmapped) map_page(page.page, {s.moves[number].from, 0}, cx);
  page.stage = IncomingPage::Stage::mapped;
  free_number(number, s);
  ++b.mapped_pages;
  ++b.sent;
  if (--b.block_left[page.block] == 0) order_replay(FaultReplay::Point::block_mapped, cx);
  return true;
}

// True if frames have become free immediately.
bool PagingDriver::send_units(Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto const gpu = batch_gpu(s);
  bool freed = false;
  // A unit that is not needed any more, because a program has freed memory, is still evicted before the batch
  // ends.
  while (!b.unmapped.empty() && (all_pages_mapped(b) || b.schedule->writes_out(snapshot(s, cx.now())))) {
    auto const index = b.unmapped.front();
    auto const unit = b.evicting[index];
    if (s.cpu_frames->available() < pages_for_cpu(index, s)) break;  // pages that migrate free CPU frames
    b.unmapped.pop();
    ++b.out;
    for (auto p = unit.unit; p - unit.unit < std::uint64_t{1} << unit_size(); ++p) {
      if (!is_in_flight(p, s)) continue;
      auto const number = b.of_page.of(p).move - 1;
      auto& moving = s.moves[number];
      if (moving.role != PageMigration::Role::evicted) continue;  // it was elsewhere and migrates in
      ++b.record.evicted_pages;
      bool const of_copy = moving.change == PageMigration::Change::copy;
      if (of_copy) s.copies.take(p, gpu);
      bool const has_copies = of_copy || (spec().makes_copies && passes_to_copy(number, s));
      if (!has_copies) moving.to = take(p, 0, spec().devices.cpu(), s).frame;
      bool const clean =
          spec().batch.clean_pages == CleanPages::dropped && b.residency[b.gpu].of(p).dirty == 0;
      bool const dropped = has_copies || clean;
      if (dropped) ++b.record.dropped_pages;
      if (b.schedule->takes_time() && !dropped) {
        b.record.bytes_out += page_bytes();
        order_copy(moving.fault.gpu, moving.from, moving.to, page_bytes(), number, moving.fault.application,
                   Duration::zero(), cx);
      } else {
        freed = true;
        page_evicted(number, cx);
      }
    }
  }
  return freed;
}

// CPU frames that an unmapped unit needs.
std::uint64_t PagingDriver::pages_for_cpu(std::uint32_t index, PagingDriverState const& s) const {
  if (!spec().makes_copies) return s.batch.evicting[index].pages;
  std::uint64_t pages = 0;
  for (auto const& m : s.moves)
    if (m.in_use != 0 && m.role == PageMigration::Role::evicted && m.index == index)
      pages += m.change != PageMigration::Change::copy && !s.copies.latest(m.fault.page) ? 1 : 0;
  return pages;
}

// No IOMMU and no GPU maps the page any more.
void PagingDriver::page_unmapped(std::uint32_t number, Cx& cx) const {
  auto& b = cx.state().batch;
  auto const& moving = cx.state().moves[number];
  if (moving.role == PageMigration::Role::incoming) {
    auto& page = b.pages[moving.index];
    page.stage = IncomingPage::Stage::ready;
    if (spec().makes_copies && page.copies == 0) drop_copies(number, cx);
  } else if (--b.evicting[moving.index].unmapping == 0) {
    --b.unmapping;
    b.unmapped.push(moving.index);
  }
  serve(cx);
}

// The data is in CPU memory, or it was a copy, or a copy has become the page: the frame is free.
void PagingDriver::page_evicted(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto const moving = s.moves[number];
  auto const page = moving.fault.page;
  auto& residency = b.residency[b.gpu].of(page);
  ++residency.evictions;
  auto const lifetime = static_cast<std::uint64_t>(picoseconds(cx.now() - residency.arrived));
  b.counts.lifetime_ps += lifetime;
  if (spec().batch.lifetimes == CountedLifetimes::all || residency.arrived >= b.gpus[b.gpu].first_eviction) {
    ++b.lifetimes.pages;
    b.lifetimes.lifetime_ps += lifetime;
  }
  ++s.stats[moving.fault.application].evicted_pages;
  if (moving.change != PageMigration::Change::copy) {
    if (spec().pages_move)
      s.records.push_back({.page = page,
                           .from = moving.from,
                           .to = moving.to,
                           .started = moving.started,
                           .unmapped = moving.unmapped,
                           .finished = cx.now(),
                           .application = moving.fault.application});
    map_page(page, {moving.to, 0}, cx);
    bool const shared = spec().makes_copies && s.copies.read_only(page);
    auto const frame = shared ? read_only(moving.to) : moving.to;
    for (std::uint32_t i = 0; i < spec().iommus; ++i)
      cx.send(move, i, PageMove{.page = page, .frame = frame, .move = number, .step = MoveStep::remap});
  }
  release({moving.from, 0}, s);
  free_number(number, s);
  auto& unit = b.evicting[moving.index];
  if (--unit.pages != 0) return;
  --b.out;
  b.free_evicting.push_back(moving.index);
  report_lifetimes(cx);
}

}  // namespace farfault
