// SPDX-License-Identifier: Apache-2.0
// Faults at the IOMMU: fault-buffer entries, the driver's answers, and replays.
#include <algorithm>

#include "farfault/translation/iommu.hpp"

namespace farfault {

// Frees the entry immediately; its requests get a fault response now, and a replay when the page is mapped.
void Iommu::fault_entry(FaultKind kind, std::uint32_t entry, IommuWaiter const& first, Cx& cx) const {
  auto& s = cx.state();
  if (recorded_by_gpus(kind)) {
    respond_all(entry, unrecorded(kind), cx);
    return resume_stalled(cx);
  }
  auto const page = s.pages.key(entry);
  auto outcome = FaultBuffer::Outcome::merged;
  s.pages.each_waiter(entry, [&](IommuWaiter const& w) {
    auto const k = s.faults.add(page, {w.node, w.gpu});
    if (k != FaultBuffer::Outcome::merged) outcome = k;
  });
  count_fault(kind, page, first, outcome, Duration::zero(), cx);
  s.buffer_full.set(cx.now(), s.faults.refused() != 0);
  respond_all(entry, {{}, FoundBy::nothing}, cx);
  resume_stalled(cx);
}

void Iommu::fault_request(FaultKind kind, std::uint64_t page, IommuWaiter const& from, Duration extra,
                          Cx& cx) const {
  if (recorded_by_gpus(kind)) return respond(from, page, unrecorded(kind), extra, cx);
  auto& s = cx.state();
  auto const outcome = s.faults.add(page, {from.node, from.gpu});
  s.buffer_full.set(cx.now(), s.faults.refused() != 0);
  count_fault(kind, page, from, outcome, extra, cx);
  respond(from, page, {{}, FoundBy::nothing}, extra, cx);
}

void Iommu::count_fault(FaultKind kind, std::uint64_t page, IommuWaiter const& from,
                        FaultBuffer::Outcome outcome, Duration extra, Cx& cx) const {
  auto& s = cx.state();
  auto& counts = s.by_requester[from.application];
  if (outcome != FaultBuffer::Outcome::recorded) {
    ++(outcome == FaultBuffer::Outcome::merged ? counts.merged_faults : counts.refused_faults);
    return;
  }
  auto const record = s.faults.record_of(page);
  bool const there = kind != FaultKind::not_mapped;
  ++(there ? counts.remote_faults : counts.page_faults);
  s.recorded_at[record] = cx.now() + extra;
  cx.send(there ? fault : first_touch,
          Packet::of(PageFault{.page = page,
                               .gpu = from.gpu,
                               .iommu = spec().index,
                               .entry = record,
                               .kind = kind,
                               .application = from.application}),
          extra);
}

// Sends a replay behind all earlier responses, one per cycle.
void Iommu::replay(std::uint64_t page, Translation const& to, FaultBuffer::Requester const& requester,
                   std::uint32_t own_entry, Cx& cx) const {
  auto& s = cx.state();
  ++s.stats.replays;
  bool const is_held = to.found_by == FoundBy::settled || (spec().gpus_end_walks && to.to.frame != kNoFrame);
  if (is_held) learn(page, to.to, requester.gpu, s);
  s.last_response = std::max(s.last_response, cx.now()) + spec().params.clock.clock().cycles(1);
  bool const once = to.kind == FaultKind::moving && device_of(to.to.frame) != requester.gpu;
  auto p = Packet::of(Replay{.page = page,
                             .frame = to.to.frame,
                             .entry = own_entry,
                             .size = to.to.size,
                             .found_by = to.found_by,
                             .once = static_cast<std::uint8_t>(once ? 1 : 0)});
  p.route.destination = requester.node;
  cx.send(response, p, s.last_response - cx.now());
}

void Iommu::end_fault(PageMapped const& m, Cx& cx) const {
  auto& s = cx.state();
  bool const nowhere = m.frame == kNoFrame;
  bool const settled = m.kind != FaultKind::not_mapped && !nowhere;
  Translation const there{{m.frame, m.size}, settled ? FoundBy::settled : FoundBy::replay, m.kind};
  bool const copied = m.kind == FaultKind::copied;
  if (!nowhere && !copied) map_page(m.page, {m.frame, m.size}, s);
  if (settled && !copied) s.tlb->fill(m.page, there.to);
  if (copied) s.directory.add_holder(m.page, m.gpu);
  if (m.gpu != kNoGpu) {
    for (auto const& gpu : spec().gpus)
      if (gpu.device == m.gpu) replay(m.page, there, {gpu.node, gpu.device}, m.entry, cx);
    return;
  }
  s.fault_latency.add(nanoseconds_of(cx.now() - s.recorded_at[m.entry]));
  s.faults.release(m.entry, [&](FaultBuffer::Requester const& r) {
    if (!nowhere) replay(m.page, there, r, kNoRecord, cx);
  });
  s.faults.retry([&](std::uint64_t page, FaultBuffer::Requester const& r) {
    auto const found = s.table.find(page);
    replay(page, {found.value_or(PageTranslation{}), FoundBy::replay}, r, kNoRecord, cx);
    return found && !may_fault(found->frame, r.gpu);
  });
  s.buffer_full.set(cx.now(), s.faults.refused() != 0);
}

void Iommu::on_mapped(PageMapped const& m, Cx& cx) const {
  auto& s = cx.state();
  if (m.gpu != kNoGpu || m.kind != FaultKind::not_mapped || spec().replays_first_touches)
    return end_fault(m, cx);
  s.fault_latency.add(nanoseconds_of(cx.now() - s.fault_raised[m.entry]));
  if (m.frame == kNoFrame) {
    respond_all(m.entry, {{}, FoundBy::nothing}, cx);
    return resume_stalled(cx);
  }
  map_page(m.page, {m.frame, m.size}, s);
  finish(m.entry, {{m.frame, m.size}, FoundBy::fault}, cx);
}

}  // namespace farfault
