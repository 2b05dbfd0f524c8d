// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/access_watch.hpp"

#include <algorithm>
#include <utility>

#include "access_tag.hpp"
#include "farfault/parts/split_mix.hpp"

namespace farfault {
namespace {

Served served_by(FoundBy translation) {
  switch (translation) {
    case FoundBy::l2_tlb:
      return Served::l2;
    case FoundBy::gmmu:
      return Served::gmmu;
    case FoundBy::iommu:
      return Served::iommu;
    default:
      return Served::fault;
  }
}

}  // namespace

AccessWatch::AccessWatch(Sm const& sm, AccessSample const& sample)
    : sm_(sm),
      sample_(sample),
      translated_(sm.state().load_store.translation.translated().size(), kNone),
      again_(sm.state().load_store.translation.again().size(), kNone),
      current_(sm.state().load_store.current.size(), kNone) {}

void AccessWatch::before(Event const& e) {
  if (!follows(e)) return;
  auto const& s = sm_.state();
  lsu_free_ = s.load_store.free;
  position_ = s.load_store.position;
  had_issued_ = !s.load_store.current.empty() && s.load_store.current.front().issued == e.when;
  if (e.to == sm_.translation.id)
    translated(e.message<TranslateResponse>(), e.when);
  else if (e.to == sm_.memory_response.id || e.to == sm_.remote_response.id)
    responded(e.message<MemResponse>(), e.when);
}

// The load/store unit has passed, one per cycle: transactions that were translated, then transactions whose
// page was replayed, then the instruction's (LoadStoreUnit::move_transactions).
void AccessWatch::after(Event const& e) {
  if (!follows(e)) return;
  auto const& s = sm_.state();
  if (!had_issued_ && !s.load_store.current.empty() && s.load_store.current.front().issued == e.when) {
    position_ = 0;
    issue(e.when);
  }
  auto at = std::max(lsu_free_, e.when);
  auto const clock = sm_.spec().clock;
  bool moved = false;
  auto const pass = [&](std::uint32_t id, auto&& f) {
    if (id != kNone) f(id);
    at = clock.after(at);
    moved = true;
  };
  for (; translated_.size() > s.load_store.translation.translated().size(); translated_.pop_front())
    pass(translated_.front(), [&](std::uint32_t id) {
      auto& live = live_[id];
      add_span(live, std::max(at, live.since), Stage::load_store, Place::sm);
      enter_cache(id, live.since);
    });
  for (; again_.size() > s.load_store.translation.again().size(); again_.pop_front())
    pass(again_.front(), [&](std::uint32_t id) { look_up(id, at); });
  for (; position_ < s.load_store.position; ++position_)
    pass(current_[position_], [&](std::uint32_t id) { look_up(id, at); });
  FF_CHECK(!moved || at == s.load_store.free, sm_.path() + ": the trace lost track of the load/store unit");
}

bool AccessWatch::is_sampled(LsuItem const& item, Warp const& warp, std::uint64_t number) const {
  auto hash = sample_.seed;
  for (auto const value :
       {std::uint64_t{sm_.id()}, std::uint64_t{warp.kernel}, std::uint64_t{sm_.state().launches[item.stream]},
        warp.block, std::uint64_t{warp.index}, warp.step, number})
    hash = SplitMix(hash ^ value).next();
  return hash % sample_.one_in == 0;
}

void AccessWatch::issue(Time now) {
  auto const& s = sm_.state();
  current_.assign(s.load_store.current.size(), kNone);
  if (now >= sample_.to) return;
  for (std::size_t k = 0; k < s.load_store.current.size(); ++k) {
    auto const& item = s.load_store.current[k];
    auto const& warp = s.warps[item.context];
    if (!is_sampled(item, warp, k)) continue;
    if (sampled_ == sample_.most) {
      ++omitted_;
      continue;
    }
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(live_.size()));
      live_.emplace_back();
    }
    auto const id = current_[k] = free_.back();
    free_.pop_back();
    auto& live = live_[id] = Live{};
    auto& t = live.trace;
    t.sm = sm_.id();
    t.number = sampled_++;
    t.issued = live.since = now;
    t.address = item.address;
    t.block = warp.block;
    t.step = warp.step - 1;  // the warp has advanced to the next one
    t.kernel = warp.kernel;
    t.warp = warp.index;
    t.application = item.application;
    t.space = item.space;
    t.bytes = item.bytes;
    t.access = item.access;
    live.context = item.context;
  }
}

void AccessWatch::add_span(Live& live, Time until, Stage stage, Place place) const {
  if (until <= live.since) return;
  auto& spans = live.trace.spans;
  if (!spans.empty() && spans.back().stage == stage && spans.back().place == place)
    spans.back().to = until;
  else
    spans.push_back({.from = live.since, .to = until, .stage = stage, .place = place});
  live.since = until;
}

// A look-up in the L1 TLB at `at`, after which it is in the L1 cache, or waits.
void AccessWatch::look_up(std::uint32_t id, Time at) {
  auto const& s = sm_.state();
  auto& live = live_[id];
  add_span(live, std::max(at, live.since), Stage::load_store, Place::sm);
  add_span(live, live.since + sm_.spec().clock.cycles(sm_.spec().l1_tlb.latency), Stage::l1_tlb, Place::sm);
  auto const page = page_of(live);
  bool stalled = false;
  s.load_store.translation.faulted().each_of(page, [&](LsuItem const& i) {
    stalled = stalled ||
              (i.issued == live.trace.issued && i.context == live.context && i.address == live.trace.address);
  });
  if (stalled) {
    live.where = Where::replay;
    live.trace.translation = Served::fault;
    stalled_[page].push_back(id);
  } else if (waits_in(s.load_store.translation.mshrs(), live)) {
    live.where = Where::translation;
    in_translation_[page].push_back(id);
  } else {
    auto const found = peek_tlb(page);
    FF_CHECK(found.has_value(), sm_.path() + ": the trace lost track of a translation");
    if (live.trace.translation == Served::unknown) live.trace.translation = Served::l1;
    live.trace.physical = found->physical_of(live.trace.address, sm_.spec().page_bits);
    enter_cache(id, live.since);
  }
}

bool AccessWatch::waits_in(MshrTable<LsuItem> const& table, Live const& live) const {
  bool waits = false;
  if (auto const entry = table.find(page_of(live)))
    table.each_waiter(*entry, [&](LsuItem const& i) {
      waits = waits ||
              (i.issued == live.trace.issued && i.context == live.context && i.address == live.trace.address);
    });
  return waits;
}

std::optional<PageTranslation> AccessWatch::peek_tlb(std::uint64_t page) const {
  std::optional<PageTranslation> found;
  sm_.state().load_store.translation.tlb()->each_entry([&](std::uint64_t first, PageTranslation const& t) {
    if (page >> t.size == first >> t.size && (!found || t.size < found->size)) found = t;
  });
  return found;
}

void AccessWatch::enter_cache(std::uint32_t id, Time at) {
  auto const& s = sm_.state();
  auto& live = live_[id];
  live.where = Where::load_store;
  add_span(live, at + sm_.spec().clock.cycles(sm_.spec().l1_cache.latency), Stage::l1_cache, Place::sm);
  if (live.trace.access == Access::write) {
    live.where = Where::acknowledgement;
    stores_.push_back(id);
    return;
  }
  bool misses = false;
  if (auto const entry = s.load_store.l1_mshrs.find(line_of(live)))
    s.load_store.l1_mshrs.each_waiter(*entry, [&](LoadWaiter const& w) {
      misses =
          misses || (w.issued == live.trace.issued && w.context() == live.context && w.since() == live.since);
    });
  if (misses) {
    live.where = Where::line;
    loads_[line_of(live)].push_back(id);
  } else {
    live.trace.data = Served::l1;
    finish(id, live.since);
  }
}

void AccessWatch::finish(std::uint32_t id, Time at) {
  auto& live = live_[id];
  live.trace.ended = at;
  done_.push_back(std::move(live.trace));
  free_.push_back(id);
}

std::uint32_t AccessWatch::take_from(std::map<std::uint64_t, Ids>& lists, std::uint64_t key,
                                     LsuItem const& item) const {
  auto const list = lists.find(key);
  if (list == lists.end()) return kNone;
  auto const found = std::ranges::find_if(list->second, [&](std::uint32_t id) {
    auto const& live = live_[id];
    return live.trace.issued == item.issued && live.context == item.context &&
           live.trace.address == item.address;
  });
  if (found == list->second.end()) return kNone;
  auto const id = *found;
  list->second.erase(found);
  if (list->second.empty()) lists.erase(list);
  return id;
}

std::uint32_t AccessWatch::replay_of(std::uint64_t page, LsuItem const& item, Time now) {
  auto const id = take_from(stalled_, page, item);
  if (id == kNone) return id;
  live_[id].where = Where::load_store;
  add_span(live_[id], now, Stage::fault, Place::sm);
  return id;
}

// Anticipates Sm::on_translation for the transactions that wait for the page.
void AccessWatch::translated(TranslateResponse const& m, Time now) {
  auto const& s = sm_.state();
  auto const page_bits = sm_.spec().page_bits;
  auto const replay = [&](std::uint64_t page) {
    s.load_store.translation.faulted().each_of(
        page, [&](LsuItem const& i) { again_.push_back(replay_of(page, i, now)); });
  };
  if (m.found_by == FoundBy::replay) {
    if (m.page == kEveryPage)
      s.load_store.translation.faulted().each_round_robin(
          &LsuItem::context,
          [&](std::uint64_t page, LsuItem const& i) { again_.push_back(replay_of(page, i, now)); });
    else
      replay(m.page);
    return;
  }
  if (m.found_by == FoundBy::settled) {
    if (is_read_only(m.frame)) return replay(m.page);
    s.load_store.translation.faulted().each_of(m.page, [&](LsuItem const& i) {
      auto const id = replay_of(m.page, i, now);
      if (id != kNone) live_[id].trace.physical = m.translation().physical_of(i.address, page_bits);
      translated_.push_back(id);
    });
    return;
  }
  auto const entry = s.load_store.translation.mshrs().find(m.page);
  if (!entry) return;
  bool const mapped = m.found_by != FoundBy::nothing;
  Ids refused;
  bool any_refused = false;
  s.load_store.translation.mshrs().each_waiter(*entry, [&](LsuItem const& i) {
    auto const id = take_from(in_translation_, m.page, i);
    if (id != kNone) add_translation_spans(live_[id], m, now);
    if (mapped && m.translation().allows(i.access)) {
      if (id != kNone) {
        auto& live = live_[id];
        live.where = Where::load_store;
        if (live.trace.translation == Served::unknown) live.trace.translation = served_by(m.found_by);
        live.trace.physical = m.translation().physical_of(i.address, page_bits);
      }
      translated_.push_back(id);
      return;
    }
    if (id != kNone) {
      live_[id].where = Where::replay;
      live_[id].trace.translation = Served::fault;
      if (!mapped) stalled_[m.page].push_back(id);
    }
    if (mapped) {
      refused.push_back(id);
      any_refused = true;
    }
  });
  if (!any_refused) return;
  replay(m.page);
  for (auto const id : refused) {
    if (id != kNone) {
      live_[id].where = Where::load_store;
      add_span(live_[id], now, Stage::fault, Place::sm);
    }
    again_.push_back(id);
  }
}

// Split as in Sm::count_translation.
void AccessWatch::add_translation_spans(Live& live, TranslateResponse const& m, Time now) const {
  now = std::max(now, live.since);
  auto const behind = m.stages.last_of(now - live.since);
  auto const left = now - live.since - behind.sum();
  auto const longest = behind.at_limit();
  auto const own = longest != nullptr ? Duration::zero() : left;
  auto const in = [&](std::uint32_t TranslationStages::*stage) {
    return Duration{behind.*stage} + (stage == longest ? left : Duration::zero());
  };
  auto const back = std::min(own, sample_.translation_back);
  auto const go = [&](Duration d, Stage stage, Place place) { add_span(live, live.since + d, stage, place); };
  go(own - back, Stage::l2_tlb, Place::l2_tlb);
  go(in(&TranslationStages::walk_queue), Stage::walk_queue, Place::gmmu);
  go(in(&TranslationStages::walk), Stage::walk, Place::gmmu);
  go(Duration{behind.link / 2}, Stage::links, Place::port);
  go(in(&TranslationStages::iommu), m.found_by == FoundBy::fault ? Stage::fault : Stage::iommu, Place::iommu);
  go(Duration{behind.link - behind.link / 2}, Stage::links, Place::port);
  go(back, Stage::l2_tlb, Place::l2_tlb);
}

// Split as in Sm::count_load and Sm::count_stores.
void AccessWatch::add_memory_spans(Live& live, MemoryStages const& stages, std::uint32_t MemoryStages::*rest,
                                   Time at) const {
  auto const left = at - live.since - stages.sum();
  auto const own = rest != nullptr ? Duration::zero() : left;
  auto const in = [&](std::uint32_t MemoryStages::*stage) {
    return Duration{stages.*stage} + (stage == rest ? left : Duration::zero());
  };
  auto const go = [&](Duration d, Stage stage, Place place) { add_span(live, live.since + d, stage, place); };
  if (is_remote(live)) {
    go(own / 2, Stage::links, Place::port);
    go(in(&MemoryStages::dram_queue), Stage::dram_queue, Place::remote);
    go(in(&MemoryStages::dram), Stage::dram, Place::remote);
    go(in(&MemoryStages::device), Stage::remote_memory, Place::remote);
    go(own - own / 2, Stage::links, Place::port);
    return;
  }
  auto const back = std::min(own, sample_.line_back);
  go(own - back, Stage::l2_cache, Place::l2_slice);
  go(in(&MemoryStages::dram_queue), Stage::dram_queue, Place::dram);
  go(in(&MemoryStages::dram), Stage::dram, Place::dram);
  go(in(&MemoryStages::device), Stage::remote_memory, Place::remote);
  go(back, Stage::l2_cache, Place::l2_slice);
}

void AccessWatch::responded(MemResponse const& m, Time now) {
  auto const number = m.tag & kNumberMask;
  if (number == kContextNumber) return;
  auto const first = sm_.line_of(m.address);
  auto const data = m.found_by == FoundBy::cache ? Served::l2 : Served::memory;
  bool const store = (m.tag & kStoreTag) != 0;
  for (std::uint32_t i = 0; i < m.train.lines(); ++i) {
    auto const when = usable(m.train, i, now);
    if (store) {
      auto const found = std::ranges::find_if(stores_, [&](std::uint32_t id) {
        return live_[id].context == number && line_of(live_[id]) == first + i;
      });
      if (found == stores_.end()) continue;
      auto const id = *found;
      stores_.erase(found);
      auto& live = live_[id];
      live.trace.data = data;
      add_memory_spans(live, MemoryStages{0, 0, m.stages.device}, nullptr, when);
      finish(id, when);
      continue;
    }
    auto const list = loads_.find(first + i);
    if (list == loads_.end()) continue;
    for (auto const id : list->second) {
      auto& live = live_[id];
      auto const at = std::max(when, live.since);
      live.trace.data = data;
      auto const behind = m.stages.last_of(at - live.since);
      add_memory_spans(live, behind, behind.at_limit(), at);
      finish(id, at);
    }
    loads_.erase(list);
  }
}

std::vector<AccessTrace> AccessWatch::take(Time now) {
  std::vector<bool> is_free(live_.size());
  for (auto const id : free_) is_free[id] = true;
  for (std::uint32_t id = 0; id < live_.size(); ++id) {
    if (is_free[id]) continue;
    auto& live = live_[id];
    live.trace.unfinished = 1;
    auto const until = std::max(now, live.since);
    switch (live.where) {
      case Where::load_store:
        add_span(live, until, Stage::load_store, Place::sm);
        break;
      case Where::translation:
        add_span(live, until, Stage::l2_tlb, Place::l2_tlb);
        break;
      case Where::replay:
        add_span(live, until, Stage::fault, Place::sm);
        break;
      case Where::line:
      case Where::acknowledgement:
        if (is_remote(live))
          add_span(live, until, Stage::links, Place::port);
        else
          add_span(live, until, Stage::l2_cache, Place::l2_slice);
        break;
    }
    finish(id, until);
  }
  std::ranges::sort(done_, {}, &AccessTrace::number);
  return std::exchange(done_, {});
}

}  // namespace farfault
