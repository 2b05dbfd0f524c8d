// SPDX-License-Identifier: Apache-2.0
// The load/store unit of an SM: from a coalesced transaction to its response.
#include "access_tag.hpp"
#include "farfault/compute/sm.hpp"
#include "farfault/parts/train.hpp"
#include "shared_wait.hpp"

namespace farfault {

namespace {

// The counter of a translation's source, for a transaction that missed the L1 TLB.
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

void Sm::wake(std::uint32_t context, Warp& w, Cx& cx) const {
  auto const at = w.waits_for_stores != 0 ? std::max(w.loads_done, w.stores_done) : w.loads_done;
  w.waits_for_loads = 0;
  w.waits_for_stores = 0;
  cx.state().warps.wake(context, std::max(at, cx.now()));
}

// Counts consecutive lines of one warp in one block of memory, up to the limit. The device of untranslated
// lines is unknown.
template <class Following>
std::uint32_t Sm::train_from(LsuItem const& item, std::uint64_t n, Following&& following) const {
  auto const most = std::max(spec().local_train, spec().remote_train);
  std::uint32_t lines = 1;
  for (auto expected = item.address + spec().line_bytes; lines < most && lines <= n; ++lines) {
    auto const& next = following(lines);
    if (next.address != expected || (expected ^ item.address) >= spec().train_block ||
        next.context != item.context || next.access != item.access)
      break;
    expected += spec().line_bytes;
  }
  return lines;
}

// Moves transactions through the load/store unit, one per cycle, until it is empty or stalls.
void Sm::run_load_store(Cx& cx) const {
  Outgoing outgoing;
  auto& s = cx.state();
  bool const stalls = !move_transactions(outgoing, cx);
  if (!stalls) s.warps.load_store_free(s.lsu_free);
  if (stalls || s.times.load_store.now() != LoadStoreStall::none)
    s.times.load_store.change(cx.now(), stalls ? outgoing.stall : LoadStoreStall::none);
  count_passed(outgoing.passed, 0, cx);
  depart(outgoing, cx);
}

bool Sm::move_transactions(Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  std::uint32_t train = 0;  // of the following lines
  auto& client = s.translation;
  while (!client.translated().empty()) {
    auto const& queue = client.translated();
    auto const& item = queue.front();
    if (train == 0) train = train_from(item, queue.size() - 1, [&](std::uint64_t i) { return queue[i]; });
    auto const at = std::max(s.lsu_free, cx.now());
    if (item.stream != outgoing.passed.stream) count_passed(outgoing.passed, item.stream, cx);
    if (!access(item, at, train, outgoing, cx)) return false;
    --train;
    client.pop_translated();
    s.lsu_free = spec().clock.after(at);
  }
  for (auto& again = client.again(); !again.empty(); again.pop()) {
    if (again.front().stream != outgoing.passed.stream)
      count_passed(outgoing.passed, again.front().stream, cx);
    if (!translate_item(
            again.front(), true, outgoing, [] { return 1U; }, cx))
      return false;
    ++s.stats[again.front().stream].replayed;
  }
  if (s.position < s.current.size() && s.current[s.position].stream != outgoing.passed.stream)
    count_passed(outgoing.passed, s.current[s.position].stream, cx);
  for (train = 0; s.position < s.current.size(); ++s.position) {
    auto const& item = s.current[s.position];
    auto const lines = [&] {
      if (train == 0)
        train = train_from(item, s.current.size() - s.position - 1,
                           [&](std::uint64_t i) { return s.current[s.position + i]; });
      return train--;
    };
    if (!translate_item(item, false, outgoing, lines, cx)) return false;
  }
  return true;
}

template <class Lines>
bool Sm::translate_item(LsuItem const& item, bool again, Outgoing& outgoing, Lines&& lines, Cx& cx) const {
  auto& s = cx.state();
  if (!s.translation.may_look_up()) {
    outgoing.stall = LoadStoreStall::l1_tlb_mshr;
    return false;
  }
  auto const at = std::max(s.lsu_free, cx.now());
  auto const looked_up = at + l1_tlb_latency_;
  auto const since = item.since;
  auto const begins = std::max(at, since);
  auto const ends = begins + l1_tlb_latency_;
  auto const page = item.address >> spec().page_bits;
  if (page != outgoing.page) {
    outgoing.page = page;
    outgoing.found = s.translation.lookup(page);
    outgoing.missed.reset();
  }
  if (outgoing.found && outgoing.found->allows(item.access)) {
    auto translated = item;
    translated.address = outgoing.found->physical_of(item.address, spec().page_bits);
    translated.since = ends;
    if (!access(translated, looked_up, lines(), outgoing, cx)) return false;
    report_use(page, item.access, cx);
    if (!again) ++outgoing.passed.l1_tlb_hits;
  } else if (!wait_for_translation(item, again, looked_up, ends, outgoing, cx)) {
    return false;
  }
  outgoing.passed.load_store_time += ps(begins - since);
  ++outgoing.passed.l1_tlb_lookups;
  s.lsu_free = spec().clock.after(at);
  return true;
}

// An access to a page that misses the L1 TLB; false if it must wait for room to wait in.
bool Sm::wait_for_translation(LsuItem const& item, bool again, Time looked_up, Time since, Outgoing& outgoing,
                              Cx& cx) const {
  auto& s = cx.state();
  switch (s.translation.place(outgoing.page, again, outgoing.missed)) {
    case MissPlace::no_room:
      outgoing.stall = LoadStoreStall::faulted;
      return false;
    case MissPlace::no_mshr:
      outgoing.stall = LoadStoreStall::l1_tlb_mshr;
      return false;
    case MissPlace::replay:
      park(outgoing.page, item, since, s);
      break;
    case MissPlace::new_mshr: {
      auto const slot =
          static_cast<std::uint8_t>(std::min(s.warps[item.context].slot, WarpOrder::kMaxWarps - 1));
      cx.send(translate,
              TranslateRequest{.page = outgoing.page,
                               .from = spec().index,
                               .application = item.application,
                               .access = item.access,
                               .warp = slot,
                               .stalled = s.stalled_warps.take(item.application)},
              looked_up - cx.now());
      [[fallthrough]];
    }
    case MissPlace::mshr: {
      auto& waiting = s.translation.wait(*outgoing.missed);
      waiting = item;
      waiting.since = since;
    }
  }
  if (!again) ++s.stats[item.stream].l1_tlb_misses;
  return true;
}

void Sm::park(std::uint64_t page, LsuItem item, Time since, SmState& s) const {
  auto& stats = s.stats[item.stream];
  if (item.has_faulted == 0) ++stats.fault_translations;
  item.has_faulted = 1;
  item.since = since;
  s.translation.park(page, item);
  s.warps.fault(item.context, item.access == Access::write);
  ++stats.faulted;
}

// What the transactions that a response concerns do (translation_client.hpp).
struct Sm::Responding {
  Sm const& sm;
  TranslateResponse const& m;
  Cx& cx;
  SmState& s;
  SharedWait waits{m.stages.sum()};
  std::uint8_t stream = 0;

  // Counts the wait of a transaction. Returns when its next stage begins.
  Time waited(LsuItem const& item) {
    s.stalled_warps.add(item.application, item.context);
    if (item.stream != stream) {
      count_shared();
      waits = SharedWait(m.stages.sum());
      stream = item.stream;
    }
    // The response may arrive before the look-up that missed has ended: the next stage begins at that end.
    auto const now = std::max(cx.now(), item.since);
    if (!waits.add(now - item.since)) sm.count_translation(m, now - item.since, s.stats[stream].stages);
    return now;
  }
  void count_shared() { sm.count_translations(m, waits, s.stats[stream].stages); }

  void translated(LsuItem const& item) {
    auto const now = waited(item);
    if (item.has_faulted == 0) ++(s.stats[item.stream].*count_of(m.found_by));
    queue(item, now);
  }
  void faulted(LsuItem const& item) { sm.park(m.page, item, waited(item), s); }
  void again(LsuItem& item) {
    s.warps.replay(item.context, item.access == Access::write);
    auto const now = std::max(cx.now(), item.since);
    s.stats[item.stream].stages.fault += ps(now - item.since);
    s.times.fault_wait.add(ps(now - item.since));
    item.since = now;
  }
  void settled(LsuItem item) {
    again(item);
    ++s.stats[item.stream].replayed;
    queue(item, item.since);
  }
  static std::uint16_t requester(LsuItem const& item) { return item.context; }

  void queue(LsuItem const& item, Time since) {
    sm.report_use(m.page, item.access, cx);
    auto& translated = s.translation.translated().push(item);
    translated.address = m.translation().physical_of(item.address, sm.spec().page_bits);
    translated.since = since;
  }
};

void Sm::on_translation(TranslateResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  Responding responding{*this, m, cx, s};
  s.stalled_warps.begin();
  if (!s.translation.respond(m, responding)) return;
  responding.count_shared();
  run_load_store(cx);
  if (s.translation.is_invalidating()) acknowledge_invalidations(cx);
  if (swaps()) swap_blocks(cx);
  schedule_tick(cx);
}

void Sm::on_invalidate(Invalidate const& m, Cx& cx) const {
  auto& s = cx.state();
  s.l1_tlb_invalidated += s.translation.invalidate(m);
  acknowledge_invalidations(cx);
}

void Sm::acknowledge_invalidations(Cx& cx) const {
  auto& s = cx.state();
  s.translation.acknowledge([&](Invalidate const& m) {
    auto const first = line_of(m.frame);
    auto const lines = line_of(std::uint64_t{1} << (spec().page_bits + m.size));
    s.l1.invalidate(first, first + lines);
    cx.send(invalidated, Invalidated{m.move});
  });
}

std::uint32_t Sm::credits(PhysAddr address, SmState const& s) const {
  if (is_remote(address)) return s.remote_credits;
  return s.slice_credits[spec().memory.slice(offset_of(address))];
}

void Sm::send(LsuItem const& item, std::uint32_t tag, Time at, Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  auto const generation = s.translation.send();
  bool const remote = is_remote(item.address);
  if (remote) {
    --s.remote_credits;
    ++s.stats[item.stream].remote_accesses;
  } else {
    --s.slice_credits[spec().memory.slice(offset_of(item.address))];
  }
  tag |= generation << kGenerationBit | std::uint32_t{item.stream} << kStreamBit;
  auto& r = outgoing.request;
  if (outgoing.lines != 0 && outgoing.lines < (remote ? spec().remote_train : spec().local_train) &&
      item.address == r.address + std::uint64_t{outgoing.lines} * spec().line_bytes &&
      (item.address ^ r.address) < spec().train_block && item.access == r.access &&
      item.bytes == spec().line_bytes && r.bytes == spec().line_bytes && item.context == outgoing.context &&
      generation == (r.tag >> kGenerationBit & 1)) {
    ++outgoing.lines;
    outgoing.last = at;
    return;
  }
  depart(outgoing, cx);
  r = {.address = item.address,
       .tag = tag,
       .from = static_cast<std::uint16_t>(spec().index),
       .access = item.access,
       .bytes = item.bytes,
       .requester = {item.space, item.application}};
  outgoing.first = outgoing.last = at;
  outgoing.lines = 1;
  outgoing.context = item.context;
}

void Sm::depart(Outgoing& outgoing, Cx& cx) const {
  if (outgoing.lines == 0) return;
  auto& request = outgoing.request;
  request.train = train_between(outgoing.first, outgoing.last, outgoing.lines - 1);
  auto const in = outgoing.first - cx.now();
  if (is_remote(request.address))
    cx.send(remote_request, request, in);
  else
    cx.send(memory_request, spec().memory.slice(offset_of(request.address)), request, in);
  outgoing.lines = 0;
}

// A translated transaction at the L1 cache; false if it must wait for an MSHR or a credit. It waits for
// enough of them for its whole train, so that earlier transactions do not force a line to travel alone.
bool Sm::access(LsuItem const& item, Time at, std::uint32_t train, Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  auto const line = line_of(item.address);
  auto const looked_up = at + l1_cache_latency_;
  auto const since = item.since;
  auto const begins = std::max(at, since);
  auto const ends = begins + l1_cache_latency_;
  bool const remote = is_remote(item.address);
  train = std::min(train, remote ? spec().remote_train : spec().local_train);
  auto const lacks_credits = remote ? LoadStoreStall::remote_credit : LoadStoreStall::l2_credit;
  auto const stall = [&](LoadStoreStall why) {
    outgoing.stall = why;
    return false;
  };
  if (item.access == Access::write) {
    if (credits(item.address, s) < train) return stall(lacks_credits);
    s.l1.lookup(line);
    ++s.stats[item.stream].stores;
    outgoing.passed.load_store_time += ps(begins - since);
    ++outgoing.passed.other_l1_cache_lookups;
    auto& w = s.warps[item.context];
    (remote ? w.remote_store_time : w.store_time) -= ps(ends.time_since_epoch());
    send(item, kStoreTag | item.context, looked_up, outgoing, cx);
    return true;
  }
  if (s.l1.lookup(line)) {
    outgoing.passed.load_store_time += ps(begins - since);
    ++outgoing.passed.l1_hits;
    outgoing.passed.hit_time += ps(ends - cx.now());
    s.times.load_latency.add(ps(ends - item.issued));
    auto& w = s.warps[item.context];
    --w.loads;
    w.loads_done = std::max(w.loads_done, looked_up);
    wake_if_done(item.context, w, cx);
    return true;
  }
  if (!s.l1_mshrs.can_wait()) return stall(LoadStoreStall::l1_mshr);
  auto entry = s.l1_mshrs.find(line);
  if (!entry) {
    if (s.l1_mshrs.free() < train || !s.l1_mshrs.can_wait(train)) return stall(LoadStoreStall::l1_mshr);
    if (credits(item.address, s) < train) return stall(lacks_credits);
    entry = s.l1_mshrs.allocate(line);
    auto whole_line = item;
    whole_line.bytes = static_cast<std::uint8_t>(spec().line_bytes);
    send(whole_line, *entry, looked_up, outgoing, cx);
  }
  s.l1_mshrs.one_more(*entry) = LoadWaiter(item.issued, ends, item.context);
  ++s.stats[item.stream].l1_misses;
  outgoing.passed.load_store_time += ps(begins - since);
  ++outgoing.passed.other_l1_cache_lookups;
  return true;
}

void Sm::on_memory(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  if ((m.tag & kNumberMask) == kContextNumber) return on_context(m, cx);
  auto const stream = m.tag >> kStreamBit & (kMaxStreams - 1);
  auto& stats = s.stats[stream];
  auto& outstanding = s.times.outstanding[stream];
  auto const lines = m.train.lines();
  bool const hit = m.found_by == FoundBy::cache;
  if (is_remote(m.address)) {
    s.remote_credits += lines;
    (hit ? stats.remote_l2_hits : stats.remote_l2_misses) += lines;
  } else {
    s.slice_credits[spec().memory.slice(offset_of(m.address))] += lines;
    (hit ? stats.l2_hits : stats.l2_misses) += lines;
  }
  s.translation.responded(m.tag >> kGenerationBit & 1, lines);
  auto const number = m.tag & kNumberMask;
  bool changed = lsu_busy(s) || swaps();
  if ((m.tag & kStoreTag) != 0) {
    auto& w = s.warps[number];
    w.stores -= lines;
    count_stores(m, w, stats, outstanding, cx.now());
    w.stores_done = std::max(w.stores_done, usable(m.train, lines - 1, cx.now()));
    changed = wake_if_done(number, w, cx) || changed;
  } else {
    auto const first = line_of(m.address);
    SharedWait waits(m.stages.sum());
    std::uint64_t loads = 0;
    std::uint64_t ahead = 0;  // ps from now until their data
    for (std::uint32_t i = 0; i < lines; ++i) {
      auto const at = usable(m.train, i, cx.now());
      s.l1.insert(first + i, false);  // absent, as when its MSHR was allocated
      s.l1_mshrs.release(*s.l1_mshrs.find(first + i), [&](LoadWaiter const& waiter) {
        // A line may arrive before the look-up in the L1 cache has ended.
        auto const since = waiter.since();
        auto const ends = std::max(at, since);
        if (!waits.add(ends - since)) count_load(m, ends - since, stats.stages);
        ++loads;
        ahead += ps(ends - cx.now());
        s.times.load_latency.add(ps(ends - waiter.issued));
        auto& w = s.warps[waiter.context()];
        --w.loads;
        w.loads_done = std::max(w.loads_done, at);
        changed = wake_if_done(waiter.context(), w, cx) || changed;
      });
    }
    count_loads(m, waits, stats.stages);
    stats.access_time += outstanding.advance(cx.now()) + ahead;
    outstanding.number -= loads;
  }
  if (lsu_busy(s)) run_load_store(cx);
  if (s.translation.is_invalidating()) acknowledge_invalidations(cx);
  if (swaps()) {
    send_context(cx);
    swap_blocks(cx);
  }
  // If no warp was woken, the SM's state is unchanged, unless its warps now wait only for faults.
  if (changed || s.warps.any_faulted()) schedule_tick(cx);
}

}  // namespace farfault
