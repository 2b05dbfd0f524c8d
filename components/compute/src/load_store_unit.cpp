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
  auto const most = std::max(spec_.local_train, spec_.remote_train);
  std::uint32_t lines = 1;
  for (auto expected = item.address + spec_.line_bytes; lines < most && lines <= n; ++lines) {
    auto const& next = following(lines);
    if (next.address != expected || (expected ^ item.address) >= spec_.train_block ||
        next.context != item.context || next.access != item.access)
      break;
    expected += spec_.line_bytes;
  }
  return lines;
}

// Moves transactions through the load/store unit, one per cycle, until it is empty or stalls.
void LoadStoreUnit::run() {
  bool const stalls = !move_transactions();
  if (!stalls) s_.warps.load_store_free(u_.free);
  if (stalls || s_.times.load_store.now() != LoadStoreStall::none)
    s_.times.load_store.change(cx_.now(), stalls ? stall_ : LoadStoreStall::none);
  count_passed(0);
  depart();
}

bool LoadStoreUnit::move_transactions() {
  std::uint32_t train = 0;  // of the following lines
  auto& client = u_.translation;
  while (!client.translated().empty()) {
    auto const& queue = client.translated();
    auto const& item = queue.front();
    if (train == 0) train = train_from(item, queue.size() - 1, [&](std::uint64_t i) { return queue[i]; });
    auto const at = std::max(u_.free, cx_.now());
    if (item.stream != passed_.stream) count_passed(item.stream);
    if (!access(item, at, train)) return false;
    --train;
    client.pop_translated();
    u_.free = spec_.clock.after(at);
  }
  for (auto& again = client.again(); !again.empty(); again.pop()) {
    if (again.front().stream != passed_.stream) count_passed(again.front().stream);
    if (!translate_item(again.front(), true, [] { return 1U; })) return false;
    ++s_.stats[again.front().stream].replayed;
  }
  if (u_.position < u_.current.size() && u_.current[u_.position].stream != passed_.stream)
    count_passed(u_.current[u_.position].stream);
  for (train = 0; u_.position < u_.current.size(); ++u_.position) {
    auto const& item = u_.current[u_.position];
    auto const lines = [&] {
      if (train == 0)
        train = train_from(item, u_.current.size() - u_.position - 1,
                           [&](std::uint64_t i) { return u_.current[u_.position + i]; });
      return train--;
    };
    if (!translate_item(item, false, lines)) return false;
  }
  return true;
}

template <class Lines>
bool LoadStoreUnit::translate_item(LsuItem const& item, bool again, Lines&& lines) {
  if (!u_.translation.may_look_up()) {
    stall_ = LoadStoreStall::l1_tlb_mshr;
    return false;
  }
  auto const at = std::max(u_.free, cx_.now());
  auto const looked_up = at + sm_.l1_tlb_latency_;
  auto const since = item.since;
  auto const begins = std::max(at, since);
  auto const ends = begins + sm_.l1_tlb_latency_;
  auto const page = item.address >> spec_.page_bits;
  if (page != page_) {
    page_ = page;
    found_ = u_.translation.lookup(page);
    missed_.reset();
  }
  if (found_ && found_->allows(item.access)) {
    auto translated = item;
    translated.address = found_->physical_of(item.address, spec_.page_bits);
    translated.since = ends;
    if (!access(translated, looked_up, lines())) return false;
    report_use(page, item.access);
    if (!again) ++passed_.l1_tlb_hits;
  } else if (!wait_for_translation(item, again, looked_up, ends)) {
    return false;
  }
  passed_.load_store_time += ps(begins - since);
  ++passed_.l1_tlb_lookups;
  u_.free = spec_.clock.after(at);
  return true;
}

// An access to a page that misses the L1 TLB; false if it must wait for room to wait in.
bool LoadStoreUnit::wait_for_translation(LsuItem const& item, bool again, Time looked_up, Time since) {
  switch (u_.translation.place(page_, again, missed_)) {
    case MissPlace::no_room:
      stall_ = LoadStoreStall::faulted;
      return false;
    case MissPlace::no_mshr:
      stall_ = LoadStoreStall::l1_tlb_mshr;
      return false;
    case MissPlace::replay:
      park(page_, item, since);
      break;
    case MissPlace::new_mshr: {
      auto const slot =
          static_cast<std::uint8_t>(std::min(s_.warps[item.context].slot, WarpOrder::kMaxWarps - 1));
      cx_.send(sm_.translate,
               TranslateRequest{.page = page_,
                                .from = spec_.index,
                                .application = item.application,
                                .access = item.access,
                                .warp = slot,
                                .stalled = u_.stalled_warps.take(item.application)},
               looked_up - cx_.now());
      [[fallthrough]];
    }
    case MissPlace::mshr: {
      auto& waiting = u_.translation.wait(*missed_);
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
  u_.translation.park(page, item);
  s_.warps.fault(item.context, item.access == Access::write);
  ++stats.faulted;
}

// Effects of a response on the transactions that wait for it (translation_client.hpp).
struct LoadStoreUnit::Responding {
  LoadStoreUnit& unit;
  TranslateResponse const& m;
  SharedWait waits{m.stages.sum()};
  std::uint8_t stream = 0;

  SmStats& stats_of(LsuItem const& item) { return unit.s_.stats[item.stream]; }
  // Counts the wait of a transaction. Returns when its next stage begins.
  Time waited(LsuItem const& item) {
    unit.u_.stalled_warps.add(item.application, item.context);
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

  void translated(LsuItem const& item) {
    auto const now = waited(item);
    if (item.has_faulted == 0) ++(stats_of(item).*count_of(m.found_by));
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

  void queue(LsuItem const& item, Time since) {
    unit.report_use(m.page, item.access);
    auto& translated = unit.u_.translation.translated().push(item);
    translated.address = m.translation().physical_of(item.address, unit.spec_.page_bits);
    translated.since = since;
  }
};

bool LoadStoreUnit::respond(TranslateResponse const& m) {
  Responding responding{*this, m};
  u_.stalled_warps.begin();
  if (!u_.translation.respond(m, responding)) return false;
  responding.count_shared();
  return true;
}

void LoadStoreUnit::invalidate(Invalidate const& m) {
  u_.l1_tlb_invalidated += u_.translation.invalidate(m);
  acknowledge_invalidations();
}

void LoadStoreUnit::acknowledge_invalidations() {
  u_.translation.acknowledge([&](Invalidate const& m) {
    auto const first = sm_.line_of(m.frame);
    auto const lines = sm_.line_of(std::uint64_t{1} << (spec_.page_bits + m.size));
    u_.l1.invalidate(first, first + lines);
    cx_.send(sm_.invalidated, Invalidated{m.move});
  });
}

std::uint32_t LoadStoreUnit::credits(PhysAddr address) const {
  if (sm_.is_remote(address)) return u_.remote_credits;
  return u_.slice_credits[spec_.memory.slice(offset_of(address))];
}

void LoadStoreUnit::send(LsuItem const& item, std::uint32_t tag, Time at) {
  auto const generation = u_.translation.send();
  bool const remote = sm_.is_remote(item.address);
  if (remote) {
    --u_.remote_credits;
    ++s_.stats[item.stream].remote_accesses;
  } else {
    --u_.slice_credits[spec_.memory.slice(offset_of(item.address))];
  }
  tag |= generation << kGenerationBit | std::uint32_t{item.stream} << kStreamBit;
  auto& r = request_;
  if (lines_ != 0 && lines_ < (remote ? spec_.remote_train : spec_.local_train) &&
      item.address == r.address + std::uint64_t{lines_} * spec_.line_bytes &&
      (item.address ^ r.address) < spec_.train_block && item.access == r.access &&
      item.bytes == spec_.line_bytes && r.bytes == spec_.line_bytes && item.context == context_ &&
      generation == (r.tag >> kGenerationBit & 1)) {
    ++lines_;
    last_ = at;
    return;
  }
  depart();
  r = {.address = item.address,
       .tag = tag,
       .from = static_cast<std::uint16_t>(spec_.index),
       .access = item.access,
       .bytes = item.bytes,
       .requester = {item.space, item.application}};
  first_ = last_ = at;
  lines_ = 1;
  context_ = item.context;
}

void LoadStoreUnit::depart() {
  if (lines_ == 0) return;
  auto& request = request_;
  request.train = train_between(first_, last_, lines_ - 1);
  auto const in = first_ - cx_.now();
  if (sm_.is_remote(request.address))
    cx_.send(sm_.remote_request, request, in);
  else
    cx_.send(sm_.memory_request, spec_.memory.slice(offset_of(request.address)), request, in);
  lines_ = 0;
}

// A translated transaction at the L1 cache; false if it must wait for an MSHR or a credit. It waits for
// enough of them for its whole train, so that earlier transactions do not force a line to travel alone.
bool LoadStoreUnit::access(LsuItem const& item, Time at, std::uint32_t train) {
  auto const line = sm_.line_of(item.address);
  auto const looked_up = at + sm_.l1_cache_latency_;
  auto const since = item.since;
  auto const begins = std::max(at, since);
  auto const ends = begins + sm_.l1_cache_latency_;
  bool const remote = sm_.is_remote(item.address);
  train = std::min(train, remote ? spec_.remote_train : spec_.local_train);
  auto const lacks_credits = remote ? LoadStoreStall::remote_credit : LoadStoreStall::l2_credit;
  auto const stall = [&](LoadStoreStall why) {
    stall_ = why;
    return false;
  };
  if (item.access == Access::write) {
    if (credits(item.address) < train) return stall(lacks_credits);
    u_.l1.lookup(line);
    ++s_.stats[item.stream].stores;
    passed_.load_store_time += ps(begins - since);
    ++passed_.other_l1_cache_lookups;
    auto& w = s_.warps[item.context];
    (remote ? w.remote_store_time : w.store_time) -= ps(ends.time_since_epoch());
    send(item, kStoreTag | item.context, looked_up);
    return true;
  }
  if (u_.l1.lookup(line)) {
    passed_.load_store_time += ps(begins - since);
    ++passed_.l1_hits;
    passed_.hit_time += ps(ends - cx_.now());
    s_.times.load_latency.add(ps(ends - item.issued));
    auto& w = s_.warps[item.context];
    --w.loads;
    w.loads_done = std::max(w.loads_done, looked_up);
    sm_.wake_if_done(item.context, w, cx_);
    return true;
  }
  if (!u_.l1_mshrs.can_wait()) return stall(LoadStoreStall::l1_mshr);
  auto entry = u_.l1_mshrs.find(line);
  if (!entry) {
    if (u_.l1_mshrs.free() < train || !u_.l1_mshrs.can_wait(train)) return stall(LoadStoreStall::l1_mshr);
    if (credits(item.address) < train) return stall(lacks_credits);
    entry = u_.l1_mshrs.allocate(line);
    auto whole_line = item;
    whole_line.bytes = static_cast<std::uint8_t>(spec_.line_bytes);
    send(whole_line, *entry, looked_up);
  }
  u_.l1_mshrs.one_more(*entry) = LoadWaiter(item.issued, ends, item.context);
  ++s_.stats[item.stream].l1_misses;
  passed_.load_store_time += ps(begins - since);
  ++passed_.other_l1_cache_lookups;
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
    u_.remote_credits += lines;
    (hit ? stats.remote_l2_hits : stats.remote_l2_misses) += lines;
  } else {
    u_.slice_credits[spec_.memory.slice(offset_of(m.address))] += lines;
    (hit ? stats.l2_hits : stats.l2_misses) += lines;
  }
  u_.translation.responded(m.tag >> kGenerationBit & 1, lines);
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
      u_.l1.insert(first + i, false);  // absent, as when its MSHR was allocated
      u_.l1_mshrs.release(*u_.l1_mshrs.find(first + i), [&](LoadWaiter const& waiter) {
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

void LoadStoreUnit::count_passed(std::uint8_t next_stream) {
  auto& stats = s_.stats[passed_.stream];
  stats.stages.load_store += passed_.load_store_time;
  stats.stages.l1_tlb += passed_.l1_tlb_lookups * ps(sm_.l1_tlb_latency_);
  stats.stages.l1_cache += (passed_.l1_hits + passed_.other_l1_cache_lookups) * ps(sm_.l1_cache_latency_);
  stats.l1_tlb_hits += passed_.l1_tlb_hits;
  if (passed_.l1_hits != 0) {
    auto& outstanding = s_.times.outstanding[passed_.stream];
    stats.l1_hits += passed_.l1_hits;
    stats.access_time += outstanding.advance(cx_.now()) + passed_.hit_time;
    outstanding.number -= passed_.l1_hits;
  }
  passed_ = {};
  passed_.stream = next_stream;
}

}  // namespace farfault
