// SPDX-License-Identifier: Apache-2.0
// Fault buffer of a GPU whose driver serves faults in batches.
#include "farfault/translation/gmmu.hpp"

namespace farfault {

void Gmmu::on_raw_fault(RawFault const& m, Cx& cx) const {
  auto& s = cx.state();
  // A fault is outstanding only if it has an entry.
  if (!s.raw.full() && !s.utlbs.takes(m.page, m.client)) {
    ++s.raw_stats.held;
    return s.raw.drop(m.page);
  }
  auto const added = s.raw.add(m, cx.now());
  ++(added == RawFaults::Added::dropped ? s.raw_stats.dropped : s.raw_stats.written);
  if (added == RawFaults::Added::dropped) s.buffer_full.set(cx.now(), true);
  if (added != RawFaults::Added::interrupts) return;
  ++s.raw_stats.interrupts;
  cx.send(to_driver, Packet::of(FaultInterrupt{spec().device}));
}

void Gmmu::on_driver(Packet const& p, Cx& cx) const {
  FF_CHECK(p.is<FaultOrder>(), path() + ": unexpected packet kind from the driver");
  auto const m = p.as<FaultOrder>();
  if (m.kind == FaultOrderKind::drain)
    drain(m, cx);
  else
    replay_all(m.kind == FaultOrderKind::flush_replay, cx);
}

void Gmmu::replay_all(bool flush_first, Cx& cx) const {
  auto& s = cx.state();
  if (flush_first)
    s.raw_stats.flushed += s.raw.flush([&](RawFaults::Entry const& e) {
      s.read.push_back({e.fault.page, e.raised});
    });
  for (auto const& each : s.read) s.fault_latency.add(nanoseconds_of(cx.now() - each.raised));
  s.read.clear();
  s.raw.replayed();
  s.buffer_full.set(cx.now(), false);
  s.utlbs.all_replayed();
  ++s.stats.replays;
  forward({.page = kEveryPage, .frame = kNoFrame, .found_by = FoundBy::replay}, cx);
}

void Gmmu::drain(FaultOrder const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const cycle = spec().clock.cycles(1);
  auto after = Duration::zero();
  auto const taken = s.raw.drain(m.entries, [&](RawFaults::Entry const& e) {
    s.read.push_back({e.fault.page, e.raised});
    cx.send(to_driver,
            Packet::of(FaultEntry{.page = e.fault.page,
                                  .raised = e.raised,
                                  .client = e.fault.client,
                                  .application = e.fault.application,
                                  .access = e.fault.access,
                                  .gpu = spec().device}),
            after);
    after += cycle;
  });
  cx.send(to_driver, Packet::of(FaultsDrained{.entries = taken, .gpu = spec().device}), after);
  if (m.retry != 0) retry(cx);
}

void Gmmu::page_replayed(std::uint64_t page, Cx& cx) const {
  auto& s = cx.state();
  std::erase_if(s.read, [&](ReadFault const& each) {
    if (each.page != page) return false;
    s.fault_latency.add(nanoseconds_of(cx.now() - each.raised));
    return true;
  });
  s.utlbs.replayed(page);
  // The driver has found the buffer empty and does not read it again without an interrupt.
  if (s.utlbs.outstanding() == 0 && s.raw.armed()) retry(cx);
}

// Issues accesses again whose faults found no room: when the driver reads the buffer, and when no uTLB has an
// outstanding fault and the driver no longer reads the buffer. The second case is needed because a fault
// beyond the limit of a uTLB may have been raised again before the uTLB had room.
void Gmmu::retry(Cx& cx) const {
  auto& s = cx.state();
  s.buffer_full.set(cx.now(), false);
  s.raw.retry([&](std::uint64_t page) {
    ++s.stats.replays;
    forward({.page = page, .frame = kNoFrame, .found_by = FoundBy::replay}, cx);
  });
}

}  // namespace farfault
