#include "farfault/memory/copy_engine.hpp"

#include <algorithm>
#include <array>

namespace farfault {

void CopyEngineParams::describe(ParamTable& t) {
  t.count("window", window, {1, 65536}, "lines under way at a time, in each direction", "assumed");
  t.count("slice_credits", slice_credits, {1, 4096},
          "lines that one L2 slice reads or writes for it at a time", "assumed");
}

CopyEngineState CopyEngine::initial() const {
  CopyEngineState s;
  for (auto& lane : s.lanes) {
    lane.orders = Ring<CopyOrder>(spec().queue);
    lane.arrived = Ring<std::uint32_t>(spec().params.window);
  }
  s.slice_credits.assign(spec().slices, spec().params.slice_credits);
  return s;
}

std::span<Stat<CopyEngineState> const> CopyEngine::stats() const {
  using S = CopyEngineState const&;
  static constexpr auto all = std::to_array<Stat<CopyEngineState>>({
      {"orders", "count", "copies done", StatKind::counter, [](S s) { return s.orders; }},
      {"lines_in", "count", "cache lines written into this GPU's memory", StatKind::counter,
       [](S s) { return s.lines_in; }},
      {"lines_out", "count", "cache lines written into the memory of other devices", StatKind::counter,
       [](S s) { return s.lines_out; }},
      {"local_accesses", "count", "cache lines of this GPU's memory read or written", StatKind::counter,
       [](S s) { return s.local_accesses; }},
      {"queued_orders", "count", "copies waiting or under way", StatKind::level,
       [](S s) { return s.lanes[0].orders.size() + s.lanes[1].orders.size(); }},
  });
  return all;
}

std::string CopyEngine::waiting_for() const {
  std::string text;
  for (auto const& lane : state().lanes) {
    if (lane.orders.empty()) continue;
    text += (text.empty() ? "" : "; ") + std::to_string(lane.orders.size()) + " copies " +
            (&lane == &state().lanes[0] ? "in, " : "out, ") + std::to_string(lane.written) + " lines of " +
            std::to_string(lines(lane.orders.front())) + " of the first written";
  }
  return text;
}

void CopyEngine::on_copy(CopyOrder const& m, Cx& cx) const {
  FF_CHECK(m.bytes != 0, path() + ": a copy of no bytes");
  std::uint32_t const lane = device_of(m.to) == spec().device ? 0 : 1;
  cx.state().lanes[lane].orders.push(m);
  fetch(lane, cx);
}

bool CopyEngine::access(std::uint32_t lane, PhysAddr base, std::uint32_t line, Access access, Duration extra,
                        Cx& cx) const {
  auto& s = cx.state();
  auto const offset = std::uint64_t{line} * spec().line_bytes;
  auto const bytes = std::min<std::uint64_t>(spec().line_bytes, s.lanes[lane].orders.front().bytes - offset);
  MemRequest const request{
      base + offset, lane << kLaneShift | line,        0,
      access,        static_cast<std::uint8_t>(bytes), Requester{.kind = RequestKind::copy}};
  if (device_of(base) != spec().device) {
    auto remote = request;
    remote.from = spec().remote_port;
    cx.send(remote_request, remote, extra);
    return true;
  }
  auto const slice = spec().memory.slice(offset_of(request.address));
  if (s.slice_credits[slice] == 0) return false;
  --s.slice_credits[slice];
  ++s.local_accesses;
  auto local = request;
  local.from = spec().memory_port;
  cx.send(memory_request, slice, local, extra);
  return true;
}

void CopyEngine::fetch(std::uint32_t lane, Cx& cx) const {
  auto& l = cx.state().lanes[lane];
  if (l.orders.empty()) return;
  auto const& order = l.orders.front();
  while (l.fetched < lines(order) && l.under_way < spec().params.window) {
    auto const at = std::max(l.port_free, cx.now());
    if (!access(lane, order.from, l.fetched, Access::read, at - cx.now(), cx)) return;
    l.port_free = spec().clock.after(at);
    ++l.fetched;
    ++l.under_way;
  }
}

void CopyEngine::on_remote(MemResponse const& m, Cx& cx) const {
  answered(m, cx);
}

void CopyEngine::on_memory(MemResponse const& m, Cx& cx) const {
  ++cx.state().slice_credits[spec().memory.slice(offset_of(m.address))];
  answered(m, cx);
  // The other direction may have waited for the credit.
  auto const other = 1 - (m.tag >> kLaneShift);
  write_arrived(other, cx);
  fetch(other, cx);
}

void CopyEngine::answered(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const lane = m.tag >> kLaneShift;
  auto& l = s.lanes[lane];
  if (m.access == Access::read) {
    l.arrived.push(m.tag & ((std::uint32_t{1} << kLaneShift) - 1));
  } else {
    --l.under_way;
    ++l.written;
    ++(lane == 0 ? s.lines_in : s.lines_out);
    if (l.written == lines(l.orders.front())) {
      ++s.orders;
      cx.send(copied, CopyDone{l.orders.front().tag});
      l.orders.pop();
      l.fetched = 0;
      l.written = 0;
    }
  }
  write_arrived(lane, cx);
  if (m.access == Access::write || device_of(m.address) == spec().device) fetch(lane, cx);
}

void CopyEngine::write_arrived(std::uint32_t lane, Cx& cx) const {
  auto& l = cx.state().lanes[lane];
  while (!l.arrived.empty()) {
    if (!access(lane, l.orders.front().to, l.arrived.front(), Access::write, Duration::zero(), cx)) return;
    l.arrived.pop();
  }
}

}  // namespace farfault
