#include "farfault/components/sm.hpp"

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
  t.count("max_warps", max_warps, {1, WarpScheduler::kMaxWarps}, "resident warps",
          "GCN3: 4 SIMDs of 10 wavefronts (MGPUSim R9 Nano)");
  t.count("max_threads", max_threads, {1, 4096}, "resident threads", "GCN3: 40 wavefronts of 64 lanes");
  t.count("max_blocks", max_blocks, {1, 64}, "resident thread blocks",
          "GCN3: 40 work-groups of one wavefront");
  t.count("registers", registers, {1024, 1 << 20}, "32-bit vector registers, lanes included",
          "GCN3: 4 SIMDs of 64 KiB");
  t.count("shared_bytes", shared_bytes, {0, 1 << 20}, "bytes of shared memory (LDS)", "GCN3: 64 KiB");
  t.count("issue_width", issue_width, {1, 16},
          "instructions issued per cycle, from different or the same warps", "GCN3: one for each of 4 SIMDs");
  t.choice("warp_order", warp_order,
           {{"greedy_then_oldest", WarpOrder::greedy_then_oldest}, {"round_robin", WarpOrder::round_robin}},
           "which ready warp issues first", "assumed; GPGPU-Sim's default is greedy-then-oldest");
}

void L1TlbParams::describe(ParamTable& t) {
  t.count("entries", entries, {1, 65536}, "entries of the L1 TLB", "GMMU Bypass, Table 1: 1 set of 32 ways");
  t.count("ways", ways, {1, 65536}, "ways of the L1 TLB; a divisor of entries", "GMMU Bypass, Table 1");
  t.count("latency", latency, {1, 1000}, "cycles of a look-up", "MGPUSim 4.2 (shader array builder): 1");
  t.count("mshrs", mshrs, {1, 4096}, "pages with an outstanding miss",
          "MGPUSim 4.2 (shader array builder): 64");
  t.count("waiters", waiters, {128, 65536}, "transactions that can wait for translations", "assumed");
}

void L1CacheParams::describe(ParamTable& t) {
  t.bytes("size", size, {ByteSize{1024}, ByteSize{1 << 24}}, "bytes of the L1 cache",
          "MGPUSim 4.2, R9 Nano: 16 KiB");
  t.count("ways", ways, {1, 1024}, "ways of the L1 cache", "MGPUSim 4.2, R9 Nano: 4");
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
  s.l1_tlb = Tlb(p.l1_tlb.entries, p.l1_tlb.ways);
  s.tlb_mshrs = MshrTable<LsuItem>(p.l1_tlb.mshrs, p.l1_tlb.waiters);
  s.l1 = Cache(p.l1_cache.size.bytes, p.l1_cache.ways, p.line_bytes);
  s.l1_mshrs = MshrTable<std::uint32_t>(p.l1_cache.mshrs, p.l1_cache.waiters);
  s.replay = Ring<LsuItem>(p.l1_tlb.waiters);
  s.current.reserve(2 * std::size_t{kMaxLanes});
  s.slice_credits.assign(p.slices, p.l1_cache.slice_credits);
  s.remote_credits = p.l1_cache.remote();
  s.invalidations = Ring<Invalidate>(p.moves);
  return s;
}

std::span<Stat<SmState> const> Sm::stats() const {
  using S = SmState const&;
  static constexpr std::array<Stat<SmState>, 12> all{{
      {"instructions", "count", "warp instructions issued", StatKind::counter,
       [](S s) { return s.stats.instructions; }},
      {"memory_instructions", "count", "load and store instructions issued", StatKind::counter,
       [](S s) { return s.stats.memory_instructions; }},
      {"transactions", "count", "memory transactions after coalescing (L1 accesses)", StatKind::counter,
       [](S s) { return s.stats.transactions; }},
      {"issue_cycles", "cycle", "cycles in which at least one instruction issued", StatKind::counter,
       [](S s) { return s.stats.issue_cycles; }},
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
    s.scheduler.admit(w);
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
  std::uint32_t issued = 0;
  while (issued < spec().sm.issue_width && s.ready != 0) {
    auto const w = s.scheduler.pick(s.ready, spec().sm.warp_order);
    s.ready &= ~bit(w);
    if (issue(w, cx) == Outcome::issued) ++issued;
  }
  s.stats.instructions += issued;
  if (issued != 0) ++s.stats.issue_cycles;
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

Sm::Outcome Sm::issue(std::uint32_t warp, Cx& cx) const {
  auto& s = cx.state();
  auto& w = s.warps[warp];
  WarpInstruction i;
  spec().workload->kernel(s.kernel).instruction(w.block, w.index, w.step, i);
  bool const ends = i.op == Op::end;
  if ((i.wait_loads || ends) && must_wait(warp, ends, cx)) return Outcome::held;

  switch (i.op) {
    case Op::end:
      retire(warp, cx);
      return Outcome::held;  // the end is not an instruction
    case Op::compute:
      ++w.step;
      wake_warp(warp, cx.now() + spec().clock.cycles(i.cycles), s);
      return Outcome::issued;
    case Op::barrier: {
      ++w.step;
      auto& block = s.blocks[w.slot];
      ++block.at_barrier;
      block.barrier_warps |= bit(warp);
      release_barrier(block, cx);
      return Outcome::issued;
    }
    case Op::load:
    case Op::store:
      break;
  }

  if (lsu_busy(s)) {
    s.lsu_wait |= bit(warp);
    return Outcome::held;
  }
  if (s.lsu_free > cx.now()) {
    wake_warp(warp, s.lsu_free, s);
    return Outcome::held;
  }
  ++w.step;
  ++s.stats.memory_instructions;
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
  return Outcome::issued;
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
