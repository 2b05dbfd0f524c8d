// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/batch_client.hpp"

#include <algorithm>
#include <utility>

#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

namespace {

unsigned block_size(PagingDriverSpec const& spec) {
  return spec.page_bits >= kBlockBits ? 0 : kBlockBits - spec.page_bits;
}

}  // namespace

BatchClient::BatchClient(PagingDriverSpec const& spec)
    : interrupts_(spec.devices.gpus() + 1),
      prefetch_(spec.batch.prefetch.make({spec.page_bits})),
      replay_pending_(spec.devices.gpus()) {
  for (std::uint32_t g = 0; g < spec.devices.gpus(); ++g)
    served_blocks_.emplace_back(spec.page_bits, spec.spaces);
}

std::string BatchClient::waiting_for(PagingDriverSpec const& spec, PagingDriverState const& s) const {
  if (phase_ == BatchPhase::idle) return {};
  if (phase_ == BatchPhase::interrupted)
    return ", an interrupt of " + name_of(spec.names, spec.devices.gpu(interrupts_.front()));
  if (phase_ == BatchPhase::reading)
    return ", the fault buffer of " + name_of(spec.names, device(spec)) + " being read";
  return ", a batch of " + name_of(spec.names, device(spec)) + ": " + std::to_string(pages_.mapped_pages()) +
         " of " + std::to_string(pages_.size()) + " pages mapped, " + std::to_string(pages_.in_transfer()) +
         " in transfer, " + std::to_string(s.memory.frames(gpu_).available()) + " frames free, " +
         std::to_string(s.evictions.units()) + " units being evicted";
}

void BatchClient::order(FaultOrder const& m, DriverTurn& t) const {
  auto to = m;
  to.gpu = device(t.spec);
  t.out.order_faults(static_cast<std::uint32_t>(gpu_), to);
}

void BatchClient::order_replay(FaultReplay::Point point, DriverTurn& t) {
  auto const orders = t.facts.replay.after(point);
  if (orders == FaultReplay::Action::none || replay_pending_[gpu_] == 0) return;
  if (point != FaultReplay::Point::block_mapped) replay_pending_[gpu_] = 0;
  bool const flushes = orders == FaultReplay::Action::flush_and_replay;
  order({0, 0, flushes ? FaultOrderKind::flush_replay : FaultOrderKind::replay, 0}, t);
}

// Selection of the next batch.

void BatchClient::interrupted(FaultInterrupt const& m, DriverTurn& t) {
  interrupts_.push(t.spec.devices.number_of(m.gpu));
  if (phase_ != BatchPhase::idle) return;
  if (t.spec.batch.interrupt_time == Duration::zero()) return next(t);
  phase_ = BatchPhase::interrupted;
  worked_ = t.now + t.spec.batch.interrupt_time;
  t.out.wake_batch(worked_);
}

void BatchClient::entry_arrived(FaultEntry const& m, DriverTurn& t) {
  faults_.add({.page = m.page,
               .raised = m.raised,
               .client = m.client,
               .application = m.application,
               .access = m.access});
  if (faults_.entries() == expected_) begin(t);
}

void BatchClient::drained(FaultsDrained const& m, DriverTurn& t) {
  expected_ = m.entries;
  if (faults_.entries() == expected_) begin(t);
}

void BatchClient::next(DriverTurn& t) {
  phase_ = BatchPhase::idle;
  if (interrupts_.empty()) return;
  auto const gpu = interrupts_.front();
  interrupts_.pop();
  read_buffer(gpu, t);
}

void BatchClient::read_buffer(std::uint64_t gpu, DriverTurn& t) {
  gpu_ = gpu;
  phase_ = BatchPhase::reading;
  faults_.clear();
  expected_ = kUnknown;
  record_ = {};
  record_.gpu = gpu;
  record_.began = t.now;
  auto const retry = static_cast<std::uint8_t>(t.facts.replay.by_page ? 1 : 0);
  order({t.spec.batch.faults, 0, FaultOrderKind::drain, retry}, t);
}

void BatchClient::begin(DriverTurn& t) {
  if (expected_ == 0) {
    order_replay(FaultReplay::Point::buffer_empty, t);
    return next(t);
  }
  phase_ = BatchPhase::serving;
  record_.first_fault = faults_.first_raised();
  record_.raw_faults = faults_.entries();
  record_.clients = faults_.clients();
  worked_ = record_.began + t.spec.batch.time;
  pages_.clear();
  auto const faults = faults_.pages();
  record_.duplicates = faults_.entries() - faults.size();
  auto const size = block_size(t.spec);
  for (auto first = faults.begin(); first != faults.end();) {
    auto const block = first_of(first->page, size);
    auto const last =
        std::find_if(first, faults.end(), [&](auto const& f) { return first_of(f.page, size) != block; });
    plan_block({first, last}, t);
    first = last;
  }
  serve(t);
}

bool BatchClient::may_bring(std::uint64_t page, Access access, DriverTurn const& t) const {
  if (t.s.transitions.is_in_flight(page)) return true;  // checked again when the page has arrived
  return t.s.memory.home(page) ? t.spec.pages_move && !t.s.memory.allows(page, access, device(t.spec))
                               : !t.s.memory.is_unallocated(page);
}

bool BatchClient::may_prefetch(std::uint64_t page, DriverTurn const& t) const {
  if (t.s.transitions.is_in_flight(page)) return false;
  if (auto const home = t.s.memory.home(page))
    return t.spec.pages_move && device_of(home->frame) >= kFirstCpu &&
           !t.s.memory.is_on(page, device(t.spec));
  return !t.s.memory.is_unallocated(page) &&
         std::ranges::any_of(t.spec.buffers, [page](PageRange const& r) { return page - r.first < r.count; });
}

void BatchClient::plan_block(std::span<FaultBatch::Entry const> faults, DriverTurn& t) {
  auto& s = t.s;
  auto const first = first_of(faults[0].page, block_size(t.spec));
  auto const pages = std::uint64_t{1} << block_size(t.spec);
  Prefetcher::Block block;
  std::uint64_t unallocated = 0;
  for (auto const& f : faults) {
    ++s.stats[f.application].page_faults;
    if (may_bring(f.page, f.access, t)) {
      block.faulted.set(f.page - first);
    } else if (auto const home = s.memory.home(f.page)) {
      ++record_.duplicates;
      // Requesters that faulted before the page arrived have been answered; a second answer does no harm. The
      // IOMMU that received the request does not know about copies.
      if (t.facts.replay.by_page || device_of(home->frame) != device(t.spec)) {
        auto const iommu = static_cast<std::uint16_t>(t.spec.iommu_of_gpu[gpu_]);
        s.faults.answer({.page = f.page,
                         .gpu = device(t.spec),
                         .iommu = iommu,
                         .entry = kNoRecord,
                         .kind = FaultKind::not_mapped,
                         .recorded_by_gpu = 1},
                        {}, t);
      }
    } else {
      ++unallocated;
      ++s.stats[f.application].unallocated_faults;
    }
  }
  if (unallocated != faults.size()) replay_pending_[gpu_] = 1;
  if (block.faulted.none()) return;
  for (std::uint64_t p = 0; p < pages; ++p) {
    if (block.faulted[p]) continue;
    block.resident[p] = s.memory.is_on(first + p, device(t.spec)) && !s.transitions.is_in_flight(first + p);
    block.candidates[p] = !block.resident[p] && may_prefetch(first + p, t);
  }
  auto brought = block.faulted | (prefetch_->choose(block) & block.candidates);
  // A prefetched page must not evict pages that were faulted on.
  if (pages_.size() + brought.count() > t.spec.usable_frames()) brought = block.faulted;
  if (std::exchange(served_blocks_[gpu_].of(first), 1) == 0) worked_ += t.spec.batch.first_touch_time;
  auto const faulted = static_cast<std::int64_t>(block.faulted.count());
  auto const prefetched = static_cast<std::int64_t>(brought.count()) - faulted;
  worked_ += t.spec.batch.block_time + faulted * t.spec.batch.page_time +
             prefetched * t.spec.batch.prefetched_page_time;
  auto next = faults.begin();
  for (std::uint64_t p = 0; p < pages; ++p) {
    if (!brought[p]) continue;
    while (next + 1 != faults.end() && next->page < first + p) ++next;
    IncomingPage page;
    page.page = first + p;
    page.worked = worked_;
    page.application = static_cast<std::uint8_t>(next->application);  // prefetched: of the next fault
    page.faulted = block.faulted[p] ? 1 : 0;
    page.writes = page.faulted != 0 && next->access == Access::write ? 1 : 0;
    pages_.set_local(page, page.faulted != 0 && s.memory.is_on(page.page, device(t.spec)));
    pages_.add(page);
  }
  pages_.end_block(brought.count());
}

// Progress of the batch.

void BatchClient::worked(DriverTurn& t) {
  if (phase_ == BatchPhase::interrupted && worked_ <= t.now) return next(t);
  serve(t);
}

void BatchClient::serve(DriverTurn& t) {
  t.s.programs.start_pages(t);
  if (phase_ != BatchPhase::serving) return;
  for (bool more = true; more;) {
    begin_pages(t);
    more = admit_pages(t);
    more = t.s.evictions.evict(t) || more;
    more = t.s.evictions.drop_prefetched(t) || more;
  }
  bool const all = pages_.all_mapped();
  if (all && t.s.evictions.units() == 0 && worked_ <= t.now) return end(t);
  auto const next = all ? worked_ : pages_.next_worked();
  if (next <= t.now || next == timer_) return;
  timer_ = next;
  t.out.wake_batch(next);
}

void BatchClient::begin_pages(DriverTurn& t) {
  auto& s = t.s;
  auto const kept = s.evictions.pages_of_unit();
  while (auto* const next = pages_.to_begin()) {
    if (s.transitions.free() <= kept || s.transitions.is_in_flight(next->page)) return;
    auto& page = *next;
    auto const number = pages_.begin_next();
    auto const home = s.memory.home(page.page);
    auto const access = page.writes != 0 ? Access::write : Access::read;
    auto const action = home ? s.memory.decide(page.page, *home, device(t.spec), access, FaultKind::remote)
                             : PageAction::move_here;
    // A program was faster, or the page is accessed where it is.
    if (home ? action == PageAction::stay : s.memory.is_unallocated(page.page)) {
      pages_.set_local(page, false);
      if (home && t.facts.replay.by_page) s.faults.answer(fault_of(page, t), {}, t);
      page_mapped(page, t);
      continue;
    }
    pages_.set_local(page, s.memory.is_on(page.page, device(t.spec)));  // it may have been evicted since
    PageInFlight p;
    p.request = fault_of(page, t);
    p.transition = transition_to(goal_of(action), s.memory.state_of(page.page));
    p.client = PagingClient::batch;
    p.tag = number;
    p.consents = 1;
    p.answers = t.facts.replay.by_page ? 1 : 0;
    p.confirms = !home || !t.facts.replay.by_page ? 1 : 0;
    if (home)
      p.from = home->frame;
    else
      p.fetches = t.spec.first_touch_copy && s.memory.host_wrote(page.page) ? 1 : 0;
    page.stage = IncomingPage::Stage::unmapping;
    auto const stays = takes(p.transition, PageStep::invalidate)
                           ? remaining_residency(page.page, home->frame, t)
                           : Duration::zero();
    t.begin(p, stays);
  }
}

// A batch of another GPU may begin just after accesses to the page have been replayed.
Duration BatchClient::remaining_residency(std::uint64_t page, PhysAddr frame, DriverTurn const& t) const {
  bool const on_gpu =
      device_of(frame) < kFirstCpu || (t.spec.makes_copies && t.s.memory.copies().latest(page));
  auto const arrived = t.s.evictions.latest_arrival(page);
  if (t.facts.replay.by_page || !on_gpu || arrived == Time{}) return Duration::zero();
  return std::max(Duration::zero(), arrived + t.spec.batch.least_stay - t.now);
}

bool BatchClient::next_needs_frame(Time now) const {
  auto const* next = pages_.to_pass();
  return next != nullptr && next->stage == IncomingPage::Stage::ready && next->worked <= now;
}

bool BatchClient::admit_pages(DriverTurn& t) {
  auto& s = t.s;
  bool admitted = false;
  for (; auto* const next = pages_.to_pass(); pages_.pass_next()) {
    auto& page = *next;
    if (page.stage == IncomingPage::Stage::mapped) continue;
    if (page.stage != IncomingPage::Stage::ready || page.worked > t.now) break;
    bool const needs_frame = page.is_local == 0;
    if (needs_frame && (s.memory.frames(gpu_).empty() || !s.evictions.reads_in(t))) break;
    if (needs_frame && s.relocations.awaits_large_frame(page.page, device(t.spec), page.application, t))
      break;
    admitted = true;
    pages_.admit(page);
    if (needs_frame) {
      if (page.faulted == 0) ++s.stats[page.application].prefetched_pages;
      ++(page.faulted != 0 ? record_.faulted_pages : record_.prefetched_pages);
      if (page.faulted != 0) s.evictions.returns(page.page, t);
    }
    auto const number = s.transitions.number_of(page.page);
    s.transitions.admit(number);
    t.run(number);
  }
  return admitted;
}

void BatchClient::transfer_begins(DriverTurn& t) {
  pages_.transfer_begins();
  record_.first_transfer = std::min(record_.first_transfer, t.now);
  record_.bytes_in += t.spec.page_bytes();
}

// The contents are on the GPU.
void BatchClient::changed(PageInFlight const& page, DriverTurn& t) {
  auto& incoming = pages_[page.tag];
  t.s.evictions.arrived(page, incoming.is_local != 0, t);
  if (page.copied != 0) pages_.transfer_ends();
  bool const leaves = !adds_copy(page.transition) && page.from != kNoFrame && page.from != page.to;
  if (leaves) t.s.evictions.left(page.page(), device_of(page.from), t);
  if (page.confirms != 0) incoming.stage = IncomingPage::Stage::mapping;
}

// With replay by page, the answer has informed all requesters that wait for the page.
void BatchClient::ended(PageInFlight const& done, DriverTurn& t) {
  auto& page = pages_[done.tag];
  pages_.arrived(page);
  page_mapped(page, t);
}

void BatchClient::page_mapped(IncomingPage& page, DriverTurn& t) {
  if (pages_.mapped(page)) order_replay(FaultReplay::Point::block_mapped, t);
}

void BatchClient::keep_next(DriverTurn& t) {
  auto& page = *pages_.to_pass();
  auto const number = t.s.transitions.number_of(page.page);
  page.stage = IncomingPage::Stage::mapped;
  pages_.pass_next();
  t.s.transitions.restore(number);
  t.run(number);
}

void BatchClient::end(DriverTurn& t) {
  order_replay(FaultReplay::Point::served, t);
  record_.ended = t.now;
  t.s.work.batch_ended(record_.ended - record_.began);
  record_.blocks = pages_.blocks();
  t.s.counts.add(record_);
  t.s.records.batch_served(record_);
  t.s.evictions.report_lifetimes(t);
  // If accesses are replayed only when the buffer is empty, this GPU's buffer is read until then, so that no
  // other GPU's batch takes its pages earlier.
  bool const replays_when_empty = t.facts.replay.buffer_empty != FaultReplay::Action::none;
  if (replays_when_empty && replay_pending_[gpu_] != 0) return read_buffer(gpu_, t);
  interrupts_.push(static_cast<std::uint32_t>(gpu_));
  next(t);
}

// The fault that the page's answer refers to.
PageFault BatchClient::fault_of(IncomingPage const& page, DriverTurn const& t) const {
  auto const iommu = static_cast<std::uint16_t>(t.spec.iommu_of_gpu[gpu_]);
  return {.page = page.page,
          .gpu = device(t.spec),
          .iommu = iommu,
          .entry = kNoRecord,
          .kind = FaultKind::moving,
          .recorded_by_gpu = 1,
          .application = page.application};
}

}  // namespace farfault
