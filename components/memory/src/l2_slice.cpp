// SPDX-License-Identifier: Apache-2.0
#include "farfault/memory/l2_slice.hpp"

#include <algorithm>

namespace farfault {

namespace {

// Tags of writes to memory. Tags of reads are MSHRs.
constexpr std::uint32_t kEviction = 0;
constexpr std::uint32_t kFlush = 1;
// Tag bit of a read: it has an MSHR for reads that bypass the cache.
constexpr std::uint32_t kOwn = std::uint32_t{1} << 31;
// Tag bit of a read: it has a credit for reads of page walks.
constexpr std::uint32_t kWalk = std::uint32_t{1} << 30;

}  // namespace

L2Slice::L2Slice(Slot<L2SliceSpec> slot) : Component(std::move(slot)) {
  auto const walk_reads = spec().params.walk_reads.facts();
  may_bypass_ = walk_reads.may_bypass;
  overtakes_ = walk_reads.overtakes;
  own_mshrs_ = walk_reads.own_mshrs;
  counts_stores_ = walk_reads.counts_stores;
  other_cycles_ = spec().clock.cycles(spec().cycles_per_line - 1);
  one_port_ = spec().params.ports == 1;
  walk_credits_ = spec().walk_credits != 0;
  if (spec().params.hardware_coherent()) {
    far_request = in<&L2Slice::on_far_request>("far_request");
    home_response = in<&L2Slice::on_home_response>("home_response");
    far_response = out<MemResponse>("far_response");
    home_request = out<MemRequest>("home_request");
  }
  if (spec().flushes != 0) {
    flush = in<&L2Slice::on_flush>("flush");
    flushed = out<Flushed>("flushed");
  }
}

L2SliceState L2Slice::initial() const {
  auto const& p = spec();
  L2SliceState s;
  s.cache = Cache(p.params.size.bytes / p.params.slices, p.params.ways, p.line_bytes, p.params.replacement);
  s.walk_reads = p.params.walk_reads.make(p.walk_reads());
  s.ports = Ports(p.params.ports);
  s.response_ports = Ports(p.params.ports);
  s.mshrs = MshrTable<L2Waiter>(p.params.mshrs, p.params.waiters);
  if (may_bypass_) s.passing.resize(p.params.mshrs);
  s.own_mshrs = MshrTable<L2Waiter>(own_mshrs_, own_mshrs_ == 0 ? 0 : p.params.waiters);
  s.stalled = Ring<MemRequest>(p.queue);
  if (overtakes_ || p.params.walk_queue != 0) s.stalled_walks = Ring<MemRequest>(p.queue);
  auto const far_mshrs = p.params.hardware_coherent() ? p.params.mshrs : 0;
  s.writebacks = Ring<std::uint64_t>(2 * std::size_t{p.params.mshrs} + far_mshrs);
  s.dram_credits.assign(p.dram_channels, p.dram_credits);
  if (p.walk_credits != 0) s.walk_credits.assign(p.dram_channels, p.walk_credits);
  if (far_mshrs != 0) s.far = FarState(p.params);
  s.flush.pending = Ring<Flush>(p.flushes);
  s.by_requester = ByApplication<L2RequesterStats>(static_cast<std::uint32_t>(p.applications.size()));
  return s;
}

L2Slice::ApplicationStats L2Slice::application_stats() const {
  return counted_by_application<&L2SliceState::by_requester>(spec().applications);
}

std::vector<L2Slice::PolicyStats> L2Slice::policy_stats() const {
  std::vector<PolicyStats> all{
      {{spec().replacement_key, spec().params.replacement.stats()},
       [](L2SliceState const& s) -> StatSource const& { return s.cache.replacement(); }}};
  // Caches that no read bypasses, and caches of other devices, have no statistics of walk reads.
  if (auto stats = spec().params.walk_reads.stats(); !stats.empty())
    all.push_back({{"gpu.l2_cache.walk_reads", std::move(stats)},
                   [](L2SliceState const& s) -> StatSource const& { return s.walk_reads; }});
  return all;
}

std::string L2Slice::waiting_for() const {
  auto const& s = state();
  auto const stalled = s.stalled.size() + s.far.stalled.size() + s.stalled_walks.size();
  auto const far = s.far.mshrs.in_use() + s.far.free_writes.taken();
  auto const lines = s.mshrs.in_use() + s.own_mshrs.in_use();
  if (lines == 0 && stalled == 0 && far == 0 && s.writebacks.empty() && s.flush.pending.empty()) return {};
  auto text = std::to_string(lines) + " lines from DRAM, " + std::to_string(stalled) + " requests stalled, " +
              std::to_string(s.writebacks.size()) + " lines to write back";
  if (far != 0) text += ", " + std::to_string(far) + " accesses to other partitions";
  if (!s.flush.pending.empty())
    text += ", " + std::to_string(s.flush.writes) + " writes of a flush unacknowledged";
  return text;
}

void L2Slice::on_request(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_INVARIANT(device_of(m.address) == spec().device, path() + ": request for another device's memory");
  s.count_request(m);
  if (further(m.from) != Duration::zero()) s.stats.far_requests += m.train.lines();
  auto rest = m;
  Outgoing outgoing;
  auto* queue = &s.stalled;
  if (overtakes(m, cx)) [[unlikely]]
    queue = &s.stalled_walks;
  if (!queue->empty() || !serve(rest, false, outgoing, cx)) {
    s.stats.mshr_stalls += rest.train.lines();
    queue->push(rest);
    s.stall.set(cx.now(), true);
  }
  send_all(outgoing, cx);
}

bool L2Slice::serve(MemRequest& m, bool far, Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  auto const now = cx.now();
  if (may_bypass_ && bypasses(m, cx)) return bypass(m, outgoing, cx);
  auto slot = std::max(s.ports.free_at(), now);
  for (auto arrival = now;; arrival += m.train.until(1)) {
    auto const left = m.train.lines();
    if (!serve_line(m, far, left, std::max(slot, arrival), outgoing, cx)) return false;
    auto const free = busy_until(slot);
    s.stats.busy_ps += static_cast<std::uint64_t>(picoseconds(free - slot));
    s.ports.take(free);
    if (left == 1) return true;
    slot = one_port_ ? free : std::max(s.ports.free_at(), now);
    --m.train.more;
    m.address += spec().line_bytes;
  }
}

bool L2Slice::bypasses(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const line = line_of(m.address);
  return is_walk(m.requester.kind) && m.access == Access::read && !s.cache.is_dirty(line) &&
         s.walk_reads->bypasses(WalkReads::depth_of(m.requester.kind), line, cx.now());
}

bool L2Slice::bypass(MemRequest const& m, Outgoing& outgoing, Cx& cx) const {
  if (own_mshrs_ != 0) return bypass_with_own_mshr(m, outgoing, cx);
  auto& s = cx.state();
  auto const line = line_of(m.address);
  // Another request may merge with it and fill the line.
  if (!has_room_for_victims(s, 1) || !s.mshrs.can_wait()) return false;
  auto entry = s.mshrs.find(line);
  if (!entry) {
    if (s.mshrs.full() || credits(s, channel_of(m.address), m.requester.kind) == 0) return false;
    entry = s.mshrs.allocate(line);
    s.passing[*entry] = 1;
    to_memory(m.address & ~(PhysAddr{spec().line_bytes} - 1), Access::read, *entry, m.requester, cx.now(),
              outgoing.to_memory, cx);
  }
  s.mshrs.wait(*entry, {.tag = m.tag, .from = m.from, .found_by = FoundBy::memory, .since = cx.now()});
  s.walk_reads->bypassed(cx.now());
  return true;
}

bool L2Slice::bypass_with_own_mshr(MemRequest const& m, Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  auto const line = line_of(m.address);
  L2Waiter const waiter{.tag = m.tag, .from = m.from, .found_by = FoundBy::memory, .since = cx.now()};
  if (auto const entry = s.mshrs.find(line); entry && s.mshrs.can_wait()) {
    s.mshrs.wait(*entry, waiter);
  } else {
    if (!s.own_mshrs.can_wait()) return false;
    auto own = s.own_mshrs.find(line);
    if (!own) {
      if (s.own_mshrs.full() || credits(s, channel_of(m.address), m.requester.kind) == 0) return false;
      own = s.own_mshrs.allocate(line);
      // Sent alone: a train has one tag for all of its lines.
      send_to_memory(outgoing.to_memory, cx);
      to_memory(m.address & ~(PhysAddr{spec().line_bytes} - 1), Access::read, kOwn | *own, m.requester,
                cx.now(), outgoing.to_memory, cx);
      send_to_memory(outgoing.to_memory, cx);
    }
    s.own_mshrs.wait(*own, waiter);
  }
  s.walk_reads->bypassed(cx.now());
  return true;
}

bool L2Slice::serve_line(MemRequest const& m, bool far, std::uint32_t left, Time at, Outgoing& outgoing,
                         Cx& cx) const {
  auto& s = cx.state();
  auto const line = line_of(m.address);
  auto const looked_up = at + spec().clock.cycles(spec().params.latency);
  L2Waiter waiter{.tag = m.tag,
                  .from = m.from,
                  .far = far ? std::uint8_t{1} : std::uint8_t{0},
                  .found_by = FoundBy::memory,
                  .since = looked_up};
  if (spec().params.hardware_coherent() && partition_of(m.address) != partition())
    return serve_from_home(m, line, left, waiter, looked_up, outgoing, cx);
  bool const hit = m.access == Access::write ? s.cache.write(line) : s.cache.lookup(line);
  if (hit || m.access == Access::write) {
    if (!hit && !has_room_for_victims(s, left)) return false;
    if (!hit) put(s.cache.insert(line, true), outgoing.to_memory, cx);
    if (hit) waiter.found_by = FoundBy::cache;
    respond(waiter, m.address, m.access, looked_up, {}, outgoing.responses, cx);
  } else {
    if (!has_room_for_victims(s, 1) || !s.mshrs.can_wait()) return false;
    auto entry = s.mshrs.find(line);
    if (!entry) {
      auto const channel = channel_of(m.address);
      if (s.mshrs.free() < left || !s.mshrs.can_wait(left) || !has_room_for_victims(s, left) ||
          credits(s, channel, m.requester.kind) < left)
        return false;
      entry = s.mshrs.allocate(line);
      to_memory(m.address & ~(PhysAddr{spec().line_bytes} - 1), Access::read, *entry, m.requester, looked_up,
                outgoing.to_memory, cx);
    }
    s.mshrs.wait(*entry, waiter);
    if (may_bypass_) s.passing[*entry] = 0;
  }
  if (may_bypass_ && !far && (m.access == Access::read || counts_stores_) &&
      (m.requester.kind == RequestKind::data || is_walk(m.requester.kind)))
    s.walk_reads->looked_up(WalkReads::depth_of(m.requester.kind), hit, cx.now());
  if (hit && !far)
    s.count_hit(m.requester);
  else
    ++(hit ? s.stats.hits : s.stats.misses);
  return true;
}

void L2Slice::to_memory(PhysAddr line, Access access, std::uint32_t tag, Requester requester, Time at,
                        Run& run, Cx& cx) const {
  auto& s = cx.state();
  auto const channel = channel_of(line);
  if (has_walk_credits(requester.kind)) {
    tag |= kWalk;
    --s.walk_credits[channel];
  } else {
    --s.dram_credits[channel];
  }
  if (spec().params.software_coherent() && partition_of(line) != partition()) {
    at += spec().clock.cycles(2 * std::uint64_t{spec().params.partition_latency});  // both directions
    ++s.stats.far_misses;
  }
  auto const to = static_cast<std::uint16_t>(channel);
  // The tag of a read is that of its first line; the tag of a write is its purpose.
  if (continues(run, line, access, to) && requester == run.requester &&
      (access == Access::read || tag == run.tag)) {
    ++run.lines;
    run.last = std::max(run.last, at);
    return;
  }
  send_to_memory(run, cx);
  run.begin(line, access, at, tag, to);
  run.requester = requester;
}

void L2Slice::send_to_memory(Run& run, Cx& cx) const {
  if (run.lines == 0) return;
  cx.send(dram, run.to,
          MemRequest{.address = run.address,
                     .tag = run.tag,
                     .from = spec().dram_port,
                     .access = run.access,
                     .bytes = static_cast<std::uint8_t>(spec().line_bytes),
                     .requester = run.requester,
                     .train = run.train()},
          run.first - cx.now());
  run.lines = 0;
}

// Lines take the response port one after the other; a run, from the time when the port is free for its first
// line.
void L2Slice::respond(L2Waiter to, PhysAddr address, Access access, Time at, MemoryStages const& stages,
                      Run& run, Cx& cx) const {
  auto& s = cx.state();
  bool const more = continues(run, address, access, to.from) && run.tag == to.tag &&
                    run.found_by == to.found_by && run.far == to.far;
  auto const slot = more && one_port_ ? s.response_ports.free_at() : std::max(at, s.response_ports.free_at());
  auto const start = std::max(at, slot);
  s.response_ports.take(busy_until(slot));
  if (more) {
    ++run.lines;
    run.last = std::max(run.last, start);
    return;
  }
  send_responses(run, cx);
  run.begin(address, access, start, to.tag, to.from);
  run.found_by = to.found_by;
  run.far = to.far;
  run.stages = stages;
}

void L2Slice::send_responses(Run& run, Cx& cx) const {
  if (run.lines == 0) return;
  cx.send(run.far == 0 ? response : far_response, run.to,
          MemResponse{.address = run.address,
                      .tag = run.tag,
                      .access = run.access,
                      .found_by = run.found_by,
                      .train = run.train(),
                      .stages = run.stages},
          run.first - cx.now() + (run.far == 0 ? further(run.to) : Duration::zero()));
  run.lines = 0;
}

void L2Slice::send_all(Outgoing& outgoing, Cx& cx) const {
  send_responses(outgoing.responses, cx);
  send_to_memory(outgoing.to_memory, cx);
  send_to_home(outgoing.to_home, cx);
}

// A line was filled in place of `victim`.
void L2Slice::put(std::optional<Cache::Victim> const& victim, Run& to_memory, Cx& cx) const {
  auto& s = cx.state();
  if (!victim || !victim->dirty) return;
  s.writebacks.push(victim->line);
  write_back(to_memory, cx);
}

void L2Slice::write_back(Run& run, Cx& cx) const {
  auto& s = cx.state();
  while (!s.writebacks.empty()) {
    auto const address = address_of(s.writebacks.front());
    if (s.dram_credits[channel_of(address)] == 0) return;
    ++s.stats.writebacks;
    to_memory(address, Access::write, kEviction, kWriteBack, cx.now(), run, cx);
    s.writebacks.pop();
  }
}

void L2Slice::on_bypass_response(MemResponse const& m, Outgoing& outgoing, Cx& cx) const {
  cx.state().own_mshrs.release(m.tag & ~(kOwn | kWalk), [&](L2Waiter const& to) {
    respond(to, m.address, Access::read, cx.now(), m.stages.last_of(cx.now() - to.since), outgoing.responses,
            cx);
  });
}

void L2Slice::on_dram(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const lines = m.train.lines();
  Outgoing outgoing;
  auto const channel = channel_of(m.address);
  if ((m.tag & kWalk) == 0) [[likely]]
    s.dram_credits[channel] += lines;
  else
    s.walk_credits[channel] += lines;
  if ((m.tag & kOwn) != 0) [[unlikely]] {
    on_bypass_response(m, outgoing, cx);
  } else if (m.access == Access::read) {
    auto const first = line_of(m.address);  // if a cache has split a train, the tag is another line's
    for (std::uint32_t i = 0; i < lines; ++i) {
      auto const entry = *s.mshrs.find(first + i);
      if (!may_bypass_ || s.passing[entry] == 0) put(s.cache.fill(first + i, false), outgoing.to_memory, cx);
      auto const at = cx.now() + m.train.until(i);
      s.mshrs.release(entry, [&](L2Waiter const& to) {
        respond(to, m.address + std::uint64_t{i} * spec().line_bytes, Access::read, at,
                m.stages.last_of(at - to.since), outgoing.responses, cx);
      });
    }
  } else if (m.tag == kFlush) {
    s.flush.writes -= lines;
  }
  write_back(outgoing.to_memory, cx);
  continue_flushes(outgoing, cx);
  resume_stalled(outgoing, cx);
  send_all(outgoing, cx);
}

void L2Slice::resume_stalled(Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  while (!s.stalled_walks.empty() && serve(s.stalled_walks.front(), false, outgoing, cx))
    s.stalled_walks.pop();
  auto const next_of = [&](bool far) {
    auto& queue = far ? s.far.stalled : s.stalled;
    if (queue.empty() || !serve(queue.front(), far, outgoing, cx)) return false;
    queue.pop();
    s.far.turn = far ? 0 : 1;
    return true;
  };
  while (next_of(s.far.turn != 0) || next_of(s.far.turn == 0)) {
  }
  s.stall.set(cx.now(), stalls(s));
}

void L2Slice::on_flush(Flush const& m, Cx& cx) const {
  auto& pending = cx.state().flush.pending;
  pending.push(m);
  Outgoing outgoing;
  if (pending.size() == 1) continue_flushes(outgoing, cx);
  send_all(outgoing, cx);
}

void L2Slice::continue_flushes(Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  while (!s.flush.pending.empty()) {
    auto const now = s.flush.pending.front();
    if (!write_dirty(now, outgoing.to_memory, cx)) return;
    if (now.frame != kNoFrame)
      s.cache.drop([&](std::uint64_t line) { return in_page(line, now); });
    else if (spec().params.software_coherent())
      s.cache.drop_clean();
    cx.send(flushed, now.from, Flushed{now.number});
    s.flush.pending.pop();
    s.flush.next = 0;
  }
}

bool L2Slice::write_dirty(Flush const& wanted, Run& run, Cx& cx) const {
  auto& s = cx.state();
  while (auto const dirty = s.cache.first_dirty(s.flush.next)) {
    s.flush.next = dirty->place;
    if (wanted.frame == kNoFrame || in_page(dirty->line, wanted)) {
      auto const address = address_of(dirty->line);
      if (s.dram_credits[channel_of(address)] == 0) return false;
      auto const at = std::max(s.ports.free_at(), cx.now());
      s.ports.take(busy_until(at));
      s.cache.clean(dirty->place);
      ++s.flush.writes;
      ++(wanted.frame == kNoFrame ? s.stats.kernel_end_writebacks : s.stats.page_writebacks);
      to_memory(address, Access::write, kFlush, kWriteBack, at, run, cx);
    }
    ++s.flush.next;
  }
  s.flush.next = s.cache.places();
  return s.flush.writes == 0;
}

template class Component<L2SliceSpec, L2SliceState>;

}  // namespace farfault
