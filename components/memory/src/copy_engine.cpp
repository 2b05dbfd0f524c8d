#include "farfault/memory/copy_engine.hpp"

#include <algorithm>

namespace farfault {

CopyEngineState CopyEngine::initial() const {
  CopyEngineState s;
  auto const window = spec().params.window;
  for (auto& lane : s.lanes) {
    lane.runs.resize(spec().queue);
    for (auto i = spec().queue; i > 0; --i) lane.free_runs.push_back(i - 1);
    lane.to_read = Ring<std::uint32_t>(spec().queue);
    lane.lines.resize(window);
    for (auto i = window; i > 0; --i) lane.free_lines.push_back(i - 1);
    lane.arrived = Ring<std::uint32_t>(window);
  }
  s.slice_credits.assign(spec().slices, spec().params.slice_credits);
  return s;
}

std::string CopyEngine::waiting_for() const {
  std::string text;
  for (auto const& lane : state().lanes) {
    auto const orders = lane.runs.size() - lane.free_runs.size();
    if (orders == 0) continue;
    text += (text.empty() ? "" : "; ") + std::to_string(orders) + " copies " +
            (&lane == &state().lanes[0] ? "in, " : "out, ") +
            std::to_string(lane.lines.size() - lane.free_lines.size()) + " of their lines under way";
  }
  return text;
}

void CopyEngine::on_copy(CopyOrder const& m, Cx& cx) const {
  FF_CHECK(m.bytes != 0, path() + ": a copy of no bytes");
  std::uint32_t const number = device_of(m.to) == spec().device ? 0 : 1;
  auto& lane = cx.state().lanes[number];
  FF_CHECK(!lane.free_runs.empty(), path() + ": more copies than there is room for");
  auto const run = lane.free_runs.back();
  lane.free_runs.pop_back();
  lane.runs[run] = {m, 0, 0};
  lane.to_read.push(run);
  fetch(number, cx);
}

bool CopyEngine::access(std::uint32_t lane, std::uint32_t number, Access access, Duration extra,
                        Cx& cx) const {
  auto& s = cx.state();
  auto const& line = s.lanes[lane].lines[number];
  auto const& order = s.lanes[lane].runs[line.run].order;
  auto const base = access == Access::read ? order.from : order.to;
  auto const offset = std::uint64_t{line.line} * spec().line_bytes;
  auto const bytes = std::min<std::uint64_t>(spec().line_bytes, order.bytes - offset);
  MemRequest const request{base + offset,
                           lane << kLaneShift | number,
                           0,
                           access,
                           static_cast<std::uint8_t>(bytes),
                           Requester{order.space, order.application, RequestKind::copy}};
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
  while (!l.to_read.empty() && !l.free_lines.empty()) {
    auto const number = l.to_read.front();
    auto& run = l.runs[number];
    auto const line = l.free_lines.back();
    l.lines[line] = {number, run.read};
    auto const at = std::max(l.port_free, cx.now());
    if (!access(lane, line, Access::read, at - cx.now(), cx)) return;
    l.free_lines.pop_back();
    l.port_free = spec().clock.after(at);
    if (++run.read == lines(run.order)) l.to_read.pop();
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
  auto const lane = m.tag >> kLaneShift;
  auto const number = m.tag & ((std::uint32_t{1} << kLaneShift) - 1);
  if (m.access == Access::read)
    cx.state().lanes[lane].arrived.push(number);
  else
    end_line(lane, number, cx);
  write_arrived(lane, cx);
  if (m.access == Access::write || device_of(m.address) == spec().device) fetch(lane, cx);
}

void CopyEngine::end_line(std::uint32_t lane, std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto& l = s.lanes[lane];
  auto const of = l.lines[number].run;
  auto& run = l.runs[of];
  l.free_lines.push_back(number);
  ++(lane == 0 ? s.lines_in : s.lines_out);
  if (++run.written != lines(run.order)) return;
  ++s.orders;
  cx.send(copied, CopyDone{run.order.tag});
  l.free_runs.push_back(of);
}

void CopyEngine::write_arrived(std::uint32_t lane, Cx& cx) const {
  auto& l = cx.state().lanes[lane];
  while (!l.arrived.empty()) {
    if (!access(lane, l.arrived.front(), Access::write, Duration::zero(), cx)) return;
    l.arrived.pop();
  }
}

}  // namespace farfault
