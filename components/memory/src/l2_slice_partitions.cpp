// An L2 slice and the slices of other partitions: lines that have their home there.
#include <algorithm>

#include "farfault/memory/l2_slice.hpp"

namespace farfault {

FarState::FarState(L2CacheParams const& p)
    : mshrs(p.mshrs, p.waiters),
      writes(std::size_t{p.mshrs} * (p.partitions - 1)),
      credits(p.partitions, p.mshrs),
      stalled(std::size_t{p.mshrs} * (p.partitions - 1)) {
  for (auto i = static_cast<std::uint32_t>(writes.size()); i > 0; --i) free_writes.push_back(i - 1);
}

bool L2Slice::serve_from_home(MemRequest const& m, std::uint64_t line, L2Waiter asker, Time looked_up,
                              Cx& cx) const {
  auto& s = cx.state();
  bool const hit = s.cache.lookup(line);
  if (m.access == Access::read) {
    if (!hit) return read_from_home(m, line, asker, looked_up, cx);
    asker.found_by = FoundBy::cache;
    answer(asker, m.address, Access::read, looked_up, cx);
    s.count_hit(m.requester);
    return true;
  }
  auto const home = partition_of(m.address);
  if (s.far.credits[home] == 0) return false;
  --s.far.credits[home];
  auto const tag = s.far.free_writes.back();
  s.far.free_writes.pop_back();
  s.far.writes[tag] = asker;
  ++s.stats.misses;
  ++s.stats.far_misses;
  cx.send(home_request, home,
          MemRequest{m.address, tag, static_cast<std::uint16_t>(partition()), Access::write, m.bytes,
                     m.requester},
          looked_up - cx.now());
  return true;
}

bool L2Slice::read_from_home(MemRequest const& m, std::uint64_t line, L2Waiter asker, Time looked_up,
                             Cx& cx) const {
  auto& s = cx.state();
  if (!room_for_far_victim(s) || !s.far.mshrs.can_wait()) return false;
  auto entry = s.far.mshrs.find(line);
  if (!entry) {
    auto const home = partition_of(m.address);
    if (s.far.mshrs.full() || s.far.credits[home] == 0) return false;
    entry = s.far.mshrs.allocate(line);
    --s.far.credits[home];
    ++s.stats.far_misses;
    cx.send(home_request, home,
            MemRequest{m.address & ~(PhysAddr{spec().line_bytes} - 1), *entry,
                       static_cast<std::uint16_t>(partition()), Access::read,
                       static_cast<std::uint8_t>(spec().line_bytes), m.requester},
            looked_up - cx.now());
  }
  s.far.mshrs.wait(*entry, asker);
  ++s.stats.misses;
  return true;
}

void L2Slice::on_far_request(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_INVARIANT(partition_of(m.address) == partition(), path() + ": it is not the home of this address");
  ++s.stats.far_requests;
  if (!s.far.stalled.empty() || !serve(m, true, cx)) {
    ++s.stats.mshr_stalls;
    s.far.stalled.push(m);
  }
}

void L2Slice::on_home_response(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  ++s.far.credits[partition_of(m.address)];
  auto const reply = [&](L2Waiter to) {
    to.found_by = m.found_by;
    answer(to, m.address, m.access, cx.now(), cx);
  };
  if (m.access == Access::read) {
    put(s.far.mshrs.key(m.tag), false, cx);
    s.far.mshrs.release(m.tag, reply);
  } else {
    reply(s.far.writes[m.tag]);
    s.far.free_writes.push_back(m.tag);
  }
  resume_stalled(cx);
}

}  // namespace farfault
