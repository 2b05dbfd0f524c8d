// SPDX-License-Identifier: Apache-2.0
// Reading of a buffer, and progress of a batch.
#include "farfault/paging/batch_worker.hpp"

#include <algorithm>
#include <utility>

#include "farfault/paging/block_locks.hpp"
#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

std::string BatchWorker::waiting_for(PagingDriverSpec const& spec, PagingDriverState const& s) const {
  auto const name = name_of(spec.names, device(spec));
  switch (phase_) {
    case BatchPhase::idle:
      return {};
    case BatchPhase::interrupted:
      return ", an interrupt of " + name;
    case BatchPhase::reading:
      return ", the fault buffer of " + name + " being read";
    case BatchPhase::serving:
      break;
  }
  return ", a batch of " + name + ": " + std::to_string(pages_.mapped_pages()) + " of " +
         std::to_string(pages_.size()) + " pages mapped, " + std::to_string(pages_.in_transfer()) +
         " in transfer, " + std::to_string(s.memory.frames(gpu_).available()) + " frames free, " +
         std::to_string(s.evictions.units(gpu_)) + " units being evicted";
}

void BatchWorker::order(FaultOrder const& m, DriverTurn& t) const {
  auto to = m;
  to.gpu = device(t.spec);
  t.out.to_gpu(static_cast<std::uint32_t>(gpu_), Packet::of(to));
}

void BatchWorker::order_replay(FaultReplay::Point point, DriverTurn& t) {
  auto& pending = t.s.batch.of_gpu(gpu_).replay_pending;
  auto const orders = t.facts.replay.after(point);
  if (orders == FaultReplay::Action::none || pending == 0) return;
  if (point != FaultReplay::Point::block_mapped) pending = 0;
  bool const flushes = orders == FaultReplay::Action::flush_and_replay;
  order({0, 0, flushes ? FaultOrderKind::flush_replay : FaultOrderKind::replay, 0}, t);
  if (t.spec.pages_stay_for_replay()) t.s.batch.of_gpu(gpu_).stays.replayed(t.now + t.spec.batch.least_stay);
}

void BatchWorker::take(std::uint64_t gpu, Duration after, DriverTurn& t) {
  gpu_ = gpu;
  if (after == Duration::zero()) return read_buffer(t);
  phase_ = BatchPhase::interrupted;
  work_begins_ = t.now + after;
  t.out.wake_batch(work_begins_);
}

bool BatchWorker::read_when_due(DriverTurn& t) {
  bool const is_due = phase_ == BatchPhase::interrupted && work_begins_ <= t.now;
  if (is_due) read_buffer(t);
  return is_due;
}

void BatchWorker::read_buffer(DriverTurn& t) {
  phase_ = BatchPhase::reading;
  faults_.clear();
  expected_ = kUnknown;
  record_ = {};
  record_.gpu = gpu_;
  record_.began = t.now;
  auto const retry = static_cast<std::uint8_t>(t.facts.replay.by_page ? 1 : 0);
  order({t.spec.batch.faults, 0, FaultOrderKind::drain, retry}, t);
}

bool BatchWorker::serve(DriverTurn& t) {
  bool served = false;
  for (bool more = true; more; served = served || more) {
    more = begin_pages(t);
    more = admit_pages(t) || more;
    more = t.s.evictions.evict(*this, t) || more;
    more = t.s.evictions.drop_prefetched(*this, t) || more;
  }
  return served;
}

bool BatchWorker::is_complete(DriverTurn const& t) const {
  return pages_.all_mapped() && t.s.evictions.units(gpu_) == 0 && work_ends() <= t.now;
}

void BatchWorker::wake_for_work(DriverTurn& t) {
  auto next = pages_.all_mapped() ? work_ends() : pages_.next_worked();
  if (next <= t.now && t.s.evictions.lacks_victim(gpu_)) next = pages_.next_worked_after(t.now);
  if (next <= t.now || next == timer_) return;
  timer_ = next;
  t.out.wake_batch(next);
}

PageAction BatchWorker::decide(IncomingPage const& page, std::optional<PageTranslation> const& home,
                               DriverTurn& t) const {
  if (!home) return PageAction::move_here;
  auto& memory = t.s.memory;
  auto const access = page.writes != 0 ? Access::write : Access::read;
  if (page.waits_for_replay == 0)
    return memory.decide(page.page, *home, device(t.spec), access, FaultKind::remote, page.faulted == 0);
  return memory.allows(page.page, access, device(t.spec), *home) ? PageAction::stay : page.decided;
}

bool BatchWorker::begin_pages(DriverTurn& t) {
  auto& s = t.s;
  bool passed = false;
  auto const kept = s.evictions.pages_of_unit();
  while (auto* const next = pages_.to_begin()) {
    if (s.transitions.free() <= kept || s.transitions.is_in_flight(next->page)) return passed;
    auto& page = *next;
    auto const home = s.memory.home(page.page);
    auto const action = decide(page, home, t);
    bool const is_here = s.memory.is_on(page.page, device(t.spec));  // it may have been evicted since
    bool const is_remote =
        t.spec.gpus_end_walks && page.faulted != 0 && home && action == PageAction::stay && !is_here;
    if (!is_remote && is_skipped(page, home, action, t)) {
      pages_.begin_next();
      pages_.set_local(page, false);
      bool const answers = home && (is_here || !t.spec.gpus_end_walks);
      if (answers && t.facts.replay.by_page) answer(fault_of(page, t), page.size, t);
      page_mapped(page, t);
      passed = t.spec.pages_stay_for_replay();
      continue;
    }
    auto const transition =
        is_remote ? Transition::map_remotely : transition_to(goal_of(action), s.memory.state_of(page.page));
    bool const moves = takes(transition, PageStep::invalidate);
    if (moves && is_throttled(page.page, t)) {
      pages_.begin_next();
      pages_.set_local(page, false);
      t.s.batch.thrashing().throttle();
      page_mapped(page, t);
      passed = true;
      continue;
    }
    auto const stay_ends = moves ? stays_until(page.page, t) : Time{};
    if (stay_ends == Time::max()) {
      page.decided = action;
      return std::exchange(page.waits_for_replay, std::uint8_t{1}) == 0 || passed;
    }
    pages_.set_local(page, is_here || is_remote);
    PageInFlight p;
    p.request = fault_of(page, t);
    p.transition = transition;
    p.client = PagingClient::batch;
    p.tag = pages_.begin_next();
    p.size = page.size;
    p.consents = 1;
    p.answers = t.facts.replay.by_page ? 1 : 0;
    p.confirms = !home || !t.facts.replay.by_page ? 1 : 0;
    if (home)
      p.from = home->frame;
    else
      p.fetches = t.spec.first_touch_copy && s.memory.host_wrote(page.page) ? 1 : 0;
    page.stage = IncomingPage::Stage::unmapping;
    t.begin(p, std::max(Duration::zero(), stay_ends - t.now));
  }
  return passed;
}

std::uint64_t BatchWorker::needed_frames(DriverTurn const& t) const {
  if (t.spec.gpus_end_walks && t.facts.decision.stays_at_faults) return pages_.frames_for_begun();
  return t.spec.large.any() ? pages_.needed_base_frames() : pages_.needed_frames();
}

bool BatchWorker::is_skipped(IncomingPage const& page, std::optional<PageTranslation> const& home,
                             PageAction action, DriverTurn const& t) const {
  if (!home) return t.s.memory.is_unallocated(page.page);
  bool const left_cpu = page.faulted == 0 && device_of(home->frame) < kFirstCpu;
  return action == PageAction::stay || left_cpu;
}

bool BatchWorker::is_throttled(std::uint64_t page, DriverTurn const& t) const {
  if (!t.spec.detects_thrashing()) return false;
  auto const gpu = t.s.batch.thrashing().stays_on(page, t.now, t.spec.batch.thrashing());
  return gpu && t.s.memory.is_on(page, t.spec.devices.gpu(static_cast<std::uint32_t>(*gpu)));
}

// A batch of another GPU may begin just after accesses to the page have been replayed.
Time BatchWorker::stays_until(std::uint64_t page, DriverTurn const& t) const {
  if (t.spec.pages_stay_for_replay()) return t.s.batch.stays_until(*this, page, t);
  // With replay by page, stalled accesses have the new frame. Those without an entry in a full fault buffer
  // fault again.
  bool const may_leave = t.facts.replay.by_page && !t.spec.batches_compete();
  auto const arrived = may_leave ? Time{} : t.s.evictions.latest_arrival(page, gpu_, t);
  return arrived == Time{} ? Time{} : arrived + t.spec.batch.least_stay;
}

bool BatchWorker::lacks_frame(DriverTurn const& t) const {
  auto const* next = pages_.to_pass();
  return next != nullptr && next->stage == IncomingPage::Stage::ready && pages_.worked(*next) <= t.now &&
         !t.s.memory.has_frame(next->size, device(t.spec));
}

bool BatchWorker::admit_pages(DriverTurn& t) {
  auto& s = t.s;
  bool admitted = false;
  for (; auto* const next = pages_.to_pass(); pages_.pass_next()) {
    auto& page = *next;
    if (page.stage > IncomingPage::Stage::ready) continue;
    if (page.stage != IncomingPage::Stage::ready || pages_.worked(page) > t.now) break;
    bool const needs_frame = page.is_local == 0;
    if (needs_frame && (!s.memory.has_frame(page.size, device(t.spec)) || !s.evictions.reads_in(*this, t)))
      break;
    if (needs_frame && s.relocations.awaits_large_frame(page.page, device(t.spec), page.application, t))
      break;
    admitted = true;
    if (needs_frame) {
      if (page.faulted == 0) ++s.stats[page.application].prefetched_pages;
      ++(page.faulted != 0 ? record_.faulted_pages : record_.prefetched_pages);
      if (page.faulted != 0) s.evictions.returns(page.page, gpu_);
    }
    admit(page, t);
  }
  return admitted;
}

void BatchWorker::admit(IncomingPage& page, DriverTurn& t) {
  pages_.admit(page);
  auto const number = t.s.transitions.number_of(page.page);
  if (t.s.transitions[number].transition == Transition::map_remotely)
    page.stage = IncomingPage::Stage::mapping;
  t.s.transitions.admit(number);
  t.run(number);
}

bool BatchWorker::admit_local(DriverTurn& t) {
  bool admitted = false;
  pages_.each_to_pass([&](IncomingPage& page) {
    if (page.stage != IncomingPage::Stage::ready || page.is_local == 0 || pages_.worked(page) > t.now) return;
    admit(page, t);
    admitted = true;
  });
  return admitted;
}

void BatchWorker::transfer_begins(PageInFlight const& page, DriverTurn& t) {
  pages_.transfer_begins();
  record_.first_transfer = std::min(record_.first_transfer, t.now);
  record_.bytes_in += t.spec.page_bytes(page.size);
}

// The contents are on the GPU.
void BatchWorker::changed(PageInFlight const& page, DriverTurn& t) {
  auto& incoming = pages_[page.tag];
  t.s.evictions.arrived(page, incoming.is_local != 0, t);
  if (page.copied != 0) pages_.transfer_ends();
  bool const leaves = !adds_copy(page.transition) && page.from != kNoFrame && page.from != page.to;
  if (leaves) t.s.evictions.left(page.page(), device_of(page.from), t);
  if (page.confirms != 0) incoming.stage = IncomingPage::Stage::mapping;
}

// With replay by page, the answer has informed all requesters that wait for the page.
void BatchWorker::ended(PageInFlight const& done, DriverTurn& t) {
  auto& page = pages_[done.tag];
  pages_.arrived(page);
  if (page.faulted != 0 && t.spec.pages_stay_for_replay()) {
    t.s.batch.of_gpu(gpu_).stays.arrived(page.page);
    if (t.spec.detects_thrashing() && takes(done.transition, PageStep::invalidate))
      t.s.batch.thrashing().moved(page.page, gpu_, t.now, t.spec.batch.thrashing());
  }
  page_mapped(page, t);
}

void BatchWorker::page_mapped(IncomingPage& page, DriverTurn& t) {
  if (pages_.mapped(page)) order_replay(FaultReplay::Point::block_mapped, t);
}

void BatchWorker::keep(IncomingPage& page, DriverTurn& t) {
  auto const number = t.s.transitions.number_of(page.page);
  page.stage = IncomingPage::Stage::mapped;
  t.s.transitions.restore(number);
  t.run(number);
}

void BatchWorker::keep_next(DriverTurn& t) {
  auto& page = *pages_.to_pass();
  pages_.pass_next();
  keep(page, t);
}

bool BatchWorker::give_back(std::span<DeviceId const> devices, DriverTurn& t) {
  bool some = false;
  pages_.each_to_pass([&](IncomingPage& page) {
    if (page.stage != IncomingPage::Stage::ready || page.is_local != 0) return;
    auto const& moving = t.s.transitions[t.s.transitions.number_of(page.page)];
    if (std::ranges::none_of(devices, [&](DeviceId d) { return t.holds_frame(moving, d); })) return;
    keep(page, t);
    if (page.faulted != 0 && t.facts.replay.by_page) {
      auto fault = fault_of(page, t);
      fault.kind = FaultKind::moving;  // nothing was decided: the next walk faults
      answer(fault, page.size, t);
    }
    some = true;
  });
  return some;
}

void BatchWorker::end(DriverTurn& t) {
  order_replay(FaultReplay::Point::served, t);
  record_.ended = t.now;
  t.s.work.batch_ended(record_.ended - record_.began, lock_wait(*this));
  record_.blocks = pages_.blocks().size();
  t.s.counts.add(record_);
  t.s.records.batch_served(record_);
  t.s.evictions.report_lifetimes(gpu_, t);
}

void BatchWorker::answer(PageFault const& fault, unsigned size, DriverTurn& t) const {
  auto const faulted =
      size == 0 ? std::vector<std::uint64_t>{} : faults_.base_pages_in(fault.page, std::uint64_t{1} << size);
  if (faulted.empty()) return t.s.faults.answer(fault, {}, t);
  auto each = fault;
  for (auto const page : faulted) {
    each.page = page;
    t.s.faults.answer(each, {}, t);
  }
}

// The fault that the page's answer refers to.
PageFault BatchWorker::fault_of(IncomingPage const& page, DriverTurn const& t) const {
  auto const iommu = static_cast<std::uint16_t>(t.spec.iommu_of_gpu[gpu_]);
  return {.page = page.page,
          .gpu = device(t.spec),
          .iommu = iommu,
          .entry = kNoRecord,
          .kind = FaultKind::remote,
          .recorded_by_gpu = 1,
          .application = page.application};
}

}  // namespace farfault
