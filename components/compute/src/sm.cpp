#include "farfault/compute/sm.hpp"

#include <array>
#include <bit>

namespace farfault {

namespace {

std::uint64_t bit(std::uint32_t i) {
  return std::uint64_t{1} << i;
}
std::uint32_t lowest(std::uint64_t mask) {
  return static_cast<std::uint32_t>(std::countr_zero(mask));
}

}  // namespace

void SmParams::describe(ParamTable& t) {
  t.count("max_warps", max_warps, {1, WarpOrder::kMaxWarps}, "resident warps",
          "GCN3: 4 SIMDs of 10 wavefronts (MGPUSim R9 Nano)");
  t.count("max_threads", max_threads, {1, 4096}, "resident threads", "GCN3: 40 wavefronts of 64 lanes");
  t.count("max_blocks", max_blocks, {1, 64}, "resident thread blocks",
          "GCN3: 40 work-groups of one wavefront");
  t.count("registers", registers, {1024, 1 << 20}, "32-bit vector registers, lanes included",
          "GCN3: 4 SIMDs of 64 KiB");
  t.count("shared_bytes", shared_bytes, {0, 1 << 20}, "bytes of shared memory (LDS)", "GCN3: 64 KiB");
  t.count("simds", simds, {1, ExecutionUnits::kMaxSimds},
          "SIMDs (warp schedulers) of an SM; a warp belongs to one of them",
          "GCN3 ISA: 4 SIMDs; NVIDIA white papers from Volta on: 4 schedulers");
  t.count("simd_lanes", simd_lanes, {1, kMaxLanes}, "lanes of a SIMD that compute in one cycle",
          "GCN3 ISA: 16; white papers: V100 and A100 16, H100 32 (FP32 units of a scheduler)");
  t.count("special_lanes", special_lanes, {1, kMaxLanes},
          "lanes of a SIMD that compute a special function (reciprocal, root, sine) in one cycle",
          "GCN3: a quarter of the rate, 4; white papers of V100, A100, H100: 4 special function units");
  t.count("scalar_rate", scalar_rate, {1, 16}, "scalar instructions that an SM executes in one cycle",
          "GCN3 ISA: one scalar unit; NVIDIA: one instruction of each of the 4 schedulers");
  t.count("shared_bytes_per_cycle", shared_bytes_per_cycle, {1, 1024},
          "bytes that the shared memory (LDS) of an SM reads or writes in one cycle",
          "GCN3: 32 banks of 4 B; V100, A100 and H100 the same (Jia et al., arXiv:1804.06826)");
  t.count("dependent_latency", dependent_latency, {1, 1000},
          "cycles from an instruction to the next one of its warp, which depends on it",
          "GCN3: 4; Volta: 4 (Jia et al., arXiv:1804.06826, Table 4.1)");
  t.count("shared_latency", shared_latency, {0, 1000},
          "cycles from the end of a group's shared-memory accesses to the warp's next instruction; 0: none "
          "beyond dependent_latency",
          "assumed; Volta: 19 (Jia et al., arXiv:1804.06826)");
  t.choice("issue", issue, {{"one_of_each_kind", IssueRule::one_of_each_kind}, {"one", IssueRule::one}},
           "instructions that a scheduler issues in one cycle: one of each kind (vector, scalar, shared "
           "memory, memory), from different warps, or one of any kind",
           "GCN3 ISA: one_of_each_kind; NVIDIA white papers from Volta on: one");
  warp_order.describe(t, "warp_order", "which ready warp issues first",
                      "assumed; GPGPU-Sim's default is greedy-then-oldest");
}

void L1TlbParams::describe(ParamTable& t) {
  t.count("entries", entries, {1, 65536}, "entries of the L1 TLB", "GMMU Bypass, Table 1: 1 set of 32 ways");
  t.count("ways", ways, {1, 65536}, "ways of the L1 TLB; a divisor of entries", "GMMU Bypass, Table 1");
  t.count("latency", latency, {1, 1000}, "cycles of a look-up", "MGPUSim 4.2 (shader array builder): 1");
  t.count("mshrs", mshrs, {1, 4096}, "pages with an outstanding miss",
          "MGPUSim 4.2 (shader array builder): 64");
  t.count("waiters", waiters, {128, 65536}, "transactions that can wait for translations", "assumed");
  policies.describe(t, "", "Akita 4.9 (mem/vm/tlb): the least recently used");
}

void L1CacheParams::describe(ParamTable& t) {
  t.bytes("size", size, {ByteSize{1024}, ByteSize{1 << 24}}, "bytes of the L1 cache",
          "MGPUSim 4.2, R9 Nano: 16 KiB");
  t.count("ways", ways, {1, 1024}, "ways of the L1 cache", "MGPUSim 4.2, R9 Nano: 4");
  replacement.describe(t, "replacement", "which line gives way to another",
                       "Akita 4.9 (mem/cache): the least recently used");
  t.count("latency", latency, {1, 1000}, "cycles from look-up to data", "assumed (MGPUSim MI300A: 7)");
  t.count("mshrs", mshrs, {1, 4096}, "lines with an outstanding miss", "MGPUSim 4.2, R9 Nano: 128");
  t.count("waiters", waiters, {128, 1 << 20}, "loads that can wait for lines", "assumed");
  t.count("slice_credits", slice_credits, {1, 4096}, "requests an SM may have at one L2 slice", "assumed");
  t.count("remote_credits", remote_credits, {0, 4096},
          "requests an SM may have at the RDMA engine; 0: as many as gpu.l1_cache.mshrs",
          "assumed: an L1 does not know where a line it misses lies");
}

SmState Sm::initial() const {
  auto const& p = spec();
  SmState s;
  s.warps.resize(p.sm.max_warps);
  s.idle = p.sm.max_warps == 64 ? ~std::uint64_t{0} : bit(p.sm.max_warps) - 1;
  s.blocks.resize(p.sm.max_blocks);
  s.warp_order = p.sm.warp_order.make({});
  s.l1_tlb = p.l1_tlb.policies.make(p.l1_tlb.entries, p.l1_tlb.ways, p.page_bits, p.page_sizes);
  s.tlb_mshrs = MshrTable<LsuItem>(p.l1_tlb.mshrs, p.l1_tlb.waiters);
  s.l1 = Cache(p.l1_cache.size.bytes, p.l1_cache.ways, p.line_bytes, p.l1_cache.replacement);
  s.l1_mshrs = MshrTable<std::uint32_t>(p.l1_cache.mshrs, p.l1_cache.waiters);
  s.replay = Ring<LsuItem>(p.l1_tlb.waiters);
  s.current.reserve(2 * std::size_t{kMaxLanes});
  s.slice_credits.assign(p.slices, p.l1_cache.slice_credits);
  s.remote_credits = p.l1_cache.remote();
  s.scalar_credits = p.scalar_requests;
  s.invalidations = DrainingInvalidations(p.moves);
  return s;
}

std::span<Stat<SmState> const> Sm::stats() const {
  using S = SmState const&;
  static constexpr std::array<Stat<SmState>, 18> all{{
      {"instructions", "count", "warp instructions issued, of all kinds", StatKind::counter,
       [](S s) { return s.stats.instructions(); }},
      {"vector_instructions", "count", "vector instructions issued", StatKind::counter,
       [](S s) { return s.stats.vector_instructions; }},
      {"scalar_instructions", "count", "scalar instructions issued, branches and barriers included",
       StatKind::counter, [](S s) { return s.stats.scalar_instructions; }},
      {"shared_instructions", "count", "accesses of warps to shared memory", StatKind::counter,
       [](S s) { return s.stats.shared_instructions; }},
      {"memory_instructions", "count", "load and store instructions issued", StatKind::counter,
       [](S s) { return s.stats.memory_instructions; }},
      {"scalar_loads", "count", "scalar load instructions issued", StatKind::counter,
       [](S s) { return s.stats.scalar_loads; }},
      {"transactions", "count", "memory transactions after coalescing (L1 accesses)", StatKind::counter,
       [](S s) { return s.stats.transactions; }},
      {"scalar_transactions", "count", "memory transactions of scalar loads (scalar-cache accesses)",
       StatKind::counter, [](S s) { return s.stats.scalar_transactions; }},
      {"simd_cycles", "cycle", "cycles that SIMDs were busy with instructions, of all SIMDs together",
       StatKind::counter, [](S s) { return s.units.simd_cycles(); }},
      {"shared_bytes", "bytes", "bytes that shared memory read or wrote", StatKind::counter,
       [](S s) { return s.units.shared_bytes(); }},
      {"l1_tlb_hits", "count", "transactions that hit the L1 TLB", StatKind::counter,
       [](S s) { return s.stats.l1_tlb_hits; }},
      {"l1_tlb_misses", "count", "transactions that missed the L1 TLB", StatKind::counter,
       [](S s) { return s.stats.l1_tlb_misses; }},
      {"l1_hits", "count", "loads that hit the L1 cache", StatKind::counter,
       [](S s) { return s.stats.l1_hits; }},
      {"l1_misses", "count", "loads that missed the L1 cache", StatKind::counter,
       [](S s) { return s.stats.l1_misses; }},
      {"stores", "count", "store transactions, written through", StatKind::counter,
       [](S s) { return s.stats.stores; }},
      {"remote_accesses", "count", "accesses to the memory of another device", StatKind::counter,
       [](S s) { return s.stats.remote_accesses; }},
      {"blocks", "count", "thread blocks finished", StatKind::counter, [](S s) { return s.stats.blocks; }},
      {"l1_tlb_invalidated", "count", "L1 TLB entries removed by invalidations", StatKind::counter,
       [](S s) { return s.stats.l1_tlb_invalidated; }},
  }};
  return all;
}

std::vector<Sm::PolicyStats> Sm::policy_stats() const {
  return {{{"gpu.sm.warp_order", spec().sm.warp_order.stats()},
           [](SmState const& s) -> StatSource const& { return s.warp_order; }},
          {{"gpu.l1_tlb.organization", spec().l1_tlb.policies.organization.stats()},
           [](SmState const& s) -> StatSource const& { return s.l1_tlb; }},
          {{"gpu.l1_tlb.replacement", spec().l1_tlb.policies.replacement.stats()},
           [](SmState const& s) -> StatSource const& { return *s.l1_tlb; }},
          {{"gpu.l1_cache.replacement", spec().l1_cache.replacement.stats()},
           [](SmState const& s) -> StatSource const& { return s.l1.replacement(); }}};
}

std::string Sm::waiting_for() const {
  auto const& s = state();
  std::uint32_t live = 0;
  std::uint32_t loads = 0;
  std::uint32_t barrier = 0;
  for (auto const& b : s.blocks) {
    live += b.live_warps;
    barrier += b.at_barrier;
  }
  for (auto const& w : s.warps) loads += w.loads + w.stores;
  if (live == 0) return {};
  return std::to_string(live) + " live warps, " + std::to_string(loads) + " outstanding accesses, " +
         std::to_string(barrier) + " warps at a barrier, " + std::to_string(s.tlb_mshrs.in_use()) +
         " pages in translation";
}

void Sm::on_start(StartBlock const& m, Cx& cx) const {
  auto& s = cx.state();
  if (m.kernel != s.kernel) {
    s.kernel = m.kernel;
    s.l1.clear();
  }
  auto const threads = spec().workload->kernel(m.kernel).shape().threads_per_block;
  auto const warps = (threads + spec().warp_width - 1) / spec().warp_width;
  std::uint32_t slot = 0;
  while (s.blocks[slot].live_warps != 0) ++slot;
  s.blocks[slot] = {m.block, warps, 0, 0};
  for (std::uint32_t i = 0; i < warps; ++i) {
    FF_CHECK(s.idle != 0, path() + ": a block was dispatched without room for its warps");
    auto const w = lowest(s.idle);
    s.idle &= s.idle - 1;
    s.warps[w] = Warp{};
    s.warps[w].block = m.block;
    s.warps[w].index = i;
    s.warps[w].slot = slot;
    s.warp_order->admit(w);
    wake_warp(w, cx.now(), s);
  }
  schedule_tick(cx);
}

void Sm::schedule_tick(Cx& cx) const {
  auto& s = cx.state();
  auto earliest = s.ready != 0 ? cx.now() : Time::max();
  for (auto rest = s.timed; rest != 0; rest &= rest - 1)
    earliest = std::min(earliest, s.warps[lowest(rest)].ready_at);
  if (earliest == Time::max()) return;
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
  for (auto rest = s.timed; rest != 0; rest &= rest - 1) {
    auto const w = lowest(rest);
    if (s.warps[w].ready_at <= cx.now()) {
      s.timed &= ~bit(w);
      s.ready |= bit(w);
    }
  }
  auto const cycle = spec().clock.edge_at_or_after(cx.now());
  while (s.ready != 0) {
    auto const w = s.warp_order->pick(s.ready);
    s.ready &= ~bit(w);
    issue(w, cycle, cx);
  }
  schedule_tick(cx);
}

// True when the warp has to wait for its loads (and stores); it is woken when they are done.
bool Sm::must_wait(std::uint32_t warp, bool for_stores, Cx& cx) const {
  auto& s = cx.state();
  auto& w = s.warps[warp];
  if (w.loads != 0 || (for_stores && w.stores != 0)) {
    w.waits_loads = 1;
    w.waits_stores = for_stores ? 1 : 0;
    return true;
  }
  if (w.loads_done > cx.now()) {
    wake_warp(warp, w.loads_done, s);
    return true;
  }
  return false;
}

void Sm::compute(std::uint32_t warp, Work const& work, std::uint64_t cycle, SmState& s) const {
  s.stats.vector_instructions += work.vector + work.special;
  s.stats.scalar_instructions += work.scalar;
  s.stats.shared_instructions += work.shared;
  ++s.warps[warp].step;
  s.warp_order->issued(warp);
  wake_warp(warp, spec().clock.edge(s.units.execute(spec().rates(), warp, work, cycle)), s);
}

void Sm::scalar_load(std::uint32_t warp, WarpInstruction const& i, std::uint64_t cycle, Cx& cx) const {
  auto& s = cx.state();
  auto& w = s.warps[warp];
  if (s.scalar_credits == 0) {
    s.scalar_wait |= bit(warp);
    return;
  }
  --s.scalar_credits;
  ++w.step;
  s.warp_order->issued(warp);
  ++w.loads;
  ++s.stats.scalar_transactions;
  s.stats.scalar_loads += i.work.scalar;
  auto address = i.address[0];
  if (address >= kKernelArguments) address += kArgumentBlock * (s.kernel % kArgumentBlocks);
  cx.send(scalar_request,
          ScalarRequest{address, s.kernel, spec().scalar_index, static_cast<std::uint16_t>(warp)});
  wake_warp(warp, spec().clock.edge(s.units.execute(spec().rates(), warp, i.work, cycle)), s);
}

void Sm::on_scalar(ScalarResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  ++s.scalar_credits;
  for (auto rest = s.scalar_wait; rest != 0; rest &= rest - 1) wake_warp(lowest(rest), cx.now(), s);
  s.scalar_wait = 0;
  auto& w = s.warps[m.warp];
  --w.loads;
  w.loads_done = std::max(w.loads_done, cx.now());
  wake_if_done(m.warp, cx);
  schedule_tick(cx);
}

// Issues the warp's next instruction, or makes the warp wait for what that needs.
void Sm::issue(std::uint32_t warp, std::uint64_t cycle, Cx& cx) const {
  auto& s = cx.state();
  auto& w = s.warps[warp];
  WarpInstruction i;
  spec().workload->kernel(s.kernel).instruction(w.block, w.index, w.step, i);
  bool const ends = i.op == Op::end;
  if ((i.wait_loads || ends) && must_wait(warp, ends, cx)) return;

  switch (i.op) {
    case Op::end:
      return retire(warp, cx);  // the end is not an instruction
    case Op::compute:
      return compute(warp, i.work, cycle, s);
    case Op::barrier: {
      ++w.step;
      s.warp_order->issued(warp);
      ++s.stats.scalar_instructions;
      auto& block = s.blocks[w.slot];
      ++block.at_barrier;
      block.barrier_warps |= bit(warp);
      return release_barrier(block, cx);
    }
    case Op::scalar_load:
      return scalar_load(warp, i, cycle, cx);
    case Op::load:
    case Op::store:
      break;
  }

  if (lsu_busy(s)) {
    s.lsu_wait |= bit(warp);
    return;
  }
  if (s.lsu_free > cx.now()) return wake_warp(warp, s.lsu_free, s);
  ++w.step;
  s.warp_order->issued(warp);
  ++s.stats.memory_instructions;
  s.units.take_issue_slot(spec().rates(), warp, cycle);
  Transactions transactions;
  auto const n = coalesce(i, spec().line_bytes, transactions);
  auto const access = i.op == Op::load ? Access::read : Access::write;
  s.current.clear();
  s.position = 0;
  for (std::uint32_t k = 0; k < n; ++k)
    s.current.push_back(
        {transactions[k].line, transactions[k].bytes, static_cast<std::uint16_t>(warp), access, 0});
  (access == Access::read ? w.loads : w.stores) += n;
  s.stats.transactions += n;
  wake_warp(warp, cx.now() + Duration{1}, s);
  run_load_store(cx);
}

void Sm::release_barrier(BlockSlot& block, Cx& cx) const {
  if (block.at_barrier == 0 || block.at_barrier < block.live_warps) return;
  for (auto rest = block.barrier_warps; rest != 0; rest &= rest - 1)
    wake_warp(lowest(rest), cx.now() + Duration{1}, cx.state());
  block.at_barrier = 0;
  block.barrier_warps = 0;
}

void Sm::retire(std::uint32_t warp, Cx& cx) const {
  auto& s = cx.state();
  auto& block = s.blocks[s.warps[warp].slot];
  s.idle |= bit(warp);
  --block.live_warps;
  if (block.live_warps == 0) {
    ++s.stats.blocks;
    cx.send(done, BlockDone{block.block, spec().index, 0});
  } else {
    release_barrier(block, cx);
  }
}

}  // namespace farfault
