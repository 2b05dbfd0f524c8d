// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/iommu.hpp"

#include <algorithm>
#include <bit>

#include "walking.hpp"

namespace farfault {

Iommu::Iommu(Slot<IommuSpec> slot) : Component(std::move(slot)) {}

IommuState Iommu::initial() const {
  auto const& p = spec().params;
  IommuState s;
  s.tlb = p.tlb.make(p.tlb_entries, p.tlb_ways, spec().page_bits, spec().page_sizes, spec().preloaded);
  s.pages = MshrTable<IommuWaiter>(p.pages, spec().waiters);
  s.stalled = Ring<IommuStalled>(spec().waiters);
  s.missed_at.resize(p.pages);
  s.walker = Walker(
      1, p.walkers, p.pages, [&] { return p.walk_cache_policies.make(p.walk_cache); },
      !p.walk_reads_first_entry);
  s.fault_raised.resize(p.pages);
  s.decision = spec().decision.make({.page_bits = spec().page_bits,
                                     .spaces = spec().spaces,
                                     .buffers = spec().buffers,
                                     .events = {PageEventKind::request, PageEventKind::write_to_copies}});
  if (spec().replays_first_touches || pages_move()) {
    s.faults = FaultBuffer(p.fault_buffer, std::max(1U, static_cast<std::uint32_t>(spec().gpus.size())));
    s.recorded_at.resize(p.fault_buffer);
  }
  s.walk_began.resize(p.walkers);
  s.by_requester = ByApplication<IommuRequesterStats>(static_cast<std::uint32_t>(spec().applications.size()));
  if (spec().preloaded != nullptr) s.table = *spec().preloaded;
  if (spec().table_base) s.table.relocate(*spec().table_base);
  s.directory = PageDirectory(spec().page_bits, spec().spaces);
  if (spec().maps_remotely_at_start)
    s.table.each_page([&](std::uint64_t page, PageTranslation const& to) {
      for (auto const& gpu : spec().gpus) learn(page, to, gpu.device, s);
    });
  s.moving = MshrTable<IommuWaiter>(spec().moves, 0);
  s.invalidations.resize(spec().moves);
  return s;
}

Iommu::ApplicationStats Iommu::application_stats() const {
  return counted_by_application<&IommuState::by_requester>(spec().applications);
}

std::vector<Iommu::PolicyStats> Iommu::policy_stats() const {
  auto const& p = spec().params;
  std::vector<PolicyStats> all;
  if (spec().receives_requests && !decision_.decides_at_driver_only())
    all.push_back({{"memory.remote_touch", spec().decision.stats()},
                   [](IommuState const& s) -> StatSource const& { return s.decision; }});
  std::vector<PolicyStats> const of_parts{
      {{"iommu.tlb_organization", p.tlb.organization.stats()},
       [](IommuState const& s) -> StatSource const& { return s.tlb; }},
      {{"iommu.tlb_replacement", p.tlb.replacement.stats()},
       [](IommuState const& s) -> StatSource const& { return *s.tlb; }},
      {{"iommu.walk_cache_organization", p.walk_cache_policies.organization.stats()},
       [](IommuState const& s) -> StatSource const& { return s.walker.caches(); }},
      {{"iommu.walk_cache_replacement", p.walk_cache_policies.replacement.stats()},
       [](IommuState const& s) -> StatSource const& { return s.walker.arrays(); }}};
  all.insert(all.end(), of_parts.begin(), of_parts.end());
  return all;
}

std::string Iommu::waiting_for() const {
  auto const& s = state();
  if (s.pages.in_use() == 0 && s.moving.in_use() == 0 && s.stalled.empty() && s.faults.in_use() == 0 &&
      s.faults.refused() == 0)
    return {};
  return std::to_string(s.faults.in_use()) + " faults, " + std::to_string(s.faults.refused()) + " refused, " +
         std::to_string(s.pages.in_use()) + " pages in translation, " + std::to_string(s.moving.in_use()) +
         " moving, " + std::to_string(s.walker.busy()) + " walks in flight, " +
         std::to_string(s.stalled.size()) + " requests stalled";
}

void Iommu::on_request(Packet const& m, Cx& cx) const {
  auto& s = cx.state();
  ++s.by_requester[m.as<TranslateRequest>().application].requests;
  s.queue_depth.add(s.pages.in_use() + s.stalled.size());
  if (!serve(m, cx.now(), cx)) s.stalled.push({m, cx.now()});  // hits and merged requests pass stalled ones
}

bool Iommu::serve(Packet const& packet, Time since, Cx& cx) const {
  auto& s = cx.state();
  auto const m = packet.as<TranslateRequest>();
  auto const clock = spec().params.clock.clock();
  auto const at = std::max(s.port_free, cx.now());
  auto const looked_up = at + clock.cycles(spec().params.latency);
  IommuWaiter const requester{.tag = m.from,
                              .node = packet.route.source,
                              .gpu = m.gpu,
                              .application = m.application,
                              .access = m.access,
                              .since = since};
  auto& counts = s.by_requester[m.application];
  auto const found = s.tlb->lookup(m.page);
  if (found) {
    ++counts.tlb_hits;
    if (faults(m.page, *found, requester, s))
      fault_request(FaultKind::remote, m.page, requester, looked_up - cx.now(), cx);
    else
      respond(requester, m.page, {*found, FoundBy::iommu}, looked_up - cx.now(), cx);
  } else if (moving(m.page, s)) {
    ++counts.tlb_misses;
    fault_request(FaultKind::moving, m.page, requester, looked_up - cx.now(), cx);
  } else {
    auto entry = spec().params.merge ? s.pages.find(m.page) : std::nullopt;
    if (!entry && s.pages.full()) return false;
    ++counts.tlb_misses;
    if (entry) {
      ++counts.merged_misses;
      s.pages.wait(*entry, requester);
    } else {
      entry = s.pages.allocate_one_more(m.page);
      s.pages.wait(*entry, requester);
      s.missed_at[*entry] = looked_up;
      s.walker.enqueue(m.page, *entry, m.application);
    }
    start_walks(cx);
  }
  s.port_free = clock.after(at);
  return true;
}

void Iommu::raise(std::uint32_t entry, IommuWaiter const& first, Cx& cx) const {
  auto& s = cx.state();
  ++s.by_requester[first.application].page_faults;
  s.fault_raised[entry] = cx.now();
  cx.send(first_touch, Packet::of(PageFault{.page = s.pages.key(entry),
                                            .gpu = first.gpu,
                                            .iommu = spec().index,
                                            .entry = entry,
                                            .application = first.application}));
}

void Iommu::start_walks(Cx& cx) const {
  walking::start(*this, spec().params.clock.clock(), cx,
                 [&](std::uint32_t entry) { return cx.state().missed_at[entry]; });
}

void Iommu::on_entry(MemResponse const& m, Cx& cx) const {
  if (auto const end = walking::advance(*this, m, cx)) walked(m.tag, *end, cx);
}

void Iommu::on_walk_end(WalkEnd const& m, Cx& cx) const {
  auto& s = cx.state();
  walked(m.walker, s.walker.end(m.walker, s.table), cx);
}

void Iommu::walked(std::uint32_t walker, Walker::Step const& step, Cx& cx) const {
  auto& s = cx.state();
  auto const walked_for = cx.now() - s.walk_began[walker];
  s.walk_latency.add(nanoseconds_of(walked_for));
  s.walk_ps += static_cast<std::uint64_t>(picoseconds(walked_for));
  auto const entry = step.tag;
  // The first requester counts as the GPU that touches the page.
  IommuWaiter first;
  s.pages.first_waiter(entry, [&](IommuWaiter const& waiter) { first = waiter; });
  if (moving(step.page, s)) {
    fault_entry(FaultKind::moving, entry, first, cx);
  } else if (!step.found && spec().replays_first_touches) {
    fault_entry(FaultKind::not_mapped, entry, first, cx);
  } else if (!step.found) {
    raise(entry, first, cx);
  } else if (faults(step.page, step.translation(), first, s)) {
    fault_entry(FaultKind::remote, entry, first, cx);
  } else {
    finish(entry, {step.translation(), FoundBy::iommu}, cx);
  }
  start_walks(cx);
}

void Iommu::finish(std::uint32_t entry, Translation const& found, Cx& cx) const {
  auto& s = cx.state();
  s.tlb->fill(s.pages.key(entry), found.to);
  respond_all(entry, found, cx);
  resume_stalled(cx);
}

void Iommu::respond_all(std::uint32_t entry, Translation const& found, Cx& cx) const {
  auto& s = cx.state();
  auto const page = s.pages.key(entry);
  auto const cycle = spec().params.clock.clock().cycles(1);
  auto extra = Duration::zero();
  s.pages.release(entry, [&](IommuWaiter const& to) {
    bool const is_first = extra == Duration::zero();  // decided when the walk ended
    respond(to, page, is_first ? found : own_response(to, page, found, s), extra, cx);
    extra += cycle;
  });
}

bool Iommu::faults(std::uint64_t page, PageTranslation const& to, IommuWaiter const& from,
                   IommuState& s) const {
  bool const has_copies = is_read_only(to.frame);
  bool const writes_copies = has_copies && from.access == Access::write;
  auto const kind = writes_copies ? PageEventKind::write_to_copies : PageEventKind::request;
  if (!decision_.events.has(kind) || (!writes_copies && device_of(to.frame) == from.gpu)) return false;
  return s.decision->decide({.kind = kind,
                             .access = from.access,
                             .has_copies = has_copies,
                             .gpu = from.gpu,
                             .owner = device_of(to.frame),
                             .page = spec().coalesces ? page : first_of(page, to.size)}) != PageAction::stay;
}

Iommu::Translation Iommu::own_response(IommuWaiter const& to, std::uint64_t page, Translation const& found,
                                       IommuState& s) const {
  bool const decides = found.found_by == FoundBy::iommu && decision_.makes_copies;
  return decides && faults(page, found.to, to, s) ? unrecorded(FaultKind::remote) : found;
}

std::optional<std::uint32_t> Iommu::moving(std::uint64_t page, IommuState const& s) const {
  auto entry = s.moving.find(page);
  for (auto left = moving_sizes_; left != 0 && !entry; left &= left - 1)
    entry = s.moving.find(moving_key(page, static_cast<unsigned>(std::countr_zero(left))));
  return entry;
}

void Iommu::resume_stalled(Cx& cx) const {
  auto& s = cx.state();
  while (!s.stalled.empty() && serve(s.stalled.front().request, s.stalled.front().since, cx)) s.stalled.pop();
}

void Iommu::on_move(PageMove const& m, Cx& cx) const {
  switch (m.step) {
    case MoveStep::unmap:
      return unmap(m, cx);
    case MoveStep::flush:
      return flush(m, cx);
    case MoveStep::remap:
      return remap(m, cx);
    case MoveStep::forget:
      return forget(m, cx);
    case MoveStep::map:
    case MoveStep::map_copy:
    case MoveStep::map_remote:
      return map(m, cx);
    case MoveStep::drop:
      return drop(m, cx);
  }
}

template <class Holds>
std::uint32_t Iommu::send_in_order(MoveStep step, PageMove const& m, Holds&& holds, Cx& cx) const {
  auto& s = cx.state();
  auto p =
      Packet::of(Invalidate{.page = m.page, .frame = m.frame, .move = m.move, .step = step, .size = m.size});
  std::uint32_t sent = 0;
  for (auto const& gpu : spec().gpus) {
    if (!holds(gpu.device)) continue;
    s.last_response = std::max(s.last_response, cx.now()) + spec().params.clock.clock().cycles(1);
    p.route.destination = gpu.node;
    cx.send(response, p, s.last_response - cx.now());
    ++sent;
  }
  return sent;
}

template <class Holds>
std::uint32_t Iommu::send_to_holders(MoveStep step, PageMove const& m, Holds&& holds, Cx& cx) const {
  auto const sent = send_in_order(step, m, holds, cx);
  cx.state().invalidations[m.move] = sent;
  if (sent == 0) cx.send(step_done, StepDone{m.move});
  return sent;
}

// Sends the request to the GPU that has the frame, if it is behind this IOMMU.
void Iommu::flush(PageMove const& m, Cx& cx) const {
  send_to_holders(
      MoveStep::flush, m, [&](DeviceId gpu) { return gpu == device_of(m.frame); }, cx);
}

void Iommu::unmap(PageMove const& m, Cx& cx) const {
  auto& s = cx.state();
  unmap_page(m.page, s);
  s.moving.allocate(moving_key(m.page, m.size));
  auto const large = s.table.coalesced_size();
  auto const holds = [&](DeviceId gpu) {
    return gpu == device_of(m.frame) || s.directory.may_hold(m.page, gpu) ||
           (spec().coalesces && s.directory.may_hold(m.page >> large << large, gpu));
  };
  s.stats.invalidations += send_to_holders(MoveStep::unmap, m, holds, cx);
  s.directory.forget(m.page);
  s.decision->forget(m.page);
}

// Notifies all GPUs: the holders of a translation are recorded only for pages that move.
void Iommu::forget(PageMove const& m, Cx& cx) const {
  auto& s = cx.state();
  unmap_page(m.page, s);
  s.stats.invalidations += send_to_holders(
      MoveStep::unmap, m, [](DeviceId) { return true; }, cx);
  for (auto page = m.page; page - m.page < std::uint64_t{1} << m.size; ++page) {
    s.directory.forget(page);
    s.decision->forget(page);
  }
}

void Iommu::map(PageMove const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const mapper = m.step == MoveStep::map_remote ? m.gpu : device_of(m.frame);
  if (m.step == MoveStep::map_copy) {
    s.directory.add_holder(m.page, mapper);
  } else {
    map_page(m.page, {m.frame, m.size}, s);
    if (auto const entry = s.moving.find(moving_key(m.page, m.size)))
      s.moving.release(*entry, [](IommuWaiter const&) {});
  }
  if (m.step == MoveStep::map_remote) learn(m.page, {m.frame, m.size}, mapper, s);
  send_to_holders(
      MoveStep::map, m, [&](DeviceId gpu) { return gpu == mapper; }, cx);
}

// A copy is known only to the GPU that has it.
void Iommu::drop(PageMove const& m, Cx& cx) const {
  cx.state().stats.invalidations += send_to_holders(
      MoveStep::unmap, m, [&](DeviceId gpu) { return gpu == device_of(m.frame); }, cx);
}

void Iommu::on_invalidated(Invalidated const& m, Cx& cx) const {
  auto& left = cx.state().invalidations[m.move];
  FF_CHECK(left > 0, path() + ": acknowledgement without an invalidation");
  if (--left == 0) cx.send(step_done, StepDone{m.move});
}

void Iommu::remap(PageMove const& m, Cx& cx) const {
  auto& s = cx.state();
  map_page(m.page, {m.frame, m.size}, s);
  auto const entry = s.moving.find(moving_key(m.page, m.size));
  FF_CHECK(entry.has_value(), path() + ": remapped page was not unmapped");
  s.moving.release(*entry, [](IommuWaiter const&) {});
  if (spec().gpus_end_walks)
    send_in_order(
        MoveStep::remap, m, [&](DeviceId gpu) { return gpu == m.gpu; }, cx);
}

// Records a GPU to notify when the page moves away, in addition to the GPU that has it.
void Iommu::learn(std::uint64_t page, PageTranslation const& to, std::uint16_t gpu, IommuState& s) const {
  if (device_of(to.frame) == gpu || !pages_move()) return;
  s.directory.add_holder(page, gpu);
  // When the first base page of the large page moves away, this GPU is notified too, so its record can be
  // dropped.
  if (to.size != 0) s.directory.add_holder(page >> to.size << to.size, gpu);
}

void Iommu::map_page(std::uint64_t page, PageTranslation const& to, IommuState& s) const {
  s.table.map(page, to.frame, to.size);
  bool const on_gpu = device_of(to.frame) < kFirstCpu;
  if (spec().coalesces && on_gpu && s.table.can_coalesce(page)) s.table.coalesce(page);
}

void Iommu::unmap_page(std::uint64_t page, IommuState& s) const {
  if (spec().coalesces && s.table.is_coalesced(page)) s.table.splinter(page);
  s.table.unmap(page);
  s.tlb->invalidate(page);
}

void Iommu::respond(IommuWaiter const& to, std::uint64_t page, Translation const& found, Duration extra,
                    Cx& cx) const {
  auto& s = cx.state();
  if (found.to.frame != kNoFrame) learn(page, found.to, to.gpu, s);
  s.last_response = std::max(s.last_response, cx.now() + extra);
  auto p = Packet::of(IommuResponse{.page = page,
                                    .frame = found.to.frame,
                                    .tag = to.tag,
                                    .found_by = found.found_by,
                                    .size = found.to.size,
                                    .kind = found.kind});
  p.route.destination = to.node;
  p.route.held = pack_duration(stage_time(cx.now() + extra - to.since));
  cx.send(response, p, extra);
}

template class Component<IommuSpec, IommuState>;

}  // namespace farfault
