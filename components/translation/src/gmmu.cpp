// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/gmmu.hpp"

#include <algorithm>

#include "walking.hpp"

namespace farfault {

Gmmu::Gmmu(Slot<GmmuSpec> slot) : Component(std::move(slot)) {
  if (spec().records_faults) to_driver = out<Packet>("to_driver");
  if (spec().fault_batches) {
    raw_fault = in<&Gmmu::on_raw_fault>("raw_fault");
    from_driver = in<&Gmmu::on_driver>("from_driver");
  }
  if (spec().slices_to_flush == 0) return;
  flushed = in<&Gmmu::on_flushed>("flushed");
  flush = out<Flush>("flush");
}

GmmuState Gmmu::initial() const {
  auto const& p = spec().params;
  GmmuState s;
  s.pending.resize(p.pending);
  for (std::uint32_t i = p.pending; i > 0; --i) s.free_pending.push_back(i - 1);
  s.stalled = Ring<GmmuStalled>(spec().queue);
  s.walker = Walker(
      spec().walker_groups(), p.walkers, p.pending, [&] { return p.walk_cache_policies.make(p.walk_cache); },
      !p.walk_reads_first_entry);
  if (spec().coalesces != 0)
    s.coalescing = Coalescing(spec().coalesces + spec().moves, p.table_writes, spec().line_bytes);
  s.walk_began.resize(s.walker.walkers());
  s.by_requester = ByApplication<GmmuRequesterStats>(static_cast<std::uint32_t>(spec().applications.size()));
  s.router = spec().router.policy.make({});
  if (spec().preloaded != nullptr) s.table = *spec().preloaded;
  s.invalidating.resize(spec().moves);
  if (spec().slices_to_flush != 0) s.flushing.resize(spec().moves);
  if (spec().fault_batches) {
    s.raw = RawFaults(p.fault_buffer);
    s.utlbs = UtlbFaults(p.faults_per_utlb, p.sms_per_utlb, spec().sms);
  } else if (spec().records_faults) {
    s.faults = FaultBuffer(p.fault_buffer, 1);
    s.recorded_at.resize(p.fault_buffer);
  }
  return s;
}

Gmmu::ApplicationStats Gmmu::application_stats() const {
  return counted_by_application<&GmmuState::by_requester>(spec().applications);
}

std::vector<Gmmu::PolicyStats> Gmmu::policy_stats() const {
  auto const& walk_cache = spec().params.walk_cache_policies;
  return {{{"gpu.router", spec().router.policy.stats()},
           [](GmmuState const& s) -> StatSource const& { return s.router; }},
          {{"gpu.gmmu.walk_cache_organization", walk_cache.organization.stats()},
           [](GmmuState const& s) -> StatSource const& { return s.walker.caches(); }},
          {{"gpu.gmmu.walk_cache_replacement", walk_cache.replacement.stats()},
           [](GmmuState const& s) -> StatSource const& { return s.walker.arrays(); }}};
}

std::string Gmmu::waiting_for() const {
  auto const& s = state();
  auto const held = s.pending.size() - s.free_pending.size();
  auto const flushing = std::count_if(s.flushing.begin(), s.flushing.end(), [](auto n) { return n != 0; });
  if (held == 0 && s.stalled.empty() && flushing == 0 && s.faults.in_use() == 0 && s.faults.refused() == 0 &&
      s.raw.size() == 0 && s.coalescing.idle())
    return {};
  return std::to_string(s.faults.in_use() + s.raw.size()) + " faults, " + std::to_string(s.faults.refused()) +
         " refused, " + std::to_string(flushing) + " pages being flushed from the L2 cache, " +
         std::to_string(held) + " translations, " + std::to_string(s.walker.busy()) + " walks in flight, " +
         std::to_string(s.walker.queued()) + " walks queued" +
         (s.coalescing.idle() ? "" : ", large pages being coalesced or splintered");
}

void Gmmu::on_request(TranslateRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  ++s.by_requester[m.application].requests;
  s.queue_depth.add(s.pending.size() - s.free_pending.size() + s.stalled.size());
  if (s.free_pending.empty())
    s.stalled.push({m, cx.now()});
  else
    admit(m, cx.now(), cx);
}

void Gmmu::admit(TranslateRequest const& m, Time since, Cx& cx) const {
  auto& s = cx.state();
  auto const id = s.free_pending.back();
  s.free_pending.pop_back();
  auto& r = s.pending[id];
  r = GmmuPending{};
  r.page = m.page;
  r.requested = since;
  r.arrived = cx.now();
  r.application = m.application;
  r.access = m.access;
  r.tlb = m.from;
  r.in_use = 1;
  r.routing = s.router->route(m, s.table, cx.now());
  if (spec().has_copies && r.routing.to == Route::iommu && is_local_copy(m, s)) r.routing.to = Route::gmmu;
  if (r.routing.to != Route::iommu) {
    ++r.lookups;
    s.walker.enqueue(m.page, id, m.application, spec().walker_group_of(m.from));
  }
  if (r.routing.to != Route::gmmu) {
    ++r.lookups;
    request_from_iommu(id, cx);
  }
  start_walks(cx);
}

// No IOMMU knows of the copy.
bool Gmmu::is_local_copy(TranslateRequest const& m, GmmuState const& s) const {
  auto const own = s.table.find(m.page);
  return own && is_read_only(own->frame) && device_of(own->frame) == spec().device && own->allows(m.access);
}

void Gmmu::request_from_iommu(std::uint32_t id, Cx& cx) const {
  auto& s = cx.state();
  s.pending[id].to_iommu_at = cx.now();
  ++s.by_requester[s.pending[id].application].iommu_requests;
  cx.send(to_iommu,
          TranslateRequest{.page = s.pending[id].page,
                           .from = id,
                           .application = s.pending[id].application,
                           .access = s.pending[id].access,
                           .gpu = spec().device},
          spec().clock.cycles(spec().params.latency));
}

void Gmmu::start_walks(Cx& cx) const {
  auto const latency = spec().clock.cycles(spec().params.latency);
  walking::start(*this, spec().clock, cx,
                 [&](std::uint32_t id) { return cx.state().pending[id].arrived + latency; });
}

void Gmmu::on_entry(MemResponse const& m, Cx& cx) const {
  if (m.access == Access::write) {
    cx.state().coalescing.written(cx.state().table,
                                  m.train.lines());  // a slice responds to several lines in one message
    return write_entries(cx);
  }
  if (auto const end = walking::advance(*this, m, cx)) walked(m.tag, *end, cx);
}

void Gmmu::on_walk_end(WalkEnd const& m, Cx& cx) const {
  auto& s = cx.state();
  walked(m.walker, s.walker.end(m.walker, s.table), cx);
}

void Gmmu::walked(std::uint32_t walker, Walker::Step const& step, Cx& cx) const {
  auto& s = cx.state();
  auto const walked_for = cx.now() - s.walk_began[walker];
  s.walk_latency.add(nanoseconds_of(walked_for));
  s.walk_ps += static_cast<std::uint64_t>(picoseconds(walked_for));
  auto const id = step.tag;
  auto& r = s.pending[id];
  bool const found = step.found && step.translation().allows(r.access);
  observe(r, found && device_of(step.translation().frame) == spec().device, cx);
  auto& counts = s.by_requester[r.application];
  ++(found ? counts.walk_hits : counts.walk_misses);
  TranslationStages const stages{stage_time(s.walk_began[walker] - r.requested),
                                 stage_time(cx.now() - s.walk_began[walker]), 0, 0};
  bool const is_last = r.lookups == 1 && r.responded == 0;
  if (found || !is_last) {
    lookup_done(id, found ? step.translation() : PageTranslation{}, FoundBy::gmmu, stages, cx);
  } else if (spec().ends_walks) {
    using Counts = GmmuRequesterStats;
    record_fault(id, step.found ? FaultKind::remote : FaultKind::not_mapped,
                 step.found ? &Counts::protection_faults : &Counts::page_faults, cx);
    lookup_done(id, {}, FoundBy::nothing, stages, cx);
  } else {
    r.walk_queue = stages.walk_queue;
    r.walk = stages.walk;
    request_from_iommu(id, cx);  // the look-up continues there
  }
  start_walks(cx);
}

void Gmmu::on_iommu(Packet const& m, Cx& cx) const {
  if (m.is<Replay>()) return replay(m.as<Replay>(), cx);
  FF_INVARIANT(m.is<IommuResponse>(), path() + ": unexpected packet kind from the IOMMU");
  responded(m.as<IommuResponse>(), m.route.held, cx);
}

void Gmmu::learn(std::uint64_t page, PageTranslation const& to, Cx& cx) const {
  if (device_of(to.frame) == spec().device && !cx.state().table.find(page)) map(page, to, cx);
}

void Gmmu::write_entry(std::uint64_t page, PageTranslation const& to, Cx& cx) const {
  auto const bits = spec().page_bits;
  auto const known = cx.state().table.find_mapped(page);
  if (!known || known->base_page(page, bits) != to.base_page(page, bits)) map(page, to, cx);
}

void Gmmu::responded(IommuResponse const& m, std::uint16_t held, Cx& cx) const {
  auto& s = cx.state();
  learn(m.page, m.translation(), cx);
  bool const unrecorded = m.found_by == FoundBy::unrecorded;
  if (unrecorded && s.pending[m.tag].responded == 0) {
    using Counts = GmmuRequesterStats;
    bool const unmapped = m.kind == FaultKind::not_mapped;
    record_fault(m.tag, m.kind, unmapped ? &Counts::page_faults : &Counts::remote_faults, cx);
  }
  bool const mapped_here = device_of(m.frame) == spec().device && m.found_by == FoundBy::iommu;
  auto& r = s.pending[m.tag];
  observe(r, mapped_here, cx);
  auto const away = stage_time(cx.now() - r.to_iommu_at);
  auto const at_iommu = unpack_duration(held);
  TranslationStages const stages{r.walk_queue, r.walk, away - std::min(away, at_iommu), at_iommu};
  lookup_done(m.tag, m.translation(), unrecorded ? FoundBy::nothing : m.found_by, stages, cx);
}

void Gmmu::record_fault(std::uint32_t id, FaultKind kind, FaultCount type, Cx& cx) const {
  auto& s = cx.state();
  auto const& r = s.pending[id];
  auto& counts = s.by_requester[r.application];
  if (spec().fault_batches) {  // the L2 TLB reports the faulting clients
    ++(counts.*type);
    return;
  }
  auto const outcome = s.faults.add(r.page, {});
  s.buffer_full.set(cx.now(), s.faults.refused() != 0);
  if (outcome != FaultBuffer::Outcome::recorded) {
    ++(outcome == FaultBuffer::Outcome::merged ? counts.merged_faults : counts.refused_faults);
    return;
  }
  auto const record = s.faults.record_of(r.page);
  ++(counts.*type);
  s.recorded_at[record] = cx.now();
  cx.send(to_driver, Packet::of(PageFault{.page = r.page,
                                          .gpu = spec().device,
                                          .iommu = spec().iommu,
                                          .entry = record,
                                          .kind = kind,
                                          .recorded_by_gpu = 1,
                                          .application = r.application,
                                          .access = r.access}));
}

void Gmmu::replay(Replay const& m, Cx& cx) const {
  auto& s = cx.state();
  if (spec().ends_walks && m.frame != kNoFrame && m.once == 0)
    write_entry(m.page, {m.frame, m.size}, cx);
  else
    learn(m.page, {m.frame, m.size}, cx);
  ++s.stats.replays;
  bool const nowhere = m.entry != kNoRecord && m.frame == kNoFrame;
  if (!nowhere) forward({.page = m.page, .frame = m.frame, .found_by = m.found_by, .size = m.size}, cx);
  if (spec().fault_batches) page_replayed(m.page, cx);
  if (m.entry == kNoRecord) return;
  FF_CHECK(spec().records_faults && s.faults.page_of(m.entry) == m.page,
           path() + ": replay without a recorded fault");
  s.fault_latency.add(nanoseconds_of(cx.now() - s.recorded_at[m.entry]));
  s.faults.release(m.entry, [](FaultBuffer::Requester const&) {});
  s.faults.retry([&](std::uint64_t page, FaultBuffer::Requester const&) {
    auto const found = s.table.find(page).value_or(PageTranslation{});
    forward({.page = page, .frame = found.frame, .found_by = FoundBy::replay, .size = found.size}, cx);
    return found.frame != kNoFrame;
  });
  s.buffer_full.set(cx.now(), s.faults.refused() != 0);
}

void Gmmu::forward(TranslateResponse const& m, Cx& cx) const {
  auto const send = [&](std::uint32_t tlb) { cx.send(response, tlb, m); };
  if (m.page == kEveryPage)
    spec().tlbs.each(send);
  else
    spec().tlbs.each_of(m.page, send);
}

void Gmmu::on_invalidate(Invalidate const& m, Cx& cx) const {
  auto& s = cx.state();
  if (m.step == MoveStep::flush) {
    s.flushing[m.move] = spec().slices_to_flush;
    for (std::uint32_t i = 0; i < spec().slices_to_flush; ++i)
      cx.send(flush, i, Flush{m.frame, m.move, 1, m.size});
    return;
  }
  if (m.step == MoveStep::remap) return write_entry(m.page, {m.frame, m.size}, cx);
  if (m.step == MoveStep::map) {
    map(m.page, {m.frame, m.size}, cx);
    return cx.send(acknowledge, Invalidated{m.move});
  }
  ++s.stats.invalidations;
  if (spec().coalesces == 0 || !s.table.is_coalesced(m.page)) return unmap(m, cx);
  s.coalescing.splinter(m);
  write_entries(cx);
}

void Gmmu::unmap(Invalidate const& m, Cx& cx) const {
  auto& s = cx.state();
  auto leaves = m;
  if (auto const own = s.table.find_mapped(m.page)) leaves.frame = own->frame & ~kReadOnly;  // of a copy
  s.table.unmap(m.page);
  if (spec().invalidates_all) leaves.all = 1;
  auto const send = [&](std::uint32_t tlb) {
    ++s.invalidating[m.move];
    cx.send(to_tlb, tlb, leaves, spec().clock.cycles(1));  // behind the responses that are sent now
  };
  if (spec().invalidates_all || spec().invalidates_banks)
    spec().tlbs.each(send);
  else
    spec().tlbs.each_of(m.page, send);
}

void Gmmu::map(std::uint64_t page, PageTranslation const& to, Cx& cx) const {
  auto& s = cx.state();
  if (spec().coalesces == 0) return s.table.map(page, to.frame, to.size);
  s.table.map(page, to.base_page(page, spec().page_bits).frame);
  if (device_of(to.frame) != spec().device || !s.table.can_coalesce(page)) return;
  s.coalescing.coalesce(page, s.table);
  write_entries(cx);
}

// Issues the writes of large pages that are coalesced or splintered, up to the limit, and forwards the
// invalidations that wait for them.
void Gmmu::write_entries(Cx& cx) const {
  auto& s = cx.state();
  while (auto const leaves = s.coalescing.next_invalidation(s.table)) unmap(*leaves, cx);
  while (auto const w = s.coalescing.next_write(s.table)) {
    auto const space = static_cast<std::uint8_t>(s.table.space_of(w->page));
    Requester const requester{space, spec().application_of_space[space], RequestKind::table_write};
    cx.send(read_entry, spec().memory.slice(offset_of(w->address)),
            MemRequest{.address = w->address,
                       .from = spec().memory_port,
                       .access = Access::write,
                       .bytes = static_cast<std::uint8_t>(w->bytes),
                       .requester = requester});
  }
}

void Gmmu::on_invalidated(Invalidated const& m, Cx& cx) const {
  auto& missing = cx.state().invalidating[m.move];
  FF_CHECK(missing > 0, path() + ": acknowledgement without an invalidation");
  if (--missing == 0) cx.send(acknowledge, m);
}

void Gmmu::on_flushed(Flushed const& m, Cx& cx) const {
  if (--cx.state().flushing[m.number] == 0) cx.send(acknowledge, Invalidated{m.number});
}

void Gmmu::observe(GmmuPending& pending, bool local, Cx& cx) const {
  if (pending.observed != 0) return;
  pending.observed = 1;
  cx.state().router->observe({pending.page, pending.tlb, pending.application}, pending.routing, local,
                             cx.now());
}

void Gmmu::lookup_done(std::uint32_t id, PageTranslation const& found, FoundBy found_by,
                       TranslationStages const& stages, Cx& cx) const {
  auto& s = cx.state();
  auto& r = s.pending[id];
  FF_CHECK(r.in_use != 0 && r.lookups > 0, path() + ": response without a request");
  --r.lookups;
  bool const faulted = found_by == FoundBy::nothing;
  bool const responds = faulted || found.frame != kNoFrame;
  if (responds && r.responded != 0) ++s.stats.late_responses;
  if (responds && r.responded == 0) {
    r.responded = 1;
    ++s.stats.responses;
    s.latency_ps += static_cast<std::uint64_t>(picoseconds(cx.now() - r.arrived));
    if (faulted) ++s.stats.faulted_responses;
    cx.send(response, r.tlb,
            TranslateResponse{.page = r.page,
                              .frame = found.frame,
                              .found_by = found_by,
                              .size = found.size,
                              .stages = stages});
  }
  if (r.lookups != 0) return;
  FF_CHECK(r.responded != 0, path() + ": request ended without a response");
  r.in_use = 0;
  s.free_pending.push_back(id);
  if (!s.stalled.empty()) {
    auto const next = s.stalled.front();
    s.stalled.pop();
    admit(next.request, next.since, cx);
  }
}

template class Component<GmmuSpec, GmmuState>;

}  // namespace farfault
