// SPDX-License-Identifier: Apache-2.0
#include "farfault/memory/copy_engine.hpp"

#include <algorithm>

#include "farfault/parts/train.hpp"

namespace farfault {

std::uint32_t CopyEngineParams::window_of(std::uint64_t of_links) const {
  if (window != 0) return window;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(of_links, 1, 1 << 20));
}

std::uint32_t CopyEngineParams::slice_credits_of(std::uint32_t lines, std::uint32_t slices,
                                                 std::uint32_t in_block, std::uint32_t train) const {
  if (slice_credits != 0) return slice_credits;
  auto const used = std::min(slices, (lines + in_block - 1) / in_block);
  return std::max((2 * lines + used - 1) / used, 4 * train);
}

CopyEngine::CopyEngine(Slot<CopyEngineSpec> slot) : Component(std::move(slot)) {}

CopyEngineState CopyEngine::initial() const {
  CopyEngineState s;
  for (auto& lane : s.lanes) {
    lane.runs.resize(spec().queue);
    for (auto i = spec().queue; i > 0; --i) lane.free_runs.push_back(i - 1);
    lane.to_read = Ring<std::uint32_t>(spec().queue);
    lane.free_lines = spec().window;
    lane.arrived = Ring<CopyPiece>(spec().window);
  }
  s.slice_credits.assign(spec().slices, spec().slice_credits);
  return s;
}

std::string CopyEngine::waiting_for() const {
  std::string text;
  for (auto const& lane : state().lanes) {
    auto const orders = lane.runs.size() - lane.free_runs.size();
    if (orders == 0) continue;
    text += (text.empty() ? "" : "; ") + std::to_string(orders) + " copies " +
            (&lane == &state().lanes[0] ? "in, " : "out, ") +
            std::to_string(spec().window - lane.free_lines) + " of their lines in flight";
  }
  return text;
}

void CopyEngine::on_copy(CopyOrder const& m, Cx& cx) const {
  FF_CHECK(m.bytes != 0, path() + ": copy of zero bytes");
  std::uint32_t const number = device_of(m.to) == spec().device ? 0 : 1;
  auto& lane = cx.state().lanes[number];
  FF_CHECK(!lane.free_runs.empty(), path() + ": copy queue overflow");
  auto const run = lane.free_runs.back();
  lane.free_runs.pop_back();
  lane.runs[run] = {m, 0, 0, {}};
  lane.to_read.push(run);
  fetch(number, cx);
}

std::uint32_t CopyEngine::together(CopyOrder const& o, PhysAddr base, std::uint32_t line,
                                   std::uint32_t left) const {
  auto const whole = o.bytes / spec().line_bytes;
  auto const address = base + std::uint64_t{line} * spec().line_bytes;
  auto const in_block = spec().train_block - static_cast<std::uint32_t>(address & (spec().train_block - 1));
  return std::max(1U, std::min({left, longest(device_of(base)), whole - line, in_block / spec().line_bytes}));
}

bool CopyEngine::access(std::uint32_t lane, std::uint32_t run, std::uint32_t line, std::uint32_t lines,
                        Access access, Time first, Time last, Cx& cx) const {
  auto& s = cx.state();
  auto const& order = s.lanes[lane].runs[run].order;
  auto const base = access == Access::read ? order.from : order.to;
  auto const offset = std::uint64_t{line} * spec().line_bytes;
  auto const bytes = std::min<std::uint64_t>(spec().line_bytes, order.bytes - offset);
  MemRequest request{.address = base + offset,
                     .tag = lane << kLaneShift | run,
                     .access = access,
                     .bytes = static_cast<std::uint8_t>(bytes),
                     .requester = Requester{order.space, order.application, RequestKind::copy},
                     .train = train_between(first, last, lines - 1)};
  auto const in = first - cx.now();
  if (device_of(base) != spec().device) {
    request.from = spec().remote_port;
    cx.send(remote_request, request, in);
    return true;
  }
  auto const slice = spec().memory.slice(offset_of(request.address));
  if (s.slice_credits[slice] < lines) return false;
  s.slice_credits[slice] -= lines;
  s.local_accesses += lines;
  request.from = spec().memory_port;
  cx.send(memory_request, slice, request, in);
  return true;
}

// Issues one line at each clock edge.
void CopyEngine::fetch(std::uint32_t lane, Cx& cx) const {
  auto& l = cx.state().lanes[lane];
  while (!l.to_read.empty()) {
    auto const number = l.to_read.front();
    auto& run = l.runs[number];
    auto const all = lines(run.order);
    auto const n = together(run.order, run.order.from, run.read, all - run.read);
    if (l.free_lines < n) return;
    auto const first = std::max(l.port_free, cx.now());
    auto last = first;
    for (std::uint32_t i = 1; i < n; ++i) last = spec().clock.after(last);
    if (!access(lane, number, run.read, n, Access::read, first, last, cx)) return;
    l.free_lines -= n;
    l.port_free = spec().clock.after(last);
    run.read += n;
    if (run.read == all) l.to_read.pop();
  }
}

void CopyEngine::on_remote(MemResponse const& m, Cx& cx) const {
  responded(m, cx);
}

void CopyEngine::on_memory(MemResponse const& m, Cx& cx) const {
  cx.state().slice_credits[spec().memory.slice(offset_of(m.address))] += m.train.lines();
  responded(m, cx);
  // The other direction may have waited for the credit.
  auto const other = 1 - (m.tag >> kLaneShift);
  write_arrived(other, cx);
  fetch(other, cx);
}

void CopyEngine::responded(MemResponse const& m, Cx& cx) const {
  auto const lane = m.tag >> kLaneShift;
  auto const run = m.tag & ((std::uint32_t{1} << kLaneShift) - 1);
  auto& l = cx.state().lanes[lane];
  if (m.access == Access::read) {
    auto const line = static_cast<std::uint32_t>((m.address - l.runs[run].order.from) / spec().line_bytes);
    l.arrived.push({.run = run, .first = line, .lines = m.train.lines(), .gap = m.train.gap, .at = cx.now()});
  } else {
    end_lines(lane, run, m.train, cx);
  }
  write_arrived(lane, cx);
  if (m.access == Access::write || device_of(m.address) == spec().device) fetch(lane, cx);
}

void CopyEngine::end_lines(std::uint32_t lane, std::uint32_t number, Train train, Cx& cx) const {
  auto& s = cx.state();
  auto& l = s.lanes[lane];
  auto& run = l.runs[number];
  l.free_lines += train.lines();
  (lane == 0 ? s.lines_in : s.lines_out) += train.lines();
  run.written += train.lines();
  run.done = std::max(run.done, cx.now() + train.length());
  if (run.written != lines(run.order)) return;
  ++s.orders;
  auto const other = device_of(lane == 0 ? run.order.from : run.order.to);
  bool const with_cpu = other >= kFirstCpu && other < kFirstNic;
  cx.send(copied, CopyDone{run.order.tag},
          run.done - cx.now() + (with_cpu ? spec().cpu_latency : Duration::zero()));
  l.free_runs.push_back(number);
}

void CopyEngine::write_arrived(std::uint32_t lane, Cx& cx) const {
  auto& l = cx.state().lanes[lane];
  while (!l.arrived.empty()) {
    auto& piece = l.arrived.front();
    auto const& order = l.runs[piece.run].order;
    auto const n = together(order, order.to, piece.first, piece.lines);
    auto const after = [&](std::uint32_t lines) { return Duration{std::int64_t{piece.gap} * lines}; };
    auto const first = std::max(piece.at, cx.now());
    auto const last = std::max(piece.at + after(n - 1), cx.now());
    if (!access(lane, piece.run, piece.first, n, Access::write, first, last, cx)) return;
    if (n == piece.lines) {
      l.arrived.pop();
      continue;
    }
    piece.first += n;
    piece.lines -= n;
    piece.at += after(n);
  }
}

template class Component<CopyEngineSpec, CopyEngineState>;

}  // namespace farfault
