// SPDX-License-Identifier: Apache-2.0
// Swapping of an SM's blocks, and the transfer of their contexts.
#include "farfault/parts/train.hpp"
#include "load_store_unit.hpp"

namespace farfault {

void Sm::on_control(BlockControl const& m, Cx& cx) const {
  cx.state().control = m;
  if (swaps()) swap_blocks(cx);
  schedule_tick(cx);
}

bool Sm::is_stalled(std::uint32_t block, SmState const& s) const {
  return swap_trigger_ == ThreadBlocks::SwapTrigger::faults ? s.warps.block_waits_for_faults(block)
                                                            : s.warps.block_waits_for_accesses(block);
}

// Swaps in a waiting block if there is room, or else in place of a stalled one.
void Sm::swap_blocks(Cx& cx) const {
  auto& s = cx.state();
  auto& held = s.swapped.held;
  auto const extra = s.control.extra;
  auto const can_resume = [&](std::uint32_t block) { return !is_stalled(block, s); };
  while (held.waiting() != 0 && s.swapped.transfer.block == HeldBlocks::kNone) {
    if (auto const next = held.next(spec().sm, HeldBlocks::kNone, extra, can_resume)) {
      swap_in(*next, cx);
      continue;
    }
    bool swapped = false;
    for (auto const block : held.issuing()) {
      if (!is_stalled(block, s)) continue;
      auto const next = held.next(spec().sm, block, extra, can_resume);
      if (!next) continue;
      bool const saved =
          context_.saves == ThreadBlocks::Saves::always || held.must_save_for(*next, spec().sm);
      swap_out(block, saved, cx);
      swapped = true;
      break;
    }
    if (!swapped) return;
  }
}

void Sm::swap_out(std::uint32_t block, bool saved, Cx& cx) const {
  auto& s = cx.state();
  s.warps.swap_out(block);
  s.swapped.held.swap_out(block, saved);
  ++s.swapped.counts.blocks;
  if (saved) ++s.swapped.counts.saved;
  move_context(block, Access::write, saved, cx);
}

void Sm::swap_in(std::uint32_t block, Cx& cx) const {
  auto& s = cx.state();
  auto const& b = s.swapped.held[block];
  bool const begun = b.begun != 0;
  bool const saved = b.saved != 0;
  s.swapped.held.begin_swap_in(block);
  if (begun)
    move_context(block, Access::read, saved, cx);
  else
    arrive(block, cx);
}

void Sm::arrive(std::uint32_t block, Cx& cx) const {
  auto& s = cx.state();
  s.swapped.held.end_swap_in(block);
  enter_slots(block, cx);
}

// Transfers the state of its warps; `all`: registers and shared memory as well.
void Sm::move_context(std::uint32_t block, Access access, bool all, Cx& cx) const {
  auto& s = cx.state();
  auto const& held = s.swapped.held[block];
  auto const bytes =
      std::uint64_t{held.need.warps} * context_.warp_bytes +
      (all ? held.need.registers * std::uint64_t{4} + held.need.shared_bytes : std::uint64_t{0});
  s.swapped.counts.context_bytes += bytes;
  auto& t = s.swapped.transfer;
  auto const& program = program_of(s.warps.first_of_block(block));
  t = {};
  t.block = block;
  t.access = access;
  t.space = program.space;
  t.application = program.application;
  if (all && context_.saved_in == ThreadBlocks::SavedIn::memory && bytes != 0) {
    t.first = spec().contexts + held.area * SmSpec::area_bytes(spec().sm);
    t.lines = static_cast<std::uint32_t>((bytes + spec().line_bytes - 1) / spec().line_bytes);
    return send_context(cx);
  }
  auto const rate = spec().sm.shared_bytes_per_cycle;
  auto const cycles = std::max<std::uint64_t>((bytes + rate - 1) / rate, 1);
  cx.wake_at(moved, Tick{}, cx.now() + spec().clock.cycles(cycles));
}

void Sm::on_moved(Tick const&, Cx& cx) const {
  end_context_transfer(cx);
}

// As many lines as the slices have credits for, in order, one per cycle.
void Sm::send_context(Cx& cx) const {
  auto& s = cx.state();
  auto& t = s.swapped.transfer;
  while (t.sent < t.lines) {
    auto const address = t.first + std::uint64_t{t.sent} * spec().line_bytes;
    auto& credits = s.load_store.slice_credits[spec().memory.slice(offset_of(address))];
    auto const left_in_block =
        (spec().train_block - (address & (spec().train_block - 1))) / spec().line_bytes;
    auto const lines = std::min<std::uint64_t>(
        {t.lines - t.sent, spec().local_train, std::max<std::uint64_t>(left_in_block, 1)});
    if (credits < lines) return;
    auto const n = static_cast<std::uint32_t>(lines);
    credits -= n;
    auto const first = std::max(t.port_free, cx.now());
    auto const last = first + spec().clock.cycles(n - 1);
    t.port_free = spec().clock.after(last);
    t.sent += n;
    MemRequest m{.address = address,
                 .tag = kContextNumber,
                 .from = static_cast<std::uint16_t>(spec().index),
                 .access = t.access,
                 .bytes = static_cast<std::uint8_t>(spec().line_bytes),
                 .requester = {t.space, t.application, RequestKind::context}};
    m.train = train_between(first, last, n - 1);
    send_to_slice(m, first - cx.now(), cx);
  }
}

void Sm::on_context(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  auto& t = s.swapped.transfer;
  auto const lines = m.train.lines();
  s.load_store.slice_credits[spec().memory.slice(offset_of(m.address))] += lines;
  FF_CHECK(t.block != HeldBlocks::kNone && t.done + lines <= t.lines, path() + ": line without a context");
  t.done += lines;
  // Usable from the next edge on; the last line of a train arrives later than the first.
  if (t.done == t.lines) cx.wake_at(moved, Tick{}, cx.now() + m.train.length() + Duration{1});
  if (s.load_store.is_busy()) LoadStoreUnit(*this, cx).run();
  send_context(cx);
  schedule_tick(cx);
}

void Sm::end_context_transfer(Cx& cx) const {
  auto& s = cx.state();
  auto const t = s.swapped.transfer;
  s.swapped.transfer = {};
  if (t.access == Access::write)
    s.swapped.held.end_swap_out(t.block);
  else
    arrive(t.block, cx);
  swap_blocks(cx);
  schedule_tick(cx);
}

}  // namespace farfault
