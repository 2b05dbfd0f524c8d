#include "farfault/components/l2_slice.hpp"

#include <algorithm>
#include <array>

namespace farfault {

void L2CacheParams::describe(ParamTable& t) {
  t.count("slices", slices, {1, 256}, "slices (banks) of the L2 cache; a power of two",
          "MGPUSim 4.2, R9 Nano: 16");
  t.bytes("size", size, {ByteSize{4096}, ByteSize{std::uint64_t{1} << 30}}, "bytes of all slices together",
          "MGPUSim 4.2, R9 Nano: 2 MiB");
  t.count("ways", ways, {1, 1024}, "ways of the L2 cache", "MGPUSim 4.2, R9 Nano: 16");
  t.count("latency", latency, {1, 10000}, "cycles from look-up to response", "MGPUSim 4.2, MI300A: 14");
  t.count("mshrs", mshrs, {1, 4096}, "lines with an outstanding miss, per slice", "MGPUSim 4.2, R9 Nano: 64");
  t.count("waiters", waiters, {1, 1 << 20}, "requests that can wait for lines, per slice", "assumed");
  t.bytes("interleave", interleave, {ByteSize{64}, ByteSize{1 << 20}},
          "consecutive bytes in one slice; a power of two", "assumed");
}

L2SliceState L2Slice::initial() const {
  auto const& p = spec();
  L2SliceState s;
  s.cache = Cache(p.params.size.bytes / p.params.slices, p.params.ways, p.line_bytes);
  s.mshrs = MshrTable<L2Waiter>(p.params.mshrs, p.params.waiters);
  s.stalled = Ring<MemRequest>(p.queue);
  s.writebacks = Ring<std::uint64_t>(2 * std::size_t{p.params.mshrs});
  s.dram_credits.assign(p.dram_channels, p.dram_credits);
  return s;
}

std::span<Stat<L2SliceState> const> L2Slice::stats() const {
  using S = L2SliceState const&;
  static constexpr std::array<Stat<L2SliceState>, 6> all{{
      {"reads", "count", "read requests, page-walk reads included", StatKind::counter,
       [](S s) { return s.stats.reads; }},
      {"writes", "count", "write requests", StatKind::counter, [](S s) { return s.stats.writes; }},
      {"hits", "count", "requests that hit", StatKind::counter, [](S s) { return s.stats.hits; }},
      {"misses", "count", "requests that missed", StatKind::counter, [](S s) { return s.stats.misses; }},
      {"writebacks", "count", "evicted dirty lines written to DRAM", StatKind::counter,
       [](S s) { return s.stats.writebacks; }},
      {"mshr_stalls", "count", "requests that waited for a free MSHR", StatKind::counter,
       [](S s) { return s.stats.mshr_stalls; }},
  }};
  return all;
}

std::string L2Slice::waiting_for() const {
  auto const& s = state();
  if (s.mshrs.in_use() == 0 && s.stalled.empty() && s.writebacks.empty()) return {};
  return std::to_string(s.mshrs.in_use()) + " lines from DRAM, " + std::to_string(s.stalled.size()) +
         " requests stalled, " + std::to_string(s.writebacks.size()) + " lines to write back";
}

void L2Slice::on_request(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_INVARIANT(device_of(m.address) == spec().device, path() + ": a request for another device's memory");
  ++(m.access == Access::read ? s.stats.reads : s.stats.writes);
  if (!s.stalled.empty() || !serve(m, cx)) {
    ++s.stats.mshr_stalls;
    s.stalled.push(m);
  }
}

bool L2Slice::serve(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const line = line_of(m.address);
  auto const at = std::max(s.port_free, cx.now());
  auto const looked_up = at + spec().clock.cycles(spec().params.latency);
  L2Waiter const asker{m.tag, m.from, 0};
  bool const hit = m.access == Access::write ? s.cache.write(line) : s.cache.lookup(line);
  if (!hit && !room_for_victim(s)) return false;
  if (hit || m.access == Access::write) {
    if (!hit) put(line, true, cx);
    answer(asker, m.address, m.access, looked_up, cx);
  } else {
    if (!s.mshrs.can_wait()) return false;
    auto entry = s.mshrs.find(line);
    if (!entry) {
      auto const channel = channel_of(m.address);
      if (s.mshrs.full() || s.dram_credits[channel] == 0) return false;
      entry = s.mshrs.allocate(line);
      --s.dram_credits[channel];
      cx.send(dram, channel,
              MemRequest{m.address & ~(PhysAddr{spec().line_bytes} - 1), *entry, spec().dram_port,
                         Access::read, static_cast<std::uint8_t>(spec().line_bytes)},
              looked_up - cx.now());
    }
    s.mshrs.wait(*entry, asker);
  }
  ++(hit ? s.stats.hits : s.stats.misses);
  s.port_free = spec().clock.after(at);
  return true;
}

void L2Slice::answer(L2Waiter to, PhysAddr address, Access access, Time at, Cx& cx) const {
  auto& s = cx.state();
  auto const start = std::max(at, s.answer_free);
  s.answer_free = spec().clock.after(start);
  cx.send(response, to.from, MemResponse{address, to.tag, access, {}}, start - cx.now());
}

void L2Slice::put(std::uint64_t line, bool dirty, Cx& cx) const {
  auto& s = cx.state();
  auto const victim = s.cache.fill(line, dirty);
  if (!victim || !victim->dirty) return;
  s.writebacks.push(victim->line);
  write_back(cx);
}

void L2Slice::write_back(Cx& cx) const {
  auto& s = cx.state();
  while (!s.writebacks.empty()) {
    auto const address = address_of(s.writebacks.front());
    auto const channel = channel_of(address);
    if (s.dram_credits[channel] == 0) return;
    --s.dram_credits[channel];
    ++s.stats.writebacks;
    cx.send(dram, channel,
            MemRequest{address, 0, spec().dram_port, Access::write,
                       static_cast<std::uint8_t>(spec().line_bytes)});
    s.writebacks.pop();
  }
}

void L2Slice::on_dram(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  ++s.dram_credits[channel_of(m.address)];
  if (m.access == Access::read) {
    auto const line = s.mshrs.key(m.tag);
    put(line, false, cx);
    s.mshrs.release(m.tag, [&](L2Waiter const& to) { answer(to, m.address, Access::read, cx.now(), cx); });
  }
  write_back(cx);
  resume_stalled(cx);
}

void L2Slice::resume_stalled(Cx& cx) const {
  auto& s = cx.state();
  while (!s.stalled.empty() && serve(s.stalled.front(), cx)) s.stalled.pop();
}

}  // namespace farfault
