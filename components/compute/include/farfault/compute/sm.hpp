// SPDX-License-Identifier: Apache-2.0
// A streaming multiprocessor (compute unit): warps, scheduler, coalescer, L1 TLB and L1 cache. The model:
// docs/model/sm.md; faults: docs/model/paging.md; counters: docs/model/statistics.md.
//
// - Events: only misses, stores and wake-ups. Issue and coalescing are function calls; the L1 TLB and the L1
//   cache look up one line transaction per cycle.
// - Time: a value that arrives at a clock edge is usable at the next one.
// - Back-pressure: without a free MSHR, a credit or room for faulted transactions, the load/store unit stalls
//   in order. Faulted transactions do not block others.
// - Guarantees: a block ends after all its accesses. An invalidation is acknowledged when the accesses
//   translated before are done; warps keep running meanwhile.
// - Counters (SmStats) are kept by stream. A stream runs one kernel at a time, so the increase of its
//   counters at the SM's last block of a kernel is the kernel's.
// - Instructions: by default they are there when a warp needs them. Otherwise warps fetch lines of code from
//   an instruction cache into their windows, and wait for them (instruction_windows.hpp).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "farfault/compute/held_blocks.hpp"
#include "farfault/compute/instruction_windows.hpp"
#include "farfault/compute/load_store_state.hpp"
#include "farfault/compute/sm_spec.hpp"
#include "farfault/compute/sm_stats.hpp"
#include "farfault/compute/warp_contexts.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class LoadStoreUnit;

// An instruction obtained from a warp's kernel.
struct DecodedInstruction {
  std::uint64_t block = 0;
  std::uint64_t step = ~std::uint64_t{0};
  std::uint32_t kernel = 0;
  std::uint32_t index = 0;  // of the warp in the block
  WarpInstruction instruction;
};

// A block's context in transfer to memory or back: lines, or the time that they take.
struct ContextTransfer {
  std::uint32_t block = HeldBlocks::kNone;  // its context; kNone: no transfer
  Access access = Access::write;            // write: it is saved
  std::uint8_t space = 0;
  std::uint8_t application = 0;
  std::uint8_t unused = 0;
  PhysAddr first = 0;
  std::uint32_t lines = 0;
  std::uint32_t sent = 0;
  std::uint32_t done = 0;
  std::uint32_t unused_2 = 0;
  Time port_free{};
};

// Swapped-out blocks; of these, blocks whose registers and shared memory were saved; bytes transferred.
struct SwapCounts {
  std::uint64_t blocks = 0;
  std::uint64_t saved = 0;
  std::uint64_t context_bytes = 0;
};

struct SwappedBlocks {
  HeldBlocks held;
  ContextTransfer transfer;
  SwapCounts counts;
};

struct SmState {
  std::vector<std::uint32_t> launches;  // by stream: the last one with a block here
  Time tick_at = Time::max();
  WarpContexts warps;
  Policy<WarpOrder> warp_order;
  ExecutionUnits units;
  LoadStoreState load_store;
  std::uint32_t scalar_credits = 0;
  InstructionWindows instructions;  // if they are fetched
  ByStream<SmStats> stats;
  ByStream<SmStats> reported;  // values at the last report
  SmTimes times;
  std::vector<std::uint32_t> blocks;       // by stream: resident
  Remembered<DecodedInstruction> decoded;  // the last one
  SwappedBlocks swapped;                   // if blocks may be swapped out
  BlockControl control{};

  static std::span<Stat<SmState> const> list() {
    using S = SmState const&;
    static constexpr auto all = std::to_array<Stat<SmState>>({
        {"simd_cycles", "cycle", "Busy cycles of SIMDs, summed over SIMDs", StatKind::counter,
         [](S s) { return s.units.simd_cycles(); }},
        {"shared_bytes", "bytes", "Bytes read or written by shared memory", StatKind::counter,
         [](S s) { return s.units.shared_bytes(); }},
        {"l1_tlb_invalidated", "count", "L1 TLB entries removed by invalidations", StatKind::counter,
         [](S s) { return s.load_store.l1_tlb_invalidated; }},
        Stat<SmState>{"active_time", "ps", "Time in which a warp executed or could issue, summed over SMs",
                      StatKind::counter, [](S s) { return s.times.activity.in(SmActivity::active); }}
            .stored_summed(),
        Stat<SmState>{"memory_stall_time", "ps",
                      "Time in which no warp executed or could issue, with memory accesses as the most "
                      "frequent stall cause, summed over SMs",
                      StatKind::counter, [](S s) { return s.times.activity.in(SmActivity::memory_stall); }}
            .stored_summed(),
        Stat<SmState>{"fault_stall_time", "ps",
                      "Time in which no warp executed or could issue, with page faults as the most frequent "
                      "stall cause, summed over SMs",
                      StatKind::counter, [](S s) { return s.times.activity.in(SmActivity::fault_stall); }}
            .stored_summed(),
        Stat<SmState>{"load_store_stall_time", "ps",
                      "Time in which no warp executed or could issue, with the load/store unit as the most "
                      "frequent stall cause, summed over SMs",
                      StatKind::counter,
                      [](S s) { return s.times.activity.in(SmActivity::load_store_stall); }}
            .stored_summed(),
        Stat<SmState>{"scalar_stall_time", "ps",
                      "Time in which no warp executed or could issue, with the limit of scalar-cache "
                      "requests as the most frequent stall cause, summed over SMs",
                      StatKind::counter, [](S s) { return s.times.activity.in(SmActivity::scalar_stall); }}
            .stored_summed(),
        Stat<SmState>{"barrier_stall_time", "ps",
                      "Time in which no warp executed or could issue, with barriers as the most frequent "
                      "stall cause, summed over SMs",
                      StatKind::counter, [](S s) { return s.times.activity.in(SmActivity::barrier_stall); }}
            .stored_summed(),
        Stat<SmState>{
            "fetch_stall_time", "ps",
            "Time in which no warp executed or could issue, with instructions that have not arrived "
            "as the most frequent stall cause, summed over SMs",
            StatKind::counter, [](S s) { return s.times.activity.in(SmActivity::fetch_stall); }}
            .stored_summed()
            .only_when<&SmSpec::fetches>(),
        Stat<SmState>{
            "stopped_time", "ps",
            "Time in which the SM was stopped by the driver or the thread-block policy, summed over SMs",
            StatKind::counter, [](S s) { return s.times.activity.in(SmActivity::stopped); }}
            .stored_summed(),
        Stat<SmState>{"l1_tlb_mshr_wait_time", "ps",
                      "Stall time of the load/store unit without a free L1 TLB MSHR, summed over SMs",
                      StatKind::counter,
                      [](S s) { return s.times.load_store.in(LoadStoreStall::l1_tlb_mshr); }}
            .stored_summed(),
        Stat<SmState>{"faulted_wait_time", "ps",
                      "Stall time of the load/store unit at the limit of faulted pages or faulted accesses, "
                      "summed over SMs",
                      StatKind::counter, [](S s) { return s.times.load_store.in(LoadStoreStall::faulted); }}
            .stored_summed(),
        Stat<SmState>{"l1_mshr_wait_time", "ps",
                      "Stall time of the load/store unit without a free L1 cache MSHR, summed over SMs",
                      StatKind::counter, [](S s) { return s.times.load_store.in(LoadStoreStall::l1_mshr); }}
            .stored_summed(),
        Stat<SmState>{"l2_credit_wait_time", "ps",
                      "Stall time of the load/store unit without a credit of an L2 slice, summed over SMs",
                      StatKind::counter, [](S s) { return s.times.load_store.in(LoadStoreStall::l2_credit); }}
            .stored_summed(),
        Stat<SmState>{
            "remote_credit_wait_time", "ps",
            "Stall time of the load/store unit without a credit for remote accesses, summed over SMs",
            StatKind::counter, [](S s) { return s.times.load_store.in(LoadStoreStall::remote_credit); }}
            .stored_summed(),
        Stat<SmState>::of_histogram(
            "load_latency", "ps", "Latency of loads from issue to data",
            [](S s) -> auto const& { return s.times.load_latency; })
            .stored_summed(),
        Stat<SmState>::of_histogram(
            "fault_wait", "ps", "Time of accesses from the fault response to the replay of their page",
            [](S s) -> auto const& { return s.times.fault_wait; })
            .stored_summed(),
        {"faulted_pages", "count", "Faulted pages with stalled transactions", StatKind::level,
         [](S s) { return std::uint64_t{s.load_store.translation.faulted().pages()}; }},
        {"warps_in_faults", "count", "Warps stalled only by page faults", StatKind::level,
         [](S s) { return std::uint64_t{s.warps.waiting_for_faults().warps}; }},
        {"blocks_in_faults", "count",
         "Thread blocks whose unfinished warps are all stalled on page faults or at a barrier, at least one "
         "of them on a page fault",
         StatKind::level, [](S s) { return std::uint64_t{s.warps.waiting_for_faults().blocks}; }},
        Stat<SmState>{"waiting_blocks", "count",
                      "Thread blocks that cannot issue: not started or swapped out", StatKind::level,
                      [](S s) { return std::uint64_t{s.swapped.held.waiting()}; }}
            .only_when<&SmSpec::swaps_blocks>(),
        Stat<SmState>{"blocks_swapped_out", "count", "Thread blocks swapped out", StatKind::counter,
                      [](S s) { return s.swapped.counts.blocks; }}
            .only_when<&SmSpec::swaps_blocks>(),
        Stat<SmState>{"blocks_saved", "count",
                      "Thread blocks swapped out with registers and shared memory saved", StatKind::counter,
                      [](S s) { return s.swapped.counts.saved; }}
            .only_when<&SmSpec::swaps_blocks>(),
        Stat<SmState>{"context_bytes", "bytes", "Bytes of contexts saved and restored", StatKind::counter,
                      [](S s) { return s.swapped.counts.context_bytes; }}
            .only_when<&SmSpec::swaps_blocks>(),
    });
    return all;
  }
};

class Sm final : public Component<SmSpec, SmState> {
 public:
  explicit Sm(Slot<SmSpec> slot);
  In<StartBlock> start = in<&Sm::on_start>("start");
  In<MemResponse> memory_response = in<&Sm::on_memory>("memory_response");
  In<MemResponse> remote_response = in<&Sm::on_memory>("remote_response");
  In<ReadOnlyResponse> scalar_response = in<&Sm::on_scalar>("scalar_response");
  In<TranslateResponse> translation = in<&Sm::on_translation>("translation");
  In<Invalidate> invalidate = in<&Sm::on_invalidate>("invalidate");
  Self<Tick> tick = timer<&Sm::on_tick>("tick");
  Out<KernelCounts> counts = out<KernelCounts>("counts");
  Out<BlockDone> done = out<BlockDone>("done");
  Out<MemRequest> memory_request = out<MemRequest>("memory_request");
  Out<MemRequest> remote_request = out<MemRequest>("remote_request");
  Out<ReadOnlyRequest> scalar_request = out<ReadOnlyRequest>("scalar_request");
  Out<TranslateRequest> translate = out<TranslateRequest>("translate");
  Out<Invalidated> invalidated = out<Invalidated>("invalidated");
  Out<PageUse> used;  // if the driver tracks page uses
  // If gpu.sm.thread_blocks or the driver controls SMs.
  In<BlockControl> control;
  Self<Tick> moved;
  // If instructions are fetched.
  Out<ReadOnlyRequest> fetch_request;
  In<ReadOnlyResponse> fetched;
  In<TlbDistribution> distributed;  // if the first level of TLBs is balanced

  std::string_view kind() const override { return "sm"; }
  std::string waiting_for() const override;
  SmState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_start(StartBlock const& m, Cx& cx) const;
  void on_memory(MemResponse const& m, Cx& cx) const;
  void on_scalar(ReadOnlyResponse const& m, Cx& cx) const;
  void on_translation(TranslateResponse const& m, Cx& cx) const;
  void on_tick(Tick const& m, Cx& cx) const;
  void on_invalidate(Invalidate const& m, Cx& cx) const;
  void on_distribution(TlbDistribution const& m, Cx& cx) const;
  void on_control(BlockControl const& m, Cx& cx) const;
  void on_moved(Tick const& m, Cx& cx) const;
  void on_fetched(ReadOnlyResponse const& m, Cx& cx) const;

  std::uint64_t line_of(PhysAddr address) const { return address >> line_bits_; }
  bool is_remote(PhysAddr address) const { return device_of(address) != spec().device; }

 private:
  friend class LoadStoreUnit;
  void send_to_slice(MemRequest const& m, Duration in, Cx& cx) const {
    auto const slice = spec().memory.slice(offset_of(m.address));
    cx.send(memory_request, slice, m, in + spec().to_slices.to(slice));
  }
  bool settle(SmState& s, Time at) const override;
  // For the warp in a slot, whose context is `context`.
  void issue(std::uint32_t slot, std::uint64_t cycle, Cx& cx) const;
  // Occupies the execution units (execution_units.hpp), with one wake-up for the whole group. Memory
  // instructions do not wait behind groups.
  void compute(std::uint32_t context, Work const& work, std::uint64_t cycle, SmStats& stats, Cx& cx) const;
  // The step of a warp, of this many instructions, has issued.
  void end_step(Warp& w, std::uint32_t context, std::uint32_t instructions, Cx& cx) const {
    ++w.step;
    cx.state().warp_order->issued(w.slot);
    if (spec().fetches()) fetch_next(context, instructions, cx);
  }
  void fetch_next(std::uint32_t context, std::uint32_t instructions, Cx& cx) const;
  // True if the warp's next instruction has arrived.
  bool has_fetched(std::uint32_t context, WarpInstruction const& next, Cx& cx) const;
  void request_lines(std::uint32_t context, Cx& cx) const;
  void scalar_load(std::uint32_t context, WarpInstruction const& i, std::uint64_t cycle, Cx& cx) const;
  Launchable const& program_of(Warp const& w) const { return spec().applications->launchable(w.kernel); }
  void end_block(Warp const& w, std::uint8_t stream, Cx& cx) const;
  WarpInstruction const& instruction_of(Warp const& w, SmState& s) const;
  bool must_wait(std::uint32_t context, bool for_stores, Cx& cx) const;
  // An outstanding access of the warp is done: wakes the warp if it waited only for this.
  bool wake_if_done(std::uint32_t context, Warp& w, Cx& cx) const {
    if (w.waits_for_loads == 0 || w.loads != 0 || (w.waits_for_stores != 0 && w.stores != 0)) return false;
    wake(context, w, cx);
    return true;
  }
  void wake(std::uint32_t context, Warp& w, Cx& cx) const;
  void schedule_tick(Cx& cx) const;
  void enter_slots(std::uint32_t block, Cx& cx) const;

  // Swapping of blocks (sm_blocks.cpp).
  bool swaps() const { return swap_trigger_ != ThreadBlocks::SwapTrigger::none; }
  std::uint32_t add_block(std::uint64_t block, std::uint32_t kernel, Cx& cx) const;
  bool is_stalled(std::uint32_t block, SmState const& s) const;
  void swap_blocks(Cx& cx) const;
  void swap_out(std::uint32_t block, bool saved, Cx& cx) const;
  void swap_in(std::uint32_t block, Cx& cx) const;
  void arrive(std::uint32_t block, Cx& cx) const;
  void move_context(std::uint32_t block, Access access, bool all, Cx& cx) const;
  // A context in memory is transferred as lines, at most one per cycle, to and from the L2 slices. The
  // requests share the SM's credits with its accesses, which take precedence.
  void send_context(Cx& cx) const;
  void on_context(MemResponse const& m, Cx& cx) const;
  void end_context_transfer(Cx& cx) const;

  ThreadBlocks::SwapTrigger swap_trigger_;
  ThreadBlocks::Context context_;
  unsigned line_bits_;
  Duration l1_tlb_latency_;
  Duration l1_cache_latency_;
};
extern template class Component<SmSpec, SmState>;  // compiled in sm.cpp

// Number in the tag of a request that moves a context.
inline constexpr std::uint32_t kContextNumber = 0xffff;

}  // namespace farfault
