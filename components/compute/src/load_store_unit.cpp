// SPDX-License-Identifier: Apache-2.0
#include "load_store_unit.hpp"

#include "access_stages.hpp"
#include "access_tag.hpp"
#include "farfault/parts/train.hpp"

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

// Counts consecutive lines of one warp in one block of memory, up to the limit. The device of untranslated
// lines is unknown.
template <class Following>
std::uint32_t LoadStoreUnit::train_from(LsuItem const& item, std::uint64_t n, Following&& following) const {
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
void LoadStoreUnit::run() {
  Outgoing o;
  bool const stalls = !move_transactions(o);
  if (!stalls) s_.warps.load_store_free(unit().free);
  if (stalls || s_.times.load_store.now() != LoadStoreStall::none)
    s_.times.load_store.change(cx_.now(), stalls ? o.stall : LoadStoreStall::none);
  count_passed(o.passed, 0);
  depart(o);
}

bool LoadStoreUnit::move_transactions(Outgoing& o) {
  std::uint32_t train = 0;  // of the following lines
  auto& client = unit().translation;
  while (!client.translated().empty()) {
    auto const& queue = client.translated();
    auto const& item = queue.front();
    if (train == 0) train = train_from(item, queue.size() - 1, [&](std::uint64_t i) { return queue[i]; });
    auto const at = std::max(unit().free, cx_.now());
    if (item.stream != o.passed.stream) count_passed(o.passed, item.stream);
    if (!access(item, at, train, o)) return false;
    --train;
    client.pop_translated();
    unit().free = spec().clock.after(at);
  }
  for (auto& again = client.again(); !again.empty(); again.pop()) {
    if (again.front().stream != o.passed.stream) count_passed(o.passed, again.front().stream);
    if (!translate_item(
            again.front(), true, [] { return 1U; }, o))
      return false;
    ++s_.stats[again.front().stream].replayed;
  }
  if (unit().position < unit().current.size() && unit().current[unit().position].stream != o.passed.stream)
    count_passed(o.passed, unit().current[unit().position].stream);
  for (train = 0; unit().position < unit().current.size(); ++unit().position) {
    auto const& item = unit().current[unit().position];
    auto const lines = [&] {
      if (train == 0)
        train = train_from(item, unit().current.size() - unit().position - 1,
                           [&](std::uint64_t i) { return unit().current[unit().position + i]; });
      return train--;
    };
    if (!translate_item(item, false, lines, o)) return false;
  }
  return true;
}

template <class Lines>
bool LoadStoreUnit::translate_item(LsuItem const& item, bool again, Lines&& lines, Outgoing& o) {
  if (!unit().translation.may_look_up()) {
    o.stall = LoadStoreStall::l1_tlb_mshr;
    return false;
  }
  auto const at = std::max(unit().free, cx_.now());
  auto const looked_up = at + sm_.l1_tlb_latency_;
  auto const since = item.since;
  auto const begins = std::max(at, since);
  auto const ends = begins + sm_.l1_tlb_latency_;
  auto const page = item.address >> spec().page_bits;
  if (page != o.page) {
    o.page = page;
    o.found = unit().translation.lookup(page);
    o.missed.reset();
  }
  if (o.found && o.found->allows(item.access)) {
    auto translated = item;
    translated.address = o.found->physical_of(item.address, spec().page_bits);
    translated.since = ends;
    if (!access(translated, looked_up, lines(), o)) return false;
    report_use(page, item.access);
    if (!again) ++o.passed.l1_tlb_hits;
  } else if (!wait_for_translation(item, again, looked_up, ends, o)) {
    return false;
  }
  o.passed.load_store_time += ps(begins - since);
  ++o.passed.l1_tlb_lookups;
  unit().free = spec().clock.after(at);
  return true;
}

// An access to a page that misses the L1 TLB; false if it must wait for room to wait in.
bool LoadStoreUnit::wait_for_translation(LsuItem const& item, bool again, Time looked_up, Time since,
                                         Outgoing& o) {
  switch (unit().translation.place(o.page, again, o.missed)) {
    case MissPlace::no_room:
      o.stall = LoadStoreStall::faulted;
      return false;
    case MissPlace::no_mshr:
      o.stall = LoadStoreStall::l1_tlb_mshr;
      return false;
    case MissPlace::replay:
      park(o.page, item, since);
      break;
    case MissPlace::new_mshr: {
      auto const slot =
          static_cast<std::uint8_t>(std::min(s_.warps[item.context].slot, WarpOrder::kMaxWarps - 1));
      auto const bank = spec().tlbs.bank_of(o.page, unit().translation.distribution());
      cx_.send(sm_.translate, bank,
               TranslateRequest{.page = o.page,
                                .from = spec().tlbs.from,
                                .application = item.application,
                                .access = item.access,
                                .warp = slot,
                                .stalled = unit().stalled_warps.take(item.application),
                                .client = static_cast<std::uint16_t>(spec().index)},
               looked_up - cx_.now() + spec().tlbs.hop.to(bank));
      [[fallthrough]];
    }
    case MissPlace::mshr: {
      auto& waiting = unit().translation.wait(*o.missed);
      waiting = item;
      waiting.since = since;
    }
  }
  if (!again) ++s_.stats[item.stream].l1_tlb_misses;
  return true;
}

void LoadStoreUnit::park(std::uint64_t page, LsuItem item, Time since) {
  auto& stats = s_.stats[item.stream];
  if (item.has_faulted == 0) ++stats.fault_translations;
  item.has_faulted = 1;
  item.since = since;
  unit().translation.park(page, item);
  s_.warps.fault(item.context, item.access == Access::write);
  ++stats.faulted;
}

// Effects of a response on the transactions that wait for it (translation_client.hpp).
struct LoadStoreUnit::Responding {
  LoadStoreUnit& unit;
  TranslateResponse const& m;
  std::uint64_t SmStats::*count = count_of(m.found_by);
  SharedWait waits{m.stages.sum()};
  std::uint8_t stream = 0;

  SmStats& stats_of(LsuItem const& item) { return unit.s_.stats[item.stream]; }
  // Counts the wait of a transaction. Returns when its next stage begins.
  [[gnu::always_inline]] Time waited(LsuItem const& item) {
    unit.unit().stalled_warps.add(item.application, item.context);
    if (item.stream != stream) {
      count_shared();
      waits = SharedWait(m.stages.sum());
      stream = item.stream;
    }
    // The response may arrive before the look-up that missed has ended: the next stage begins at that end.
    auto const now = std::max(unit.cx_.now(), item.since);
    if (!waits.add(now - item.since)) count_translation(m, now - item.since, stats_of(item).stages);
    return now;
  }
  void count_shared() { count_translations(m, waits, unit.s_.stats[stream].stages); }

  [[gnu::always_inline]] void translated(LsuItem const& item) {
    auto const now = waited(item);
    if (item.has_faulted == 0) ++(stats_of(item).*count);
    queue(item, now);
  }
  void faulted(LsuItem const& item) { unit.park(m.page, item, waited(item)); }
  void again(LsuItem& item) {
    unit.s_.warps.replay(item.context, item.access == Access::write);
    auto const now = std::max(unit.cx_.now(), item.since);
    stats_of(item).stages.fault += ps(now - item.since);
    unit.s_.times.fault_wait.add(ps(now - item.since));
    item.since = now;
  }
  void settled(LsuItem item) {
    again(item);
    ++stats_of(item).replayed;
    queue(item, item.since);
  }
  static std::uint16_t requester(LsuItem const& item) { return item.context; }

  [[gnu::always_inline]] void queue(LsuItem const& item, Time since) {
    unit.report_use(m.page, item.access);
    auto& translated = unit.unit().translation.translated().push(item);
    translated.address = m.translation().physical_of(item.address, unit.spec().page_bits);
    translated.since = since;
  }
};

bool LoadStoreUnit::respond(TranslateResponse const& m) {
  Responding responding{*this, m};
  unit().stalled_warps.begin();
  if (!unit().translation.respond(m, responding)) return false;
  responding.count_shared();
  return true;
}

void LoadStoreUnit::invalidate(Invalidate const& m) {
  unit().l1_tlb_invalidated += unit().translation.invalidate(m);
  acknowledge_invalidations();
}

void LoadStoreUnit::acknowledge_invalidations() {
  unit().translation.acknowledge([&](Invalidate const& m) {
    auto const first = sm_.line_of(m.frame);
    auto const lines = sm_.line_of(std::uint64_t{1} << (spec().page_bits + m.size));
    unit().l1.invalidate(first, first + lines);
    auto const bank = spec().tlbs.banks.bank_of(m.page);
    cx_.send(sm_.invalidated, bank, Invalidated{m.move}, spec().tlbs.hop.to(bank));
  });
}

void LoadStoreUnit::send(LsuItem const& item, std::uint32_t tag, Time at, Outgoing& o) {
  auto const generation = unit().translation.send();
  bool const remote = sm_.is_remote(item.address);
  if (remote) {
    --unit().remote_credits;
    ++s_.stats[item.stream].remote_accesses;
  } else {
    --unit().slice_credits[spec().memory.slice(offset_of(item.address))];
  }
  tag |= generation << kGenerationBit | std::uint32_t{item.stream} << kStreamBit;
  auto& r = o.request;
  if (o.lines != 0 && o.lines < (remote ? spec().remote_train : spec().local_train) &&
      item.address == r.address + std::uint64_t{o.lines} * spec().line_bytes &&
      (item.address ^ r.address) < spec().train_block && item.access == r.access &&
      item.bytes == spec().line_bytes && r.bytes == spec().line_bytes && item.context == o.context &&
      generation == (r.tag >> kGenerationBit & 1)) {
    ++o.lines;
    o.last = at;
    return;
  }
  depart(o);
  r = {.address = item.address,
       .tag = tag,
       .from = static_cast<std::uint16_t>(spec().index),
       .access = item.access,
       .bytes = item.bytes,
       .requester = {item.space, item.application}};
  o.first = o.last = at;
  o.lines = 1;
  o.context = item.context;
}

void LoadStoreUnit::depart(Outgoing& o) {
  if (o.lines == 0) return;
  auto& request = o.request;
  request.train = train_between(o.first, o.last, o.lines - 1);
  auto const in = o.first - cx_.now();
  if (sm_.is_remote(request.address))
    cx_.send(sm_.remote_request, request, in);
  else
    sm_.send_to_slice(request, in, cx_);
  o.lines = 0;
}

// A translated transaction at the L1 cache; false if it must wait for an MSHR or a credit. It waits for
// enough of them for its whole train, so that earlier transactions do not force a line to travel alone.
bool LoadStoreUnit::access(LsuItem const& item, Time at, std::uint32_t train, Outgoing& o) {
  auto const line = sm_.line_of(item.address);
  auto const looked_up = at + sm_.l1_cache_latency_;
  auto const since = item.since;
  auto const begins = std::max(at, since);
  auto const ends = begins + sm_.l1_cache_latency_;
  bool const remote = sm_.is_remote(item.address);
  train = std::min(train, remote ? spec().remote_train : spec().local_train);
  auto const lacks_credits = remote ? LoadStoreStall::remote_credit : LoadStoreStall::l2_credit;
  auto const stall = [&](LoadStoreStall why) {
    o.stall = why;
    return false;
  };
  if (item.access == Access::write) {
    if (credits(item.address) < train) return stall(lacks_credits);
    unit().l1.lookup(line);
    ++s_.stats[item.stream].stores;
    o.passed.load_store_time += ps(begins - since);
    ++o.passed.other_l1_cache_lookups;
    auto& w = s_.warps[item.context];
    (remote ? w.remote_store_time : w.store_time) -= ps(ends.time_since_epoch());
    send(item, kStoreTag | item.context, looked_up, o);
    return true;
  }
  if (unit().l1.lookup(line)) {
    o.passed.load_store_time += ps(begins - since);
    ++o.passed.l1_hits;
    o.passed.hit_time += ps(ends - cx_.now());
    s_.times.load_latency.add(ps(ends - item.issued));
    auto& w = s_.warps[item.context];
    --w.loads;
    w.loads_done = std::max(w.loads_done, looked_up);
    sm_.wake_if_done(item.context, w, cx_);
    return true;
  }
  if (!unit().l1_mshrs.can_wait()) return stall(LoadStoreStall::l1_mshr);
  auto entry = unit().l1_mshrs.find(line);
  if (!entry) {
    if (unit().l1_mshrs.free() < train || !unit().l1_mshrs.can_wait(train))
      return stall(LoadStoreStall::l1_mshr);
    if (credits(item.address) < train) return stall(lacks_credits);
    entry = unit().l1_mshrs.allocate(line);
    auto whole_line = item;
    whole_line.bytes = static_cast<std::uint8_t>(spec().line_bytes);
    send(whole_line, *entry, looked_up, o);
  }
  unit().l1_mshrs.one_more(*entry) = LoadWaiter(item.issued, ends, item.context);
  ++s_.stats[item.stream].l1_misses;
  o.passed.load_store_time += ps(begins - since);
  ++o.passed.other_l1_cache_lookups;
  return true;
}

bool LoadStoreUnit::complete(MemResponse const& m) {
  auto const stream = m.tag >> kStreamBit & (kMaxStreams - 1);
  auto& stats = s_.stats[stream];
  auto& outstanding = s_.times.outstanding[stream];
  auto const lines = m.train.lines();
  bool const hit = m.found_by == FoundBy::cache;
  bool const remote = sm_.is_remote(m.address);
  if (remote) {
    unit().remote_credits += lines;
    (hit ? stats.remote_l2_hits : stats.remote_l2_misses) += lines;
  } else {
    unit().slice_credits[spec().memory.slice(offset_of(m.address))] += lines;
    (hit ? stats.l2_hits : stats.l2_misses) += lines;
  }
  unit().translation.responded(m.tag >> kGenerationBit & 1, lines);
  auto const number = m.tag & kNumberMask;
  bool woken = false;
  if ((m.tag & kStoreTag) != 0) {
    auto& w = s_.warps[number];
    w.stores -= lines;
    count_stores(m, remote, w, stats, outstanding, cx_.now());
    w.stores_done = std::max(w.stores_done, usable(m.train, lines - 1, cx_.now()));
    woken = sm_.wake_if_done(number, w, cx_);
  } else {
    auto const first = sm_.line_of(m.address);
    SharedWait waits(m.stages.sum());
    std::uint64_t loads = 0;
    std::uint64_t ahead = 0;  // ps from now until their data
    for (std::uint32_t i = 0; i < lines; ++i) {
      auto const at = usable(m.train, i, cx_.now());
      unit().l1.insert(first + i, false);  // absent, as when its MSHR was allocated
      unit().l1_mshrs.release(*unit().l1_mshrs.find(first + i), [&](LoadWaiter const& waiter) {
        // A line may arrive before the look-up in the L1 cache has ended.
        auto const since = waiter.since();
        auto const ends = std::max(at, since);
        if (!waits.add(ends - since)) count_load(m, remote, ends - since, stats.stages);
        ++loads;
        ahead += ps(ends - cx_.now());
        s_.times.load_latency.add(ps(ends - waiter.issued));
        auto& w = s_.warps[waiter.context()];
        --w.loads;
        w.loads_done = std::max(w.loads_done, at);
        woken = sm_.wake_if_done(waiter.context(), w, cx_) || woken;
      });
    }
    count_loads(m, remote, waits, stats.stages);
    stats.access_time += outstanding.advance(cx_.now()) + ahead;
    outstanding.number -= loads;
  }
  return woken;
}

void LoadStoreUnit::count_passed(Passed& passed, std::uint8_t next_stream) {
  auto& stats = s_.stats[passed.stream];
  stats.stages.load_store += passed.load_store_time;
  stats.stages.l1_tlb += passed.l1_tlb_lookups * ps(sm_.l1_tlb_latency_);
  stats.stages.l1_cache += (passed.l1_hits + passed.other_l1_cache_lookups) * ps(sm_.l1_cache_latency_);
  stats.l1_tlb_hits += passed.l1_tlb_hits;
  if (passed.l1_hits != 0) {
    auto& outstanding = s_.times.outstanding[passed.stream];
    stats.l1_hits += passed.l1_hits;
    stats.access_time += outstanding.advance(cx_.now()) + passed.hit_time;
    outstanding.number -= passed.l1_hits;
  }
  passed = {};
  passed.stream = next_stream;
}

}  // namespace farfault
