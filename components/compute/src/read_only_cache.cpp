// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/read_only_cache.hpp"

#include <algorithm>

namespace farfault {

namespace {

constexpr unsigned kDrainBit = 30;  // of a tag: the generation of the read, for its drain
constexpr std::uint32_t kTagMask = (1U << kDrainBit) - 1;

}  // namespace

ReadOnlyCache::ReadOnlyCache(Slot<ReadOnlyCacheSpec> slot) : Component(std::move(slot)) {
  if (spec().page_uses.enabled) used = out<PageUse>("used");
  if (spec().tlbs.is_balanced) distributed = in<&ReadOnlyCache::on_distribution>("distributed");
}

ReadOnlyCacheState ReadOnlyCache::initial() const {
  auto const& p = spec().params;
  auto const outstanding = spec().outstanding;
  ReadOnlyCacheState s;
  s.next_launch.assign(spec().applications->count(), 0);
  s.stats = ByApplication<ReadOnlyCacheStats>(spec().applications->count());
  // Sized for the maximum, so that nothing stalls for room.
  s.translation = {
      p.tlb.make(p.tlb_entries, p.tlb_entries, spec().page_bits, spec().page_sizes, spec().mapped_at_start),
      {.mshrs = p.tlb_mshrs,
       .waiters = outstanding,
       .faulted_pages = outstanding,
       .faulted_accesses = outstanding,
       .banks = spec().tlbs.banks.count(),
       .translated = outstanding,
       .invalidations = spec().moves},
      spec().page_uses};
  s.cache = Cache(p.size.bytes, p.ways, spec().line_bytes, p.replacement);
  s.mshrs = MshrTable<ReadOnlyRequest>(p.mshrs, outstanding);
  s.stalled = Ring<ReadOnlyRequest>(outstanding);
  return s;
}

ReadOnlyCache::ApplicationStats ReadOnlyCache::application_stats() const {
  return counted_by_application<&ReadOnlyCacheState::stats>(spec().applications->names());
}

std::vector<ReadOnlyCache::PolicyStats> ReadOnlyCache::policy_stats() const {
  auto const& p = spec().params;
  auto const section = "gpu." + spec().kind;
  return {{{section + ".tlb_organization", p.tlb.organization.stats()},
           [](ReadOnlyCacheState const& s) -> StatSource const& { return s.translation.tlb(); }},
          {{section + ".tlb_replacement", p.tlb.replacement.stats()},
           [](ReadOnlyCacheState const& s) -> StatSource const& { return *s.translation.tlb(); }},
          {{section + ".replacement", p.replacement.stats()},
           [](ReadOnlyCacheState const& s) -> StatSource const& { return s.cache.replacement(); }}};
}

std::string ReadOnlyCache::waiting_for() const {
  auto const& s = state();
  auto const& t = s.translation;
  if (s.mshrs.in_use() == 0 && t.mshrs().in_use() == 0 && t.faulted().pages() == 0 && s.stalled.empty())
    return {};
  return std::to_string(s.mshrs.in_use()) + " lines, " + std::to_string(t.mshrs().in_use()) +
         " pages in translation, " + std::to_string(t.faulted().pages()) + " faulted, " +
         std::to_string(s.stalled.size() + t.translated().size()) + " requests stalled";
}

void ReadOnlyCache::on_request(ReadOnlyRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  if (auto& next = s.next_launch[m.requester.application]; spec().cleared_at_launch && m.launch >= next) {
    next = m.launch + 1;
    s.cache.clear();
  }
  accept(m, cx);
}

void ReadOnlyCache::accept(ReadOnlyRequest const& m, Cx& cx) const {
  if (!serve(m, false, cx)) cx.state().stalled.push(m);
}

// False if the request must wait for an MSHR.
bool ReadOnlyCache::serve(ReadOnlyRequest const& m, bool again, Cx& cx) const {
  auto& s = cx.state();
  auto const at = std::max(s.port_free, cx.now());
  if (m.address >= kKernelArguments) {
    if (!read(spec().arguments + (m.address - kKernelArguments), m, at, cx)) return false;
  } else {
    auto const page = m.address >> spec().page_bits;
    auto& stats = s.stats[m.requester.application];
    if (auto const found = s.translation.lookup(page)) {
      if (!read(found->physical_of(m.address, spec().page_bits), m, at, cx)) return false;
      report_use(page, cx);
      if (!again) ++stats.tlb_hits;
    } else {
      if (!wait_for_translation(page, m, again, at, cx)) return false;
      if (!again) ++stats.tlb_misses;
    }
  }
  s.port_free = spec().clock.after(at);
  return true;
}

// False without a free MSHR.
bool ReadOnlyCache::wait_for_translation(std::uint64_t page, ReadOnlyRequest const& m, bool again, Time at,
                                         Cx& cx) const {
  auto& client = cx.state().translation;
  std::optional<std::uint32_t> entry;
  switch (client.place(page, again, entry)) {
    case MissPlace::no_room:
    case MissPlace::no_mshr:
      return false;
    case MissPlace::replay:
      park(page, m, cx);
      return true;
    case MissPlace::new_mshr: {
      auto const bank = spec().tlbs.bank_of(page, client.distribution());
      cx.send(translate, bank,
              TranslateRequest{.page = page,
                               .from = spec().tlbs.from,
                               .application = m.requester.application,
                               .client = static_cast<std::uint16_t>(spec().index)},
              at - cx.now() + spec().tlbs.hop.to(bank));
      break;
    }
    case MissPlace::mshr:
      break;
  }
  client.wait(*entry) = m;
  return true;
}

// A translated request at the cache.
bool ReadOnlyCache::read(PhysAddr address, ReadOnlyRequest const& m, Time at, Cx& cx) const {
  auto& s = cx.state();
  auto const line = address / spec().line_bytes;
  auto const looked_up = at + spec().clock.cycles(spec().params.latency);
  if (s.cache.lookup(line)) {
    ++s.stats[m.requester.application].hits;
    respond(m, looked_up, ReadOnlyStatus::hit, cx);
    return true;
  }
  auto entry = s.mshrs.find(line);
  if (!entry) {
    if (s.mshrs.full()) return false;
    entry = s.mshrs.allocate(line);
    auto const tag = *entry | s.translation.send() << kDrainBit;
    auto const local = device_of(address) == spec().device;
    MemRequest const fetch{.address = line * spec().line_bytes,
                           .tag = tag,
                           .from = local ? spec().memory_port : spec().remote_port,
                           .access = Access::read,
                           .bytes = static_cast<std::uint8_t>(spec().line_bytes),
                           .requester = m.requester};
    if (local) {
      auto const slice = spec().memory.slice(offset_of(address));
      cx.send(memory_request, slice, fetch, looked_up - cx.now() + spec().to_slices.to(slice));
    } else {
      ++s.stats[m.requester.application].remote_accesses;
      cx.send(remote_request, fetch, looked_up - cx.now());
    }
  }
  s.mshrs.wait(*entry, m);
  ++s.stats[m.requester.application].misses;
  return true;
}

// Sends one response per cycle.
void ReadOnlyCache::respond(ReadOnlyRequest const& m, Time at, ReadOnlyStatus status, Cx& cx) const {
  auto& s = cx.state();
  auto const start = std::max(at, s.response_free);
  s.response_free = spec().clock.after(start);
  cx.send(response, m.sm, ReadOnlyResponse{m.tag, status, {}}, start - cx.now());
}

void ReadOnlyCache::resume(Cx& cx) const {
  auto& s = cx.state();
  auto& client = s.translation;
  for (auto& queue = client.translated(); !queue.empty(); client.pop_translated()) {
    auto const at = std::max(s.port_free, cx.now());
    if (!read(queue.front().address, queue.front(), at, cx)) return;
    s.port_free = spec().clock.after(at);
  }
  auto& again = client.again();
  while (!again.empty() && serve(again.front(), true, cx)) again.pop();
  while (again.empty() && !s.stalled.empty() && serve(s.stalled.front(), false, cx)) s.stalled.pop();
}

void ReadOnlyCache::park(std::uint64_t page, ReadOnlyRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  s.translation.park(page, m);
  ++s.stats[m.requester.application].faulted;
  respond(m, std::max(s.port_free, cx.now()), ReadOnlyStatus::faulted, cx);
}

void ReadOnlyCache::report_use(std::uint64_t page, Cx& cx) const {
  if (cx.state().translation.must_report(page, Access::read, cx.now()))
    cx.send(used, PageUse{page, spec().device, Access::read, {}});
}

// Effects of a response on the requests that wait for it (translation_client.hpp).
struct ReadOnlyCache::Responding {
  ReadOnlyCache const& cache;
  TranslateResponse const& m;
  Cx& cx;

  void translated(ReadOnlyRequest const& waiting) {
    cache.report_use(m.page, cx);
    auto& queued = cx.state().translation.translated().push(waiting);
    queued.address = m.translation().physical_of(waiting.address, cache.spec().page_bits);
  }
  void faulted(ReadOnlyRequest const& waiting) { cache.park(m.page, waiting, cx); }
  void again(ReadOnlyRequest const& parked) { cache.respond(parked, cx.now(), ReadOnlyStatus::replayed, cx); }
  void settled(ReadOnlyRequest const& parked) {
    again(parked);
    translated(parked);
  }
  static std::uint16_t requester(ReadOnlyRequest const& parked) { return parked.sm; }
};

// Requests for the page proceed before stalled requests.
void ReadOnlyCache::on_translation(TranslateResponse const& m, Cx& cx) const {
  if (!cx.state().translation.respond(m, Responding{*this, m, cx})) return;
  resume(cx);
  acknowledge_invalidations(cx);
}

void ReadOnlyCache::on_memory(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  s.translation.responded(m.tag >> kDrainBit & 1);
  auto const entry = m.tag & kTagMask;
  s.cache.fill(s.mshrs.key(entry), false);
  s.mshrs.release(entry,
                  [&](ReadOnlyRequest const& to) { respond(to, cx.now(), ReadOnlyStatus::missed, cx); });
  resume(cx);
  acknowledge_invalidations(cx);
}

void ReadOnlyCache::on_distribution(TlbDistribution const& m, Cx& cx) const {
  cx.state().translation.distribute(m.number);
}

void ReadOnlyCache::on_invalidate(Invalidate const& m, Cx& cx) const {
  cx.state().translation.invalidate(m);
  acknowledge_invalidations(cx);
}

void ReadOnlyCache::acknowledge_invalidations(Cx& cx) const {
  auto& s = cx.state();
  s.translation.acknowledge([&](Invalidate const& m) {
    auto const first = m.frame / spec().line_bytes;
    auto const lines = (std::uint64_t{1} << (spec().page_bits + m.size)) / spec().line_bytes;
    s.cache.invalidate(first, first + lines);
    auto const bank = spec().tlbs.banks.bank_of(m.page);
    cx.send(invalidated, bank, Invalidated{m.move}, spec().tlbs.hop.to(bank));
  });
}

template class Component<ReadOnlyCacheSpec, ReadOnlyCacheState>;

}  // namespace farfault
