// The load/store unit of an SM: from a coalesced transaction to its response.
#include "farfault/compute/sm.hpp"

namespace farfault {

namespace {

// A tag has a number in its lower bits: that of the MSHR or, of a store, of the warp's context.
constexpr unsigned kStreamBit = 16;      // from here on: the stream of whose accesses it is
constexpr unsigned kGenerationBit = 30;  // the generation of the access, for its drain
constexpr std::uint32_t kStoreTag = 1U << 31;
constexpr std::uint32_t kNumberMask = (1U << kStreamBit) - 1;
static_assert(kMostStreams <= 1U << (kGenerationBit - kStreamBit));

// What a translation counts as, of a transaction that missed the L1 TLB.
constexpr std::uint64_t SmStats::*count_of(FoundBy translation) {
  switch (translation) {
    case FoundBy::l2_tlb:
      return &SmStats::l2_tlb_hits;
    case FoundBy::gmmu:
      return &SmStats::gmmu_translations;
    case FoundBy::iommu:
      return &SmStats::iommu_translations;
    default:
      return &SmStats::fault_translations;
  }
}

}  // namespace

// An outstanding access of the warp is done: wakes it if that was what it waited for.
void Sm::wake_if_done(std::uint32_t context, Cx& cx) const {
  auto& s = cx.state();
  auto& w = s.warps[context];
  if (w.waits_loads == 0 || w.loads != 0 || (w.waits_stores != 0 && w.stores != 0)) return;
  w.waits_loads = 0;
  w.waits_stores = 0;
  s.warps.wake(context, std::max(w.loads_done, cx.now()));
}

// Moves transactions through the load/store unit, one per cycle, until it is empty or stalls.
void Sm::run_load_store(Cx& cx) const {
  auto& s = cx.state();
  while (!s.translated.empty()) {
    auto const at = std::max(s.lsu_free, cx.now());
    if (!access(s.translated.front(), at, cx)) return;
    s.translated.pop();
    s.drain.leave_queue();
    s.lsu_free = spec().clock.after(at);
  }
  for (auto& again = s.faulted.again(); !again.empty(); again.pop()) {
    if (!translate_item(again.front(), true, cx)) return;
    ++s.stats[again.front().stream].replayed;
  }
  while (s.position < s.current.size()) {
    if (!translate_item(s.current[s.position], false, cx)) return;
    ++s.position;
  }
  s.warps.load_store_free(s.lsu_free);
}

bool Sm::translate_item(LsuItem const& item, bool again, Cx& cx) const {
  auto& s = cx.state();
  auto const at = std::max(s.lsu_free, cx.now());
  auto const looked_up = at + spec().clock.cycles(spec().l1_tlb.latency);
  auto const page = item.address >> spec().page_bits;
  if (auto const found = s.l1_tlb->lookup(page)) {
    auto translated = item;
    translated.address = found->physical_of(item.address, spec().page_bits);
    if (!access(translated, looked_up, cx)) return false;
    if (!again) ++s.stats[item.stream].l1_tlb_hits;
  } else {
    // What is looked up again has had its place among the faulted, and gets it back: else it could wait for
    // itself.
    if (!again && !s.faulted.has_room()) return false;
    if (s.faulted.holds(page)) {
      keep_faulted(page, item, s);
      if (!again) ++s.stats[item.stream].l1_tlb_misses;
      s.lsu_free = spec().clock.after(at);
      return true;
    }
    if (!s.tlb_mshrs.can_wait()) return false;
    auto entry = s.tlb_mshrs.find(page);
    if (!entry) {
      if (s.tlb_mshrs.full()) return false;
      entry = s.tlb_mshrs.allocate(page);
      cx.send(translate, TranslateRequest{page, spec().index, item.application}, looked_up - cx.now());
    }
    s.tlb_mshrs.wait(*entry, item);
    if (!again) ++s.stats[item.stream].l1_tlb_misses;
  }
  s.lsu_free = spec().clock.after(at);
  return true;
}

void Sm::keep_faulted(std::uint64_t page, LsuItem item, SmState& s) const {
  auto& stats = s.stats[item.stream];
  if (item.has_faulted == 0) ++stats.fault_translations;
  item.has_faulted = 1;
  s.faulted.keep(page, item);
  s.warps.fault(item.context, item.access == Access::write);
  ++stats.faulted;
}

void Sm::on_translation(TranslateResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  if (m.found_by == FoundBy::replay) {
    if (!s.faulted.holds(m.page)) return;
    s.faulted.replay(
        m.page, [&](LsuItem const& item) { s.warps.replay(item.context, item.access == Access::write); });
  } else if (m.found_by == FoundBy::settled) {
    if (!s.faulted.holds(m.page)) return;
    s.l1_tlb->fill(m.page, m.translation());
    s.faulted.settle(m.page, [&](LsuItem item) {
      s.warps.replay(item.context, item.access == Access::write);
      ++s.stats[item.stream].replayed;
      item.address = m.translation().physical_of(item.address, spec().page_bits);
      s.translated.push(item);
    });
  } else {
    auto const found = m.translation();
    bool const mapped = m.found_by != FoundBy::nothing;
    if (mapped) s.l1_tlb->fill(m.page, found);
    auto const count = count_of(m.found_by);
    auto const entry = s.tlb_mshrs.find(m.page);
    FF_CHECK(entry.has_value(), path() + ": a translation that was not requested");
    s.tlb_mshrs.release(*entry, [&](LsuItem item) {
      if (!mapped) return keep_faulted(m.page, item, s);
      if (item.has_faulted == 0) ++(s.stats[item.stream].*count);
      item.address = found.physical_of(item.address, spec().page_bits);
      s.translated.push(item);
    });
  }
  run_load_store(cx);
  acknowledge_invalidations(cx);
  schedule_tick(cx);
}

void Sm::on_invalidate(Invalidate const& m, Cx& cx) const {
  auto& s = cx.state();
  if (s.l1_tlb->invalidate(m.page)) ++s.l1_tlb_invalidated;
  s.invalidations.push(m);
  acknowledge_invalidations(cx);
}

void Sm::acknowledge_invalidations(Cx& cx) const {
  auto& s = cx.state();
  s.invalidations.advance(s.drain, s.translated.size(), [&](Invalidate const& m) {
    auto const first = m.frame / spec().line_bytes;
    auto const lines = (std::uint64_t{1} << (spec().page_bits + m.size)) / spec().line_bytes;
    s.l1.invalidate(first, first + lines);
    cx.send(invalidated, Invalidated{m.move});
  });
}

bool Sm::has_credit(PhysAddr address, SmState const& s) const {
  if (device_of(address) != spec().device) return s.remote_credits != 0;
  return s.slice_credits[spec().memory.slice(offset_of(address))] != 0;
}

void Sm::send(LsuItem const& item, std::uint32_t tag, Time at, Cx& cx) const {
  auto& s = cx.state();
  auto const address = item.address;
  tag |= s.drain.send() << kGenerationBit | std::uint32_t{item.stream} << kStreamBit;
  MemRequest const request{address,     tag,        static_cast<std::uint16_t>(spec().index),
                           item.access, item.bytes, {item.space, item.application}};
  if (device_of(address) != spec().device) {
    --s.remote_credits;
    ++s.stats[item.stream].remote_accesses;
    cx.send(remote_request, request, at - cx.now());
  } else {
    auto const slice = spec().memory.slice(offset_of(address));
    --s.slice_credits[slice];
    cx.send(memory_request, slice, request, at - cx.now());
  }
}

// A translated transaction at the L1 cache; false when it has to wait for an MSHR or a credit.
bool Sm::access(LsuItem const& item, Time at, Cx& cx) const {
  auto& s = cx.state();
  auto const line = item.address / spec().line_bytes;
  auto const looked_up = at + spec().clock.cycles(spec().l1_cache.latency);
  if (item.access == Access::write) {
    if (!has_credit(item.address, s)) return false;
    s.l1.lookup(line);
    ++s.stats[item.stream].stores;
    send(item, kStoreTag | item.context, looked_up, cx);
    return true;
  }
  if (s.l1.lookup(line)) {
    ++s.stats[item.stream].l1_hits;
    auto& w = s.warps[item.context];
    --w.loads;
    w.loads_done = std::max(w.loads_done, looked_up);
    wake_if_done(item.context, cx);
    return true;
  }
  if (!s.l1_mshrs.can_wait()) return false;
  auto entry = s.l1_mshrs.find(line);
  if (!entry) {
    if (s.l1_mshrs.full() || !has_credit(item.address, s)) return false;
    entry = s.l1_mshrs.allocate(line);
    auto whole_line = item;
    whole_line.bytes = static_cast<std::uint8_t>(spec().line_bytes);
    send(whole_line, *entry, looked_up, cx);
  }
  s.l1_mshrs.wait(*entry, item.context);
  ++s.stats[item.stream].l1_misses;
  return true;
}

void Sm::on_memory(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  auto& stats = s.stats[m.tag >> kStreamBit & (kMostStreams - 1)];
  bool const hit = m.found_by == FoundBy::cache;
  if (device_of(m.address) != spec().device) {
    ++s.remote_credits;
    ++(hit ? stats.remote_l2_hits : stats.remote_l2_misses);
  } else {
    ++s.slice_credits[spec().memory.slice(offset_of(m.address))];
    ++(hit ? stats.l2_hits : stats.l2_misses);
  }
  s.drain.answered(m.tag >> kGenerationBit & 1);
  auto const number = m.tag & kNumberMask;
  if ((m.tag & kStoreTag) != 0) {
    --s.warps[number].stores;
    wake_if_done(number, cx);
  } else {
    s.l1.fill(s.l1_mshrs.key(number), false);
    s.l1_mshrs.release(number, [&](std::uint32_t context) {
      auto& w = s.warps[context];
      --w.loads;
      w.loads_done = std::max(w.loads_done, cx.now());
      wake_if_done(context, cx);
    });
  }
  if (lsu_busy(s)) run_load_store(cx);
  acknowledge_invalidations(cx);
  schedule_tick(cx);
}

}  // namespace farfault
