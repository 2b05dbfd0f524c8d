// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/sm.hpp"

#include <bit>

#include "access_tag.hpp"
#include "farfault/compute/coalescer.hpp"
#include "farfault/compute/kernel_counts.hpp"
#include "load_store_unit.hpp"

namespace farfault {

Sm::Sm(Slot<SmSpec> slot) : Component(std::move(slot)) {
  auto const blocks = spec().sm.thread_blocks.facts();
  swap_trigger_ = blocks.swap_trigger;
  context_ = blocks.context;
  line_bits_ = static_cast<unsigned>(std::countr_zero(spec().line_bytes));
  l1_tlb_latency_ = spec().clock.cycles(spec().l1_tlb.latency);
  l1_cache_latency_ = spec().clock.cycles(spec().l1_cache.latency);
  if (spec().may_stall || blocks.adapts) control = in<&Sm::on_control>("control");
  if (swaps()) moved = timer<&Sm::on_moved>("moved");
  if (spec().page_uses.enabled) used = out<PageUse>("used");
  if (spec().tlbs.is_balanced) distributed = in<&Sm::on_distribution>("distributed");
  if (spec().fetches()) {
    fetch_request = out<ReadOnlyRequest>("fetch_request");
    fetched = in<&Sm::on_fetched>("fetched");
  }
}

SmState Sm::initial() const {
  auto const& p = spec();
  auto const blocks = p.sm.thread_blocks.facts();
  auto const extra = blocks.max_extra;
  SmState s;
  s.launches.assign(p.applications->streams(), ~0U);
  s.stats = ByStream<SmStats>(p.applications->streams());
  s.reported = s.stats;
  s.times.outstanding = ByStream<OutstandingAccesses>(p.applications->streams());
  s.times.residents = Residents(p.applications->streams());
  s.blocks.resize(p.applications->streams());
  s.warps = WarpContexts(p.sm.max_warps, SmSpec::warp_contexts(p.sm), p.sm.max_blocks + extra);
  if (swaps()) s.swapped.held = HeldBlocks(p.sm.max_blocks + extra, SmSpec::areas(p.sm));
  s.control.extra = blocks.first_extra;
  s.warp_order = p.sm.warp_order.make({});
  auto const& tlb = p.l1_tlb;
  auto& load_store = s.load_store;
  load_store.translation = {
      tlb.policies.make(tlb.entries, tlb.ways, p.page_bits, p.page_sizes, p.mapped_at_start),
      {.mshrs = tlb.outstanding(),
       .waiters = tlb.waiters,
       .faulted_pages = tlb.faulted_pages,
       .faulted_accesses = tlb.faulted_accesses,
       .late_pages = tlb.outstanding(),
       .late_accesses = tlb.waiters,
       .stops_at_miss = tlb.misses.facts().stops,
       .banks = p.tlbs.banks.count(),
       .translated = 2 * std::size_t{tlb.waiters} + tlb.faulted_accesses,
       .invalidations = p.moves},
      p.page_uses};
  load_store.l1 = Cache(p.l1_cache.size.bytes, p.l1_cache.ways, p.line_bytes, p.l1_cache.replacement);
  load_store.l1_mshrs = MshrTable<LoadWaiter>(p.l1_cache.mshrs, p.l1_cache.waiters);
  load_store.slice_credits.assign(p.slices, p.l1_cache.slice_credits);
  load_store.remote_credits = p.l1_cache.remote();
  s.scalar_credits = p.scalar_requests;
  if (p.fetches())
    s.instructions = InstructionWindows(SmSpec::warp_contexts(p.sm), p.fetch.lines, line_bits_);
  if (p.reports_stalled_warps) load_store.stalled_warps = StalledWarps(p.applications->count());
  return s;
}

Sm::ApplicationStats Sm::application_stats() const {
  auto const& applications = *spec().applications;
  return counted_by_application<&SmState::stats>(applications.names(), applications.application_of_stream());
}

std::vector<Sm::PolicyStats> Sm::policy_stats() const {
  return {{{"gpu.sm.warp_order", spec().sm.warp_order.stats()},
           [](SmState const& s) -> StatSource const& { return s.warp_order; }},
          {{"gpu.l1_tlb.organization", spec().l1_tlb.policies.organization.stats()},
           [](SmState const& s) -> StatSource const& { return s.load_store.translation.tlb(); }},
          {{"gpu.l1_tlb.replacement", spec().l1_tlb.policies.replacement.stats()},
           [](SmState const& s) -> StatSource const& { return *s.load_store.translation.tlb(); }},
          {{"gpu.l1_cache.replacement", spec().l1_cache.replacement.stats()},
           [](SmState const& s) -> StatSource const& { return s.load_store.l1.replacement(); }}};
}

std::string Sm::waiting_for() const {
  auto const& s = state();
  auto const waiting = s.warps.waiting();
  if (waiting.live == 0) return {};
  return std::to_string(waiting.live) + " live warps, " + std::to_string(waiting.accesses) +
         " outstanding accesses, " + std::to_string(waiting.at_barrier) + " warps at a barrier, " +
         (spec().fetches() ? std::to_string(waiting.for_instructions) + " waiting for instructions, " : "") +
         std::to_string(s.load_store.translation.mshrs().in_use()) + " pages in translation, " +
         std::to_string(s.load_store.translation.faulted().pages()) + " faulted";
}

void Sm::on_start(StartBlock const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const& program = spec().applications->launchable(m.kernel);
  if (auto& last = s.launches[program.stream]; last != m.launch) {
    last = m.launch;
    s.load_store.l1.clear();
  }
  if (++s.blocks[program.stream] == 1) {
    s.times.residents.advance(cx.now(), s.times.activity, s.stats);
    s.times.residents.add(program.stream, cx.now());
  }
  auto const need = SmUse::of(program.kernel->shape(), spec().warp_width);
  bool const issues = !swaps() || s.swapped.held.has_room(need, spec().sm);
  auto const block = s.warps.start_swapped_out(m.block, m.kernel, need.warps);
  if (issues) enter_slots(block, cx);
  if (swaps()) {
    s.swapped.held.add(block, need, issues);
    swap_blocks(cx);
  }
  schedule_tick(cx);
}

// The warps of a block outside the slots enter slots.
void Sm::enter_slots(std::uint32_t block, Cx& cx) const {
  auto& s = cx.state();
  auto const stream = program_of(s.warps.first_of_block(block)).stream;
  s.warps.swap_in(block, cx.now(), [&](std::uint32_t slot) {
    s.warp_order->admit(slot);
    s.times.residents.place(stream, slot);
    if (!spec().fetches()) return;
    // A block that returns to its slots has lost its window.
    auto const context = s.warps.in_slot(slot);
    auto const& w = s.warps[context];
    s.instructions.start(context, spec().fetch.code->of(w.kernel, spec().fetch.gpu),
                         w.step == 0 ? 0 : s.instructions.at(context));
    request_lines(context, cx);
  });
}

bool Sm::settle(SmState& s, Time at) const {
  s.times.residents.advance(at, s.times.activity, s.stats);
  s.times.load_store.advance(at);
  bool grows = s.times.activity.now() != SmActivity::idle || s.times.load_store.now() != LoadStoreStall::none;
  for (std::uint32_t i = 0; i < s.stats.size(); ++i) {
    auto& outstanding = s.times.outstanding[i];
    s.stats[i].access_time += outstanding.advance(at);
    grows = grows || outstanding.number != 0 || s.blocks[i] != 0;
  }
  return grows;
}

void Sm::schedule_tick(Cx& cx) const {
  auto& s = cx.state();
  s.times.activity.change(cx.now(), s.control.stopped != 0 ? SmActivity::stopped : s.warps.activity());
  if (s.times.residents.several())
    s.times.residents.change(cx.now(), s.stats, [&](std::uint64_t slots) {
      return s.control.stopped != 0 ? SmActivity::stopped : s.warps.activity(slots);
    });
  auto const earliest = s.warps.earliest(cx.now());
  if (earliest == Time::max() || s.control.stopped != 0) return;
  auto const at = spec().clock.at_or_after(std::max(earliest, cx.now() + Duration{1}));
  if (at < s.tick_at) {
    s.tick_at = at;
    cx.wake_at(tick, Tick{}, at);
  }
}

void Sm::on_tick(Tick const&, Cx& cx) const {
  auto& s = cx.state();
  if (s.tick_at != cx.now()) return;  // replaced by an earlier tick
  s.tick_at = Time::max();
  if (s.control.stopped != 0) return;
  auto const cycle = spec().clock.edge_at_or_after(cx.now());
  for (auto ready = s.warps.ready(cx.now()); ready != 0;) {
    auto const slot = s.warp_order->pick(ready);
    FF_CHECK(slot < 64 && (ready >> slot & 1) != 0,
             path() + ": gpu.sm.warp_order selected a warp that is not ready");
    ready = s.warps.take(slot);
    issue(slot, cycle, cx);
  }
  if (swaps()) swap_blocks(cx);
  schedule_tick(cx);
}

void Sm::wake(std::uint32_t context, Warp& w, Cx& cx) const {
  auto const at = w.waits_for_stores != 0 ? std::max(w.loads_done, w.stores_done) : w.loads_done;
  w.waits_for_loads = 0;
  w.waits_for_stores = 0;
  cx.state().warps.wake(context, std::max(at, cx.now()));
}

void Sm::on_translation(TranslateResponse const& m, Cx& cx) const {
  LoadStoreUnit unit(*this, cx);
  if (!unit.respond(m)) return;
  unit.run();
  if (cx.state().load_store.translation.is_invalidating()) unit.acknowledge_invalidations();
  if (swaps()) swap_blocks(cx);
  schedule_tick(cx);
}

void Sm::on_distribution(TlbDistribution const& m, Cx& cx) const {
  cx.state().load_store.translation.distribute(m.number);
}

void Sm::on_invalidate(Invalidate const& m, Cx& cx) const {
  LoadStoreUnit(*this, cx).invalidate(m);
}

void Sm::on_memory(MemResponse const& m, Cx& cx) const {
  if ((m.tag & kNumberMask) == kContextNumber) return on_context(m, cx);
  auto& s = cx.state();
  bool const moves = s.load_store.is_busy();
  LoadStoreUnit unit(*this, cx);
  bool const woken = unit.complete(m);
  if (moves) unit.run();
  if (s.load_store.translation.is_invalidating()) unit.acknowledge_invalidations();
  if (swaps()) {
    send_context(cx);
    swap_blocks(cx);
  }
  // If no warp was woken, the SM's state is unchanged, unless its warps now wait only for faults.
  if (woken || moves || swaps() || s.warps.any_faulted()) schedule_tick(cx);
}

// True if the warp must wait for its loads (and stores); it is woken when they are done.
bool Sm::must_wait(std::uint32_t context, bool for_stores, Cx& cx) const {
  auto& s = cx.state();
  auto& w = s.warps[context];
  if (w.loads != 0 || (for_stores && w.stores != 0)) {
    w.waits_for_loads = 1;
    w.waits_for_stores = for_stores ? 1 : 0;
    return true;
  }
  auto const last_done = for_stores ? std::max(w.loads_done, w.stores_done) : w.loads_done;
  if (last_done > cx.now()) {
    s.warps.wake(context, last_done);
    return true;
  }
  return false;
}

void Sm::fetch_next(std::uint32_t context, std::uint32_t instructions, Cx& cx) const {
  cx.state().instructions.advance(context, std::max(instructions, 1U));
  request_lines(context, cx);
}

bool Sm::has_fetched(std::uint32_t context, WarpInstruction const& next, Cx& cx) const {
  auto& s = cx.state();
  if (program_of(s.warps[context]).kernel->shape().code_bytes != 0) {
    if (next.op == Op::end) return s.instructions.has_issued(context);  // no instruction
    if (s.instructions.at(context) != next.offset) {
      s.instructions.jump(context, next.offset);
      request_lines(context, cx);
    }
  }
  return s.instructions.has_next(context);
}

void Sm::request_lines(std::uint32_t context, Cx& cx) const {
  auto& windows = cx.state().instructions;
  auto const& program = program_of(cx.state().warps[context]);
  while (auto const request = windows.ask(context))
    cx.send(fetch_request, ReadOnlyRequest{.address = request->line,
                                           .tag = std::uint32_t{request->number} << 16 | context,
                                           .sm = spec().fetch.index,
                                           .requester = Requester{program.space, program.application}});
}

// A line of code. Pages of code are never faulted.
void Sm::on_fetched(ReadOnlyResponse const& m, Cx& cx) const {
  FF_CHECK(m.status == ReadOnlyStatus::hit || m.status == ReadOnlyStatus::missed,
           path() + ": a page of code is faulted");
  auto& s = cx.state();
  auto const context = m.tag & 0xffff;
  s.instructions.arrived(context, static_cast<std::uint16_t>(m.tag >> 16));
  request_lines(context, cx);
  if (!s.warps.waits_for_fetch(context)) return;
  if (!has_fetched(context, instruction_of(s.warps[context], s), cx)) return;
  s.warps.fetched(context, cx.now());
  schedule_tick(cx);
}

void Sm::compute(std::uint32_t context, Work const& work, std::uint64_t cycle, SmStats& stats, Cx& cx) const {
  auto& s = cx.state();
  stats.vector_instructions += work.vector + work.special;
  stats.scalar_instructions += work.scalar;
  stats.shared_instructions += work.shared;
  auto& w = s.warps[context];
  end_step(w, context, work.instructions(), cx);
  s.warps.wake(context, spec().clock.edge(s.units.execute(spec().rates(), w.slot, work, cycle)));
}

void Sm::scalar_load(std::uint32_t context, WarpInstruction const& i, std::uint64_t cycle, Cx& cx) const {
  auto& s = cx.state();
  auto& w = s.warps[context];
  if (s.scalar_credits == 0) return s.warps.wait_for_scalar(w.slot);
  --s.scalar_credits;
  end_step(w, context, i.work.scalar, cx);
  ++w.loads;
  auto const& program = program_of(w);
  auto& stats = s.stats[program.stream];
  ++stats.scalar_transactions;
  stats.scalar_loads += i.work.scalar;
  auto address = i.address[0];
  if (address >= kKernelArguments)
    address += kArgumentBlock * ((program.first_kernel + s.launches[program.stream]) % kArgumentBlocks);
  else
    address |= program.first_address;
  cx.send(scalar_request, ReadOnlyRequest{.address = address,
                                          .launch = s.launches[program.stream],
                                          .tag = context,
                                          .sm = spec().scalar_index,
                                          .requester = Requester{program.space, program.application}});
  s.warps.wake(context, spec().clock.edge(s.units.execute(spec().rates(), w.slot, i.work, cycle)));
}

void Sm::on_scalar(ReadOnlyResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  if (m.status == ReadOnlyStatus::faulted || m.status == ReadOnlyStatus::replayed) {
    m.status == ReadOnlyStatus::faulted ? s.warps.fault(m.tag, false) : s.warps.replay(m.tag, false);
    if (swaps()) swap_blocks(cx);
    return schedule_tick(cx);
  }
  ++s.scalar_credits;
  s.warps.scalar_free(cx.now());
  auto& w = s.warps[m.tag];
  if (m.status == ReadOnlyStatus::hit) ++s.stats[program_of(w).stream].scalar_hits;
  --w.loads;
  w.loads_done = std::max(w.loads_done, cx.now());
  wake_if_done(m.tag, w, cx);
  if (swaps()) swap_blocks(cx);
  schedule_tick(cx);
}

// The last warp of a block has ended. After a kernel's last block here, the counts are sent to the
// dispatcher.
void Sm::end_block(Warp const& w, std::uint8_t stream, Cx& cx) const {
  auto& s = cx.state();
  auto& stats = s.stats[stream];
  ++stats.blocks;
  if (swaps()) s.swapped.held.end(w.block_context);
  std::uint32_t reports = 0;
  if (--s.blocks[stream] == 0) {
    s.times.residents.advance(cx.now(), s.times.activity, s.stats);
    s.times.residents.remove(stream);
    auto& before = s.reported[stream];
    reports = report_growth(w.kernel, before, stats, [&](KernelCounts const& m) { cx.send(counts, m); });
    before = stats;
  }
  cx.send(done, BlockDone{w.block, spec().index, w.kernel, reports});
}

// The warp's next instruction: usually cached from the last call.
WarpInstruction const& Sm::instruction_of(Warp const& w, SmState& s) const {
  auto& d = s.decoded.value;
  if (d.step != w.step || d.block != w.block || d.index != w.index || d.kernel != w.kernel) {
    d.step = w.step;
    d.block = w.block;
    d.index = w.index;
    d.kernel = w.kernel;
    program_of(w).kernel->instruction(w.block, w.index, w.step, d.instruction);
  }
  return d.instruction;
}

// Issues the warp's next instruction, or makes the warp wait for what the instruction needs.
void Sm::issue(std::uint32_t slot, std::uint64_t cycle, Cx& cx) const {
  auto& s = cx.state();
  auto const context = s.warps.in_slot(slot);
  auto& w = s.warps[context];
  auto const& program = program_of(w);
  auto& stats = s.stats[program.stream];
  auto const& i = instruction_of(w, s);
  bool const ends = i.op == Op::end;
  if (spec().fetches() && !has_fetched(context, i, cx)) return s.warps.wait_for_fetch(slot);
  if ((i.wait_loads || ends) && must_wait(context, ends, cx)) return;

  switch (i.op) {
    case Op::end:
      if (spec().fetches()) s.instructions.end(context);
      if (s.warps.end(context, cx.now())) end_block(w, program.stream, cx);  // not an instruction
      return;
    case Op::compute:
      return compute(context, i.work, cycle, stats, cx);
    case Op::barrier:
      end_step(w, context, 1, cx);
      ++stats.scalar_instructions;
      return s.warps.wait_at_barrier(context, cx.now());
    case Op::scalar_load:
      return scalar_load(context, i, cycle, cx);
    case Op::load:
    case Op::store:
      break;
  }

  auto& unit = s.load_store;
  if (unit.is_busy()) return s.warps.wait_for_load_store(slot);
  if (unit.free > cx.now()) return s.warps.wake(context, unit.free);
  end_step(w, context, 1, cx);
  ++stats.memory_instructions;
  s.units.take_issue_slot(spec().rates(), slot, cycle);
  Transactions transactions;
  auto const n = coalesce(i, spec().line_bytes, transactions);
  auto const access = i.op == Op::load ? Access::read : Access::write;
  auto const first_address = program.first_address;
  unit.current.resize(n);
  unit.position = 0;
  for (std::uint32_t k = 0; k < n; ++k) {
    auto& transaction = unit.current[k];
    transaction.address = transactions[k].line | first_address;
    transaction.since = transaction.issued = cx.now();
    transaction.context = static_cast<std::uint16_t>(context);
    transaction.access = access;
    transaction.bytes = static_cast<std::uint8_t>(transactions[k].bytes);
    transaction.space = program.space;
    transaction.application = program.application;
    transaction.stream = program.stream;
    transaction.has_faulted = 0;
  }
  (access == Access::read ? w.loads : w.stores) += n;
  stats.transactions += n;
  auto& outstanding = s.times.outstanding[program.stream];
  stats.access_time += outstanding.advance(cx.now());
  outstanding.number += n;
  LoadStoreUnit(*this, cx).run();
  // Usually the next instruction waits for this one: then there is nothing to issue until it is done.
  auto const& next = instruction_of(w, s);
  bool const retires = next.op == Op::end;
  if ((next.wait_loads || retires) && must_wait(context, retires, cx)) return;
  s.warps.wake(context, cx.now() + Duration{1});
}

template class Component<SmSpec, SmState>;

}  // namespace farfault
