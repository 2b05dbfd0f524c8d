// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/l2_tlb.hpp"

#include <algorithm>

namespace farfault {

L2Tlb::L2Tlb(Slot<L2TlbSpec> slot) : Component(std::move(slot)) {
  if (spec().reports_faults) faulted = out<RawFault>("faulted");
  if (spec().pressure_epoch != 0) pressure = out<WalkPressure>("pressure");
  if (spec().balance_epoch == 0) return;
  collect = in<&L2Tlb::on_collect>("collect");
  counts = out<TlbCounts>("counts");
}

L2TlbState L2Tlb::initial() const {
  L2TlbState s;
  auto const& p = spec().params;
  auto const outstanding = spec().requesters.count() * spec().requests_each;
  s.tlb =
      p.policies.make(p.entries, p.ways, spec().page_bits, spec().page_sizes, spec().mapped_at_start, true);
  s.fill = p.fill.make({.clock = spec().clock,
                        .sms = spec().sms,
                        .page_bits = spec().page_bits,
                        .page_sizes = spec().page_sizes,
                        .replacement = &p.policies.replacement});
  s.ports = Ports(p.ports);
  s.mshrs = MshrTable<L2TlbWaiter>(p.mshrs, outstanding);
  s.stalled = Ring<TranslateRequest>(outstanding);
  s.invalidating.resize(spec().moves);
  s.stats = ByApplication<L2TlbStats>(static_cast<std::uint32_t>(spec().applications.size()));
  if (spec().pressure_epoch != 0)
    s.pressure = WalkPressureCounts(static_cast<std::uint32_t>(spec().applications.size()));
  return s;
}

L2Tlb::ApplicationStats L2Tlb::application_stats() const {
  return counted_by_application<&L2TlbState::stats>(spec().applications);
}

std::vector<L2Tlb::PolicyStats> L2Tlb::policy_stats() const {
  auto const& p = spec().params.policies;
  return {{{spec().section + ".organization", p.organization.stats()},
           [](L2TlbState const& s) -> StatSource const& { return s.tlb; }},
          {{spec().section + ".replacement", p.replacement.stats()},
           [](L2TlbState const& s) -> StatSource const& { return *s.tlb; }},
          {{spec().section + ".fill", spec().params.fill.stats()},
           [](L2TlbState const& s) -> StatSource const& { return s.fill; }}};
}

std::string L2Tlb::waiting_for() const {
  auto const& s = state();
  if (s.mshrs.in_use() == 0 && s.stalled.empty()) return {};
  return std::to_string(s.mshrs.in_use()) + " translations, " + std::to_string(s.stalled.size()) +
         " requests stalled";
}

void L2Tlb::on_request(TranslateRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  if (s.pressure.counts()) {
    report_pressure(cx);
    s.pressure.stalled(m.application, m.stalled);
  }
  if (serve(m, cx)) return;
  ++s.stats[m.application].mshr_stalls;
  s.stalled.push(m);
  s.mshr_stall.set(cx.now(), true);
}

// False if the request needs an MSHR and all are in use, which holds while other requests are stalled. Hits
// and merged misses pass the stalled requests.
bool L2Tlb::serve(TranslateRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const at = std::max(s.ports.free_at(), cx.now());
  auto looked_up = at + spec().clock.cycles(spec().params.latency);
  TlbFill::Requester const requester{m.client, m.application, m.warp};
  auto found = s.tlb->lookup(m.page);
  if (!found || !found->allows(m.access))
    found = s.fill->lookup_bypassed(m.page, m.access);
  else if (auto const delay = s.tlb->hit_delay(); delay != 0)
    looked_up += spec().clock.cycles(delay);
  bool const hit = found && found->allows(m.access);
  if (hit) {
    ++s.stats[m.application].hits;
    ++s.balance.hits;
    s.last_response = std::max(s.last_response, looked_up);
    cx.send(response, m.from,
            TranslateResponse{
                .page = m.page, .frame = found->frame, .found_by = FoundBy::l2_tlb, .size = found->size},
            looked_up - cx.now() + further(m.from));
  } else {
    auto entry = s.mshrs.find(m.page);
    if (!entry) {
      if (s.mshrs.full()) return false;
      entry = s.mshrs.allocate(m.page);
      ++s.balance.misses;
      if (s.pressure.counts()) s.pressure.missed(m.application);
      auto const& next = spec().next;
      auto const bank = next.banks.bank_of(m.page);
      cx.send(miss, bank,
              TranslateRequest{.page = m.page,
                               .from = next.from,
                               .application = m.application,
                               .access = m.access,
                               .warp = m.warp,
                               .client = m.client},
              looked_up - cx.now() + next.hop.to(bank));
    } else {
      ++s.stats[m.application].merged_misses;
    }
    s.mshrs.wait(*entry, {.since = looked_up,
                          .client = m.client,
                          .from = static_cast<std::uint16_t>(m.from),
                          .application = m.application,
                          .access = m.access,
                          .warp = m.warp});
    ++s.stats[m.application].misses;
  }
  s.fill->looked_up(requester, hit, cx.now());
  if (spec().balance_epoch != 0) count_for_balance(m, cx);
  auto const until = spec().clock.after(at);
  s.ports.take(until);
  s.busy_ps += static_cast<std::uint64_t>(picoseconds(until - at));
  return true;
}

void L2Tlb::on_filled(TranslateResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  if (is_replay(m.found_by)) return replay(m, cx);
  auto const entry = s.mshrs.find(m.page);
  FF_CHECK(entry.has_value(),
           path() + ": translation of page " + std::to_string(m.page) + " without a request");
  bool const faults = m.found_by == FoundBy::nothing;
  if (faults)
    ++s.faulted_misses;
  else
    fill(*entry, m, cx);
  if (s.pressure.counts()) {
    report_pressure(cx);
    s.mshrs.first_waiter(*entry, [&](L2TlbWaiter const& w) { s.pressure.responded(w.application); });
  }
  auto at = cx.now();
  s.mshrs.release(*entry, [&](L2TlbWaiter const& w) {
    auto const stages = m.stages.last_of(cx.now() - w.since);
    cx.send(response, w.from,
            TranslateResponse{
                .page = m.page, .frame = m.frame, .found_by = m.found_by, .size = m.size, .stages = stages},
            at - cx.now() + further(w.from));
    if (faults && spec().reports_faults)
      cx.send(faulted,
              RawFault{.page = m.page, .client = w.client, .application = w.application, .access = w.access},
              at - cx.now());
    s.last_response = std::max(s.last_response, at);
    at = spec().clock.after(at);
  });
  while (!s.stalled.empty() && serve(s.stalled.front(), cx)) s.stalled.pop();
  s.mshr_stall.set(cx.now(), !s.stalled.empty());
}

void L2Tlb::fill(std::uint32_t entry, TranslateResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  bool fills = false;
  s.mshrs.each_waiter(entry,
                      [&](L2TlbWaiter const& w) { fills = fills || s.fill->fills(w.requester(), cx.now()); });
  if (fills)
    s.tlb->fill(m.page, m.translation());
  else
    s.fill->keep_bypassed(m.page, m.translation());
}

// Reports at the first request or response of an epoch; idle epochs send nothing.
void L2Tlb::report_pressure(Cx& cx) const {
  auto& s = cx.state();
  auto const epoch = static_cast<std::uint64_t>(picoseconds(cx.now()) /
                                                picoseconds(spec().clock.cycles(spec().pressure_epoch)));
  if (epoch == s.pressure_epoch) return;
  s.pressure_epoch = epoch;
  s.pressure.report([&](WalkPressure const& m) {
    for (std::uint32_t c = 0; c < spec().channels; ++c) cx.send(pressure, c, m);
  });
}

void L2Tlb::count_for_balance(TranslateRequest const& m, Cx& cx) const {
  auto& c = cx.state().balance;
  if (further(m.from) == Duration::zero()) return;
  if (++c.far % spec().balance_epoch == 0) cx.send(counts, TlbCounts{.bank = spec().bank, .asks = 1});
}

void L2Tlb::on_collect(Tick const&, Cx& cx) const {
  auto& c = cx.state().balance;
  cx.send(counts, TlbCounts{.hits = c.hits, .misses = c.misses, .far = c.far, .bank = spec().bank});
  c = {};
}

// Sent to every group of requesters, as in hardware: the TLB does not record which requesters got a fault
// response.
void L2Tlb::replay(TranslateResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  bool const of_all = m.page == kEveryPage;
  if (of_all && ++s.replays_of_all < spec().next.banks.count()) return;
  if (m.found_by == FoundBy::settled) s.tlb->fill(m.page, m.translation());
  s.last_response = std::max(s.last_response, cx.now());
  auto const forward = [&](std::uint32_t to) {
    cx.send(response, to, m, s.last_response - cx.now() + further(to));
  };
  if (!of_all) return spec().requesters.each_of(m.page, forward);
  s.replays_of_all = 0;
  spec().requesters.each(forward);
}

void L2Tlb::on_invalidate(Invalidate const& m, Cx& cx) const {
  auto& s = cx.state();
  auto forward = m;
  if (invalidates_all_ || m.all != 0) {
    s.invalidated_entries += s.tlb->invalidate_all() + s.fill->invalidate_all();
    forward.all = 1;
  } else {
    if (s.tlb->invalidate(m.page)) ++s.invalidated_entries;
    if (s.fill->invalidate(m.page)) ++s.invalidated_entries;
  }
  auto const at = std::max(s.ports.free_at(), cx.now());
  s.ports.take(spec().clock.after(at));
  auto const leaves = spec().clock.after(std::max(at, s.last_response)) - cx.now();
  auto const sender = spec().next.banks.bank_of(m.page);
  if (spec().bank != spec().banks.bank_of(m.page))
    return cx.send(acknowledge, sender, Invalidated{m.move}, leaves + spec().next.hop.to(sender));
  auto& invalidation = s.invalidating[m.move];
  invalidation.sender = sender;
  auto const send = [&](std::uint32_t to) {
    ++invalidation.missing;
    cx.send(forwarded, to, forward, leaves + further(to));
  };
  if (forward.all != 0)
    spec().requesters.each(send);
  else
    spec().requesters.each_of(m.page, send);
}

void L2Tlb::on_invalidated(Invalidated const& m, Cx& cx) const {
  auto& invalidation = cx.state().invalidating[m.move];
  FF_CHECK(invalidation.missing > 0, path() + ": acknowledgement without an invalidation");
  if (--invalidation.missing == 0)
    cx.send(acknowledge, invalidation.sender, m, spec().next.hop.to(invalidation.sender));
}

template class Component<L2TlbSpec, L2TlbState>;

}  // namespace farfault
