// SPDX-License-Identifier: Apache-2.0
// Accesses of an L2 slice to lines with their home in another partition.
#include <algorithm>

#include "farfault/memory/l2_slice.hpp"

namespace farfault {

FarState::FarState(L2CacheParams const& p)
    : mshrs(p.mshrs, p.waiters),
      free_writes(p.mshrs * (p.partitions - 1)),
      credits(p.partitions, p.mshrs),
      stalled(std::size_t{p.mshrs} * (p.partitions - 1)) {}

bool L2Slice::serve_from_home(MemRequest const& m, std::uint64_t line, std::uint32_t left, L2Waiter waiter,
                              Time looked_up, Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  bool const hit = s.cache.lookup(line);
  if (m.access == Access::read) {
    if (!hit) return read_from_home(m, line, left, waiter, looked_up, outgoing, cx);
    waiter.found_by = FoundBy::cache;
    respond(waiter, m.address, Access::read, looked_up, {}, outgoing.responses, cx);
    s.count_hit(m.requester);
    return true;
  }
  auto const home = static_cast<std::uint16_t>(partition_of(m.address));
  if (s.far.credits[home] < left) return false;
  --s.far.credits[home];
  ++s.stats.misses;
  ++s.stats.far_misses;
  auto& run = outgoing.to_home;
  bool more = continues(run, m.address, Access::write, home) && m.requester == run.requester;
  if (more) {
    auto const& first = s.far.writes[run.tag].waiter;
    more = first.tag == waiter.tag && first.from == waiter.from;
  }
  if (more) {
    ++s.far.writes[run.tag].lines;
    ++run.lines;
    run.last = std::max(run.last, looked_up);
    return true;
  }
  send_to_home(run, cx);
  auto const tag = s.far.free_writes.take(s.far.writes);
  s.far.writes[tag] = {waiter, 1};
  run.begin(m.address, Access::write, looked_up, tag, home);
  run.requester = m.requester;
  run.bytes = m.bytes;
  return true;
}

bool L2Slice::read_from_home(MemRequest const& m, std::uint64_t line, std::uint32_t left, L2Waiter waiter,
                             Time looked_up, Outgoing& outgoing, Cx& cx) const {
  auto& s = cx.state();
  if (!has_room_for_far_victims(s, 1) || !s.far.mshrs.can_wait()) return false;
  auto entry = s.far.mshrs.find(line);
  if (!entry) {
    auto const home = static_cast<std::uint16_t>(partition_of(m.address));
    if (s.far.mshrs.free() < left || !s.far.mshrs.can_wait(left) || !has_room_for_far_victims(s, left) ||
        s.far.credits[home] < left)
      return false;
    entry = s.far.mshrs.allocate(line);
    --s.far.credits[home];
    ++s.stats.far_misses;
    auto const address = m.address & ~(PhysAddr{spec().line_bytes} - 1);
    auto& run = outgoing.to_home;
    if (continues(run, address, Access::read, home) && m.requester == run.requester) {
      ++run.lines;
      run.last = std::max(run.last, looked_up);
    } else {
      send_to_home(run, cx);
      run.begin(address, Access::read, looked_up, *entry, home);
      run.requester = m.requester;
      run.bytes = static_cast<std::uint8_t>(spec().line_bytes);
    }
  }
  s.far.mshrs.wait(*entry, waiter);
  ++s.stats.misses;
  return true;
}

void L2Slice::send_to_home(Run& run, Cx& cx) const {
  if (run.lines == 0) return;
  cx.send(home_request, run.to,
          MemRequest{.address = run.address,
                     .tag = run.tag,
                     .from = static_cast<std::uint16_t>(partition()),
                     .access = run.access,
                     .bytes = run.bytes,
                     .requester = run.requester,
                     .train = run.train()},
          run.first - cx.now());
  run.lines = 0;
}

void L2Slice::on_far_request(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_INVARIANT(partition_of(m.address) == partition(), path() + ": slice is not the home of the address");
  auto rest = m;
  s.stats.far_requests += m.train.lines();
  Outgoing outgoing;
  if (!s.far.stalled.empty() || !serve(rest, true, outgoing, cx)) {
    s.stats.mshr_stalls += rest.train.lines();
    s.far.stalled.push(rest);
    s.stall.set(cx.now(), true);
  }
  send_all(outgoing, cx);
}

void L2Slice::on_home_response(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const lines = m.train.lines();
  Outgoing outgoing;
  s.far.credits[partition_of(m.address)] += lines;
  for (std::uint32_t i = 0; i < lines; ++i) {
    auto const reply = [&](L2Waiter to) {
      to.found_by = m.found_by;
      auto const at = cx.now() + m.train.until(i);
      respond(to, m.address + std::uint64_t{i} * spec().line_bytes, m.access, at,
              m.stages.last_of(at - to.since), outgoing.responses, cx);
    };
    if (m.access == Access::read) {
      auto const line = line_of(m.address) + i;
      put(s.cache.fill(line, false), outgoing.to_memory, cx);
      s.far.mshrs.release(*s.far.mshrs.find(line), reply);
    } else {
      auto& write = s.far.writes[m.tag];
      reply(write.waiter);
      if (--write.lines == 0) s.far.free_writes.give_back(m.tag);
    }
  }
  resume_stalled(outgoing, cx);
  send_all(outgoing, cx);
}

}  // namespace farfault
