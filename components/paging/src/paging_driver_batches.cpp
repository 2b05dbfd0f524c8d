// SPDX-License-Identifier: Apache-2.0
// Batches of faults.
//
// - A GPU's GMMU interrupts the driver at the first entry of its fault buffer. An idle driver starts
//   `batch.interrupt_time` later, reads up to `batch.faults` entries, merges entries of one page, and
//   processes the faulted 2 MiB VA blocks in address order.
// - Driver time: `batch.time` before the first block; per block `block_time`, `page_time` per faulted page
//   and `prefetched_page_time` per prefetched page, plus `first_touch_time` in the first batch of the block
//   on this GPU.
// - After a block is processed, its pages migrate in order. Each starts when no IOMMU and no GPU maps it and
//   it has a frame on the GPU. Copies overlap at the copy engine. A page without contents arrives
//   immediately.
// - The batch ends when all its pages are mapped and all evictions are complete. The buffers of GPUs that
//   have interrupted are read next, then this GPU's again; this GPU's first if its accesses are replayed when
//   its buffer is empty. A buffer that is found empty interrupts at its next entry.
// - Faults on pages that have become resident are duplicates.
#include <algorithm>
#include <span>

#include "farfault/paging/paging_driver.hpp"

namespace farfault {

namespace {

// Answers a fault without ending a record of a GPU.
constexpr std::uint32_t kNoRecord = ~0U;

}  // namespace

BatchState PagingDriver::initial_batches() const {
  auto const& p = spec().batch;
  auto const gpus = spec().devices.gpus();
  BatchState b;
  b.interrupts = Ring<std::uint32_t>(gpus + 1);
  b.unmapped = Ring<std::uint32_t>(spec().params.migrations);
  b.replay = p.replay.make({});
  b.prefetch = p.prefetch.make({spec().page_bits});
  b.schedule = p.eviction_schedule.make({});
  b.of_page = PageRecords<PagedPage>(spec().page_bits, spec().spaces);
  for (std::uint32_t g = 0; g < gpus; ++g) {
    b.orders.add(p.eviction_order.make({spec().page_bits, spec().spaces}));
    b.served_blocks.emplace_back(spec().page_bits, spec().spaces);
    b.residency.emplace_back(spec().page_bits, spec().spaces);
  }
  b.gpus.resize(gpus);
  return b;
}

std::string PagingDriver::waiting_batch() const {
  auto const& s = state();
  auto const& b = s.batch;
  if (b.phase == BatchPhase::idle) return {};
  if (b.phase == BatchPhase::interrupted)
    return ", an interrupt of " + name_of(spec().names, spec().devices.gpu(b.interrupts.front()));
  if (b.phase == BatchPhase::reading)
    return ", the fault buffer of " + name_of(spec().names, batch_gpu(s)) + " being read";
  return ", a batch of " + name_of(spec().names, batch_gpu(s)) + ": " + std::to_string(b.mapped_pages) +
         " of " + std::to_string(b.pages.size()) + " pages mapped, " + std::to_string(b.in) +
         " in transfer, " + std::to_string(s.frames[b.gpu].available()) + " frames free, " +
         std::to_string(b.evicting.size() - b.free_evicting.size()) + " units being evicted";
}

void PagingDriver::order(std::uint32_t gpu, FaultOrder const& m, Cx& cx) const {
  auto to = m;
  to.gpu = spec().devices.gpu(gpu);
  cx.send(to_gpus, spec().iommu_of_gpu[gpu], Packet::of(to));
}

void PagingDriver::order_replay(FaultReplay::Point point, Cx& cx) const {
  auto& b = cx.state().batch;
  auto const orders = b.replay->after(point);
  if (orders == FaultReplay::Action::none || b.gpus[b.gpu].replay_pending == 0) return;
  if (point != FaultReplay::Point::block_mapped) b.gpus[b.gpu].replay_pending = 0;
  bool const flushes = orders == FaultReplay::Action::flush_and_replay;
  order(static_cast<std::uint32_t>(b.gpu),
        {0, 0, flushes ? FaultOrderKind::flush_replay : FaultOrderKind::replay, 0}, cx);
}

void PagingDriver::on_interrupt(FaultInterrupt const& m, Cx& cx) const {
  auto& b = cx.state().batch;
  b.interrupts.push(spec().devices.number_of(m.gpu));
  if (b.phase != BatchPhase::idle) return;
  if (spec().batch.interrupt_time == Duration::zero()) return next_batch(cx);
  b.phase = BatchPhase::interrupted;
  b.worked = cx.now() + spec().batch.interrupt_time;
  cx.wake_at(worked, Tick{}, b.worked);
}

void PagingDriver::on_entry(FaultEntry const& m, Cx& cx) const {
  auto& b = cx.state().batch;
  b.faults.add({.page = m.page,
                .raised = m.raised,
                .client = m.client,
                .application = m.application,
                .access = m.access});
  if (b.faults.entries() == b.expected) begin_batch(cx);
}

void PagingDriver::on_drained(FaultsDrained const& m, Cx& cx) const {
  auto& b = cx.state().batch;
  b.expected = m.entries;
  if (b.faults.entries() == b.expected) begin_batch(cx);
}

void PagingDriver::next_batch(Cx& cx) const {
  auto& b = cx.state().batch;
  b.phase = BatchPhase::idle;
  if (b.interrupts.empty()) return;
  auto const gpu = b.interrupts.front();
  b.interrupts.pop();
  read_buffer(gpu, cx);
}

void PagingDriver::read_buffer(std::uint64_t gpu, Cx& cx) const {
  auto& b = cx.state().batch;
  b.gpu = gpu;
  b.phase = BatchPhase::reading;
  b.faults.clear();
  b.expected = BatchState::kUnknown;
  b.record = {};
  b.record.gpu = b.gpu;
  b.record.began = cx.now();
  bool const by_page = b.replay->by_page();
  order(static_cast<std::uint32_t>(b.gpu),
        {spec().batch.faults, 0, FaultOrderKind::drain, static_cast<std::uint8_t>(by_page ? 1 : 0)}, cx);
}

void PagingDriver::begin_batch(Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  if (b.expected == 0) {
    order_replay(FaultReplay::Point::buffer_empty, cx);
    return next_batch(cx);
  }
  b.phase = BatchPhase::serving;
  b.record.first_fault = b.faults.first_raised();
  b.record.raw_faults = b.faults.entries();
  b.record.clients = b.faults.clients();
  b.worked = b.record.began + spec().batch.time;
  b.pages.clear();
  b.block_left.clear();
  b.begun = b.sent = b.mapped_pages = b.transferring = b.in_place = 0;
  auto const faults = b.faults.pages();
  b.record.duplicates = b.faults.entries() - faults.size();
  for (auto first = faults.begin(); first != faults.end();) {
    auto const block = first_of(first->page, block_size());
    auto const last = std::find_if(first, faults.end(),
                                   [&](auto const& f) { return first_of(f.page, block_size()) != block; });
    plan_block({first, last}, cx);
    first = last;
  }
  serve(cx);
}

bool PagingDriver::may_migrate_in(std::uint64_t page, Access access, PagingDriverState const& s) const {
  if (is_in_flight(page, s)) return true;  // checked again when the page has arrived
  auto const found = s.table.find_mapped(page);
  return found ? spec().pages_move && !may_access(page, access, batch_gpu(s), s) : !is_unallocated(page);
}

bool PagingDriver::may_be_prefetched(std::uint64_t page, PagingDriverState const& s) const {
  if (is_in_flight(page, s)) return false;
  if (auto const found = s.table.find_mapped(page))
    return spec().pages_move && device_of(found->frame) >= kFirstCpu && !is_on(page, batch_gpu(s), s);
  return !is_unallocated(page) &&
         std::ranges::any_of(spec().buffers, [page](PageRange const& r) { return page - r.first < r.count; });
}

// Plans the pages of a block that migrate, and the end of the driver's work on it.
void PagingDriver::plan_block(std::span<FaultBatch::Entry const> faults, Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto const first = first_of(faults[0].page, block_size());
  auto const pages = std::uint64_t{1} << block_size();
  Prefetcher::Block block;
  std::uint64_t unallocated = 0;
  for (auto const& f : faults) {
    ++s.stats[f.application].page_faults;
    if (may_migrate_in(f.page, f.access, s)) {
      block.faulted.set(f.page - first);
    } else if (auto const found = s.table.find_mapped(f.page)) {
      ++b.record.duplicates;
      // Requesters that faulted before the page arrived have been answered; a second answer does no harm. The
      // IOMMU that received the request does not know about copies.
      if (b.replay->by_page() || device_of(found->frame) != batch_gpu(s))
        respond_local({.page = f.page,
                       .gpu = batch_gpu(s),
                       .iommu = static_cast<std::uint16_t>(spec().iommu_of_gpu[b.gpu]),
                       .entry = kNoRecord,
                       .kind = FaultKind::not_mapped,
                       .recorded_by_gpu = 1},
                      cx);
    } else {
      ++unallocated;
      ++s.stats[f.application].unallocated_faults;
    }
  }
  if (unallocated != faults.size()) b.gpus[b.gpu].replay_pending = 1;
  if (block.faulted.none()) return;
  for (std::uint64_t p = 0; p < pages; ++p) {
    if (block.faulted[p]) continue;
    block.resident[p] = is_on(first + p, batch_gpu(s), s) && !is_in_flight(first + p, s);
    block.candidates[p] = !block.resident[p] && may_be_prefetched(first + p, s);
  }
  auto transferring = block.faulted | (b.prefetch->choose(block) & block.candidates);
  // A prefetched page must not evict pages that were faulted on.
  if (b.pages.size() + transferring.count() > spec().usable_frames()) transferring = block.faulted;
  auto& seen = b.served_blocks[b.gpu].of(first).served;
  if (seen == 0) b.worked += spec().batch.first_touch_time;
  seen = 1;
  auto const faulted = static_cast<std::int64_t>(block.faulted.count());
  auto const prefetched = static_cast<std::int64_t>(transferring.count()) - faulted;
  b.worked += spec().batch.block_time + faulted * spec().batch.page_time +
              prefetched * spec().batch.prefetched_page_time;
  auto next = faults.begin();
  for (std::uint64_t p = 0; p < pages; ++p) {
    if (!transferring[p]) continue;
    while (next + 1 != faults.end() && next->page < first + p) ++next;
    IncomingPage page;
    page.page = first + p;
    page.worked = b.worked;
    page.block = static_cast<std::uint32_t>(b.block_left.size());
    page.application = static_cast<std::uint8_t>(next->application);  // prefetched: of the next fault
    page.faulted = block.faulted[p] ? 1 : 0;
    page.writes = page.faulted != 0 && next->access == Access::write ? 1 : 0;
    page.is_local = page.faulted != 0 && is_on(page.page, batch_gpu(s), s) ? 1 : 0;
    b.in_place += page.is_local;
    b.pages.push_back(page);
  }
  b.block_left.push_back(static_cast<std::uint32_t>(transferring.count()));
}

void PagingDriver::on_worked(Tick const&, Cx& cx) const {
  auto const& b = cx.state().batch;
  if (b.phase == BatchPhase::interrupted && b.worked <= cx.now()) return next_batch(cx);
  serve(cx);
}

// Starts as many migrations and evictions as possible.
void PagingDriver::serve(Cx& cx) const {
  auto& b = cx.state().batch;
  continue_orders(cx);
  if (b.phase != BatchPhase::serving) return;
  for (bool more = true; more;) {
    begin_pages(cx);
    more = send_pages(cx);
    more = evict(cx) || more;
    more = drop_prefetched(cx) || more;
  }
  bool const all = all_pages_mapped(b);
  bool const some_evicted = b.free_evicting.size() != b.evicting.size();
  if (all && !some_evicted && b.worked <= cx.now()) return end_batch(cx);
  auto const next = all ? b.worked : b.sent < b.pages.size() ? b.pages[b.sent].worked : Time{};
  if (next <= cx.now() || next == b.work_timer) return;
  b.work_timer = next;
  cx.wake_at(worked, Tick{}, next);
}

// Assigns numbers to the next pages and unmaps them. Numbers for one eviction unit stay in reserve.
void PagingDriver::begin_pages(Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto const kept = std::size_t{1} << unit_size();
  for (; b.begun < b.pages.size() && s.free_moves.size() > kept; ++b.begun) {
    auto& page = b.pages[b.begun];
    if (is_in_flight(page.page, s)) return;
    auto const found = s.table.find_mapped(page.page);
    auto const access = page.writes != 0 ? Access::write : Access::read;
    // A program was faster, or the page was only moved within another GPU's memory and is accessed there.
    if (found ? !spec().pages_move || may_access(page.page, access, batch_gpu(s), s)
              : is_unallocated(page.page)) {
      page.stage = IncomingPage::Stage::mapped;
      b.in_place -= page.is_local;
      if (found && b.replay->by_page()) respond_local(fault_of(page, s), cx);
      ++b.mapped_pages;
      if (--b.block_left[page.block] == 0) order_replay(FaultReplay::Point::block_mapped, cx);
      continue;
    }
    b.in_place -= page.is_local;  // it may have been evicted since
    page.is_local = is_on(page.page, batch_gpu(s), s) ? 1 : 0;
    b.in_place += page.is_local;
    auto const number = take_number(page.page, s);
    auto& moving = s.moves[number];
    moving = {};
    moving.fault = fault_of(page, s);
    moving.from = found ? found->frame : kNoFrame;
    moving.started = cx.now();
    moving.in_use = 1;
    moving.role = PageMigration::Role::incoming;
    moving.index = static_cast<std::uint32_t>(b.begun);
    page.mapped = found ? 1 : 0;
    page.copies = found && spec().makes_copies && page.writes == 0 ? 1 : 0;
    if (page.copies != 0) moving.change = PageMigration::Change::copy;
    // A read-only page can be copied again without unmapping it.
    bool const unmaps = found && (page.copies == 0 || !s.copies.read_only(page.page));
    page.stage = unmaps ? IncomingPage::Stage::unmapping : IncomingPage::Stage::ready;
    if (unmaps)
      notify_iommus(number, MoveStep::unmap, remaining_residency(page.page, found->frame, s, cx.now()), cx);
  }
}

// A batch of another GPU may begin just after accesses to the page have been replayed.
Duration PagingDriver::remaining_residency(std::uint64_t page, PhysAddr frame, PagingDriverState const& s,
                                           Time now) const {
  bool const on_gpu = device_of(frame) < kFirstCpu || (spec().makes_copies && s.copies.latest(page));
  auto const* record = s.batch.of_page.find(page);
  if (s.batch.replay->by_page() || !on_gpu || record == nullptr || record->arrived == Time{})
    return Duration::zero();
  return std::max(Duration::zero(), record->arrived + spec().batch.least_stay - now);
}

// True if a page has received a frame or needs none.
bool PagingDriver::send_pages(Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  bool sent = false;
  for (; b.sent < b.begun; ++b.sent) {
    auto& page = b.pages[b.sent];
    if (page.stage == IncomingPage::Stage::mapped) continue;
    if (page.stage != IncomingPage::Stage::ready || page.worked > cx.now()) break;
    bool const needs_frame = page.is_local == 0;
    if (needs_frame && (pool(batch_gpu(s), s).empty() || !b.schedule->reads_in(snapshot(s, cx.now())))) break;
    if (needs_frame && awaits_large_frame(page.page, batch_gpu(s), page.application, cx)) break;
    sent = true;
    ++b.transferring;
    auto const number = s.batch.of_page.of(page.page).move - 1;
    auto& moving = s.moves[number];
    if (!needs_frame) {
      --b.in_place;
      page.stage = IncomingPage::Stage::transferring;
      page_transferred(number, cx);
      continue;
    }
    moving.to = take(page.page, 0, batch_gpu(s), s).frame;
    page.stage = IncomingPage::Stage::transferring;
    if (page.faulted == 0) ++s.stats[page.application].prefetched_pages;
    ++(page.faulted != 0 ? b.record.faulted_pages : b.record.prefetched_pages);
    if (page.faulted != 0 && b.residency[b.gpu].of(page.page).evictions != 0) {
      ++b.counts.premature_evictions;
      ++b.lifetimes.premature;
    }
    bool const fetches =
        page.mapped == 0 && spec().first_touch_copy && host_wrote(page.page) && !s.cpu_frames->empty();
    if (fetches) moving.from = take(page.page, 0, spec().devices.cpu(), s).frame;
    if (moving.from == kNoFrame) {
      page_transferred(number, cx);
      continue;
    }
    ++b.in;
    b.record.first_transfer = std::min(b.record.first_transfer, cx.now());
    b.record.bytes_in += page_bytes();
    order_copy(batch_gpu(s), moving.from, moving.to, page_bytes(), number, page.application, Duration::zero(),
               cx);
  }
  return sent;
}

// The contents are on the GPU. With replay by page, the answer informs all requesters that wait for the page.
void PagingDriver::page_transferred(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto& moving = s.moves[number];
  auto& page = b.pages[moving.index];
  auto& counts = s.stats[page.application];
  if (page.copies != 0) return copy_transferred(number, cx);
  auto const gpu = batch_gpu(s);
  map_page(page.page, {moving.to, 0}, cx);
  resident(page.page, gpu, s);
  auto& residency = b.residency[b.gpu].of(page.page);
  if (page.is_local == 0) residency.arrived = b.of_page.of(page.page).arrived = cx.now();
  residency.application = page.application;
  // Data written on another GPU reaches CPU memory only by an eviction.
  if (moving.from != moving.to)
    residency.dirty = moving.from != kNoFrame && device_of(moving.from) < kFirstCpu ? 1 : 0;
  if (moving.from != kNoFrame && page.is_local == 0) --b.in;
  if (moving.from != kNoFrame && moving.from != moving.to) {
    release({moving.from, 0}, s);
    if (page.mapped != 0) not_resident(page.page, device_of(moving.from), s);
  }
  if (page.mapped != 0 && moving.from != moving.to) {
    ++counts.migrations;
    counts.migration_ps += static_cast<std::uint64_t>(picoseconds(cx.now() - moving.started));
    s.records.push_back({.page = page.page,
                         .from = moving.from,
                         .to = moving.to,
                         .started = moving.started,
                         .unmapped = moving.unmapped,
                         .finished = cx.now(),
                         .application = page.application});
  } else if (page.mapped == 0) {
    ++counts.pages_mapped;
    s.first_touches.push_back({.page = page.page,
                               .frame = moving.to,
                               .mapped = cx.now(),
                               .gpu = gpu,
                               .application = page.application});
  }
  if (page.mapped == 0 || !b.replay->by_page()) {
    page.stage = IncomingPage::Stage::mapping;
    return notify_iommus(number, MoveStep::map, Duration::zero(), cx);
  }
  for (std::uint32_t i = 0; i < spec().iommus; ++i)
    cx.send(move, i,
            PageMove{.page = page.page, .frame = moving.to, .move = number, .step = MoveStep::remap});
  page_mapped(number, cx);
}

void PagingDriver::page_mapped(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto const moving = s.moves[number];
  auto& page = b.pages[moving.index];
  if (b.replay->by_page()) respond_local(moving.fault, cx);
  page.stage = IncomingPage::Stage::mapped;
  free_number(number, s);
  ++b.mapped_pages;
  --b.transferring;
  if (--b.block_left[page.block] == 0) order_replay(FaultReplay::Point::block_mapped, cx);
}

void PagingDriver::end_batch(Cx& cx) const {
  auto& b = cx.state().batch;
  order_replay(FaultReplay::Point::served, cx);
  b.record.ended = cx.now();
  cx.state().busy_ps += static_cast<std::uint64_t>(picoseconds(b.record.ended - b.record.began));
  b.record.blocks = b.block_left.size();
  ++b.counts.batches;
  b.counts.raw_faults += b.record.raw_faults;
  b.counts.duplicates += b.record.duplicates;
  b.records.push_back(b.record);
  report_lifetimes(cx);
  // If accesses are replayed only when the buffer is empty, this GPU's buffer is read until then, so that no
  // other GPU's batch takes its pages earlier.
  bool const replays_when_empty =
      b.replay->after(FaultReplay::Point::buffer_empty) != FaultReplay::Action::none;
  if (replays_when_empty && b.gpus[b.gpu].replay_pending != 0) return read_buffer(b.gpu, cx);
  b.interrupts.push(static_cast<std::uint32_t>(b.gpu));
  next_batch(cx);
}

void PagingDriver::report_lifetimes(Cx& cx) const {
  auto& b = cx.state().batch;
  if (spec().reports_lifetimes && b.lifetimes.pages + b.lifetimes.premature != 0)
    cx.send(lifetimes, static_cast<std::uint32_t>(b.gpu), b.lifetimes);
  b.lifetimes = {};
}

// The fault that the page's answer refers to.
PageFault PagingDriver::fault_of(IncomingPage const& page, PagingDriverState const& s) const {
  return {.page = page.page,
          .gpu = batch_gpu(s),
          .iommu = static_cast<std::uint16_t>(spec().iommu_of_gpu[s.batch.gpu]),
          .entry = kNoRecord,
          .kind = FaultKind::moving,
          .recorded_by_gpu = 1,
          .application = page.application};
}

bool PagingDriver::all_pages_mapped(BatchState const& b) {
  return b.mapped_pages == b.pages.size();
}

bool PagingDriver::is_in_flight(std::uint64_t page, PagingDriverState const& s) const {
  auto const* record = s.batch.of_page.find(page);
  return record != nullptr && record->move != 0;
}

std::uint32_t PagingDriver::take_number(std::uint64_t page, PagingDriverState& s) const {
  auto const number = s.free_moves.back();
  s.free_moves.pop_back();
  if (spec().in_batches && page != FrameAllocator::kUnownedPage) s.batch.of_page.of(page).move = number + 1;
  return number;
}

void PagingDriver::free_number(std::uint32_t number, PagingDriverState& s) const {
  auto const page = s.moves[number].fault.page;
  if (spec().in_batches && page != FrameAllocator::kUnownedPage) s.batch.of_page.of(page).move = 0;
  s.moves[number] = {};
  s.free_moves.push_back(number);
}

}  // namespace farfault
