#include "farfault/components/copy_engine.hpp"

#include <algorithm>
#include <array>

namespace farfault {

void CopyEngineParams::describe(ParamTable& t) {
  t.count("window", window, {1, 65536}, "lines of a page under way at a time", "assumed");
  t.count("slice_credits", slice_credits, {1, 4096}, "of these, being written by one L2 slice", "assumed");
}

CopyEngineState CopyEngine::initial() const {
  CopyEngineState s;
  s.pages = Ring<CopyPage>(spec().queue);
  s.arrived = Ring<std::uint32_t>(spec().params.window);
  s.slice_credits.assign(spec().slices, spec().params.slice_credits);
  return s;
}

std::span<Stat<CopyEngineState> const> CopyEngine::stats() const {
  using S = CopyEngineState const&;
  static constexpr std::array<Stat<CopyEngineState>, 3> all{{
      {"pages_copied", "count", "pages copied from other devices", StatKind::counter,
       [](S s) { return s.pages_copied; }},
      {"lines_copied", "count", "cache lines copied", StatKind::counter, [](S s) { return s.lines_copied; }},
      {"queued_pages", "count", "pages waiting to be copied or being copied", StatKind::level,
       [](S s) { return s.pages.size(); }},
  }};
  return all;
}

std::string CopyEngine::waiting_for() const {
  auto const& s = state();
  if (s.pages.empty()) return {};
  return std::to_string(s.pages.size()) + " pages to copy, " + std::to_string(s.written) + " lines of " +
         std::to_string(lines()) + " of the first written";
}

void CopyEngine::on_copy(CopyPage const& m, Cx& cx) const {
  cx.state().pages.push(m);
  fetch(cx);
}

void CopyEngine::fetch(Cx& cx) const {
  auto& s = cx.state();
  if (s.pages.empty()) return;
  while (s.fetched < lines() && s.under_way < spec().params.window) {
    auto const at = std::max(s.port_free, cx.now());
    cx.send(remote_request,
            MemRequest{s.pages.front().from + std::uint64_t{s.fetched} * spec().line_bytes, s.fetched,
                       spec().remote_port, Access::read, static_cast<std::uint8_t>(spec().line_bytes)},
            at - cx.now());
    s.port_free = spec().clock.after(at);
    ++s.fetched;
    ++s.under_way;
  }
}

void CopyEngine::on_line(MemResponse const& m, Cx& cx) const {
  cx.state().arrived.push(m.tag);
  write_arrived(cx);
}

void CopyEngine::write_arrived(Cx& cx) const {
  auto& s = cx.state();
  while (!s.arrived.empty()) {
    auto const line = s.arrived.front();
    auto const address = s.pages.front().to + std::uint64_t{line} * spec().line_bytes;
    auto const slice = spec().memory.slice(offset_of(address));
    if (s.slice_credits[slice] == 0) return;
    --s.slice_credits[slice];
    s.arrived.pop();
    cx.send(memory_request, slice,
            MemRequest{address, line, spec().memory_port, Access::write,
                       static_cast<std::uint8_t>(spec().line_bytes)});
  }
}

void CopyEngine::on_written(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  ++s.slice_credits[spec().memory.slice(offset_of(m.address))];
  --s.under_way;
  ++s.written;
  ++s.lines_copied;
  if (s.written == lines()) {
    ++s.pages_copied;
    cx.send(copied, PageCopied{s.pages.front().move});
    s.pages.pop();
    s.fetched = 0;
    s.written = 0;
  }
  write_arrived(cx);
  fetch(cx);
}

}  // namespace farfault
