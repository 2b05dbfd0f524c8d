// SPDX-License-Identifier: Apache-2.0
// A streaming multiprocessor (compute unit): warps, scheduler, coalescer, L1 TLB and L1 cache.
//
// What happens inside in one go is calls, not messages: an instruction is issued, coalesced into line
// transactions, and each is looked up in the L1 TLB and the L1 cache, one per cycle. Only misses, stores and
// wake-ups are events. Computation takes the time of the SIMDs, the scalar unit and the shared memory, which
// all warps of the SM share (execution_units.hpp), in groups of instructions: one wake-up for a group. Memory
// instructions go first: they do not wait behind the groups, and take an issue slot of their SIMD. A value
// that arrives at a clock edge is usable at the next one. Loads do not block a warp; an instruction marked
// wait_loads does (AMD's s_waitcnt, NVIDIA's scoreboard). A warp retires when its loads have returned and its
// stores are acknowledged. The L1 is write-through without write-allocation and is emptied when another
// kernel of any application starts there (gfx9 and NVIDIA from Fermi on); it holds remote lines too. Scalar
// loads go to the scalar cache (scalar_cache.hpp), a component of its own. Instruction fetch is not modelled.
// Back-pressure: when MSHRs or credits run out, the load/store unit stalls in order. An invalidation drops
// the page's translation at once, and its lines when the accesses translated before are done; then it is
// acknowledged. Warps keep running meanwhile.
//
// A translation may come back as faulted: the page is not mapped, or about to move. Its transactions then
// leave the L1 TLB's MSHR and the way of others until the page's replay; until then further transactions of
// the page join them. They go on before those of new instructions, one per cycle: looked up again, or with
// the frame of a page that has moved. While as many are kept as there may be, a transaction that misses
// stalls the load/store unit. The SM knows which warps and blocks wait for faults only (warp_contexts.hpp).
//
// A block that cannot issue waits, and may come when another gives way (thread_blocks.hpp): its warps leave
// their slots, its context is saved, that of the next is restored, one at a time. In memory that is lines of
// an area of the SM, one per cycle at most, to the L2 slices; they share the SM's credits with its accesses,
// which go first. A block that has not begun has nothing to restore. Accesses under way of a block that has
// given way go on, and what they return is there when it comes back.
//
// What it counts (SmStats) it counts by stream. A stream runs one kernel at a time, and when a block ends all
// its accesses are done: so when the last block that the SM has of a kernel ends, what the counters of its
// stream have grown by is the kernel's, and is reported to the dispatcher (kernel_counts.hpp). What the
// devices behind it, which kernels share, did for a kernel it knows from their responses (FoundBy). A
// transaction that misses the L1 TLB counts once, for where its translation came from; a transaction that was
// ever kept because its page was faulted counts for the fault, so the four sums make up the misses. A request
// to an L2 cache counts for the kernel whose transaction made it; those that merged with it in the L1 do not.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "farfault/compute/coalescer.hpp"
#include "farfault/compute/held_blocks.hpp"
#include "farfault/compute/sm_params.hpp"
#include "farfault/compute/sm_stats.hpp"
#include "farfault/compute/stalled_warps.hpp"
#include "farfault/compute/warp_contexts.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/memory/cache.hpp"
#include "farfault/parts/access_drain.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/draining_invalidations.hpp"
#include "farfault/parts/faulted_accesses.hpp"
#include "farfault/parts/mshr.hpp"
#include "farfault/parts/page_uses.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/tlb_organization.hpp"

namespace farfault {

class SharedWait;

struct SmSpec {
  SmParams sm;
  L1TlbParams l1_tlb;
  L1CacheParams l1_cache;
  Clock clock{1'000'000'000};
  std::uint32_t index = 0;
  DeviceId device = 0;
  std::uint32_t warp_width = 64;
  std::uint32_t line_bytes = 64;
  unsigned page_bits = 12;
  std::uint32_t page_sizes = 1;                // bit s: there may be pages of 2^s base pages
  PageTable const* mapped_at_start = nullptr;  // its TLB may hold
  std::uint32_t slices = 1;
  AddressMap memory;
  std::uint32_t local_train = 1;       // lines that travel as one message: to this GPU's memory
  std::uint32_t remote_train = 1;      // and to that of other devices
  std::uint32_t train_block = 64;      // bytes: a power of two; no train leaves a block of this size
  std::uint32_t moves = 1;             // invalidations under way at most
  std::uint16_t scalar_index = 0;      // among the SMs of its scalar cache
  std::uint32_t scalar_requests = 32;  // it may have there
  PageUseRule page_uses;               // which uses of pages it tells the driver
  PhysAddr contexts = 0;               // where blocks' contexts are saved: areas of area_bytes()
  Applications const* applications = nullptr;
  bool may_stall = false;              // the driver stops the GPU at times
  bool reports_stalled_warps = false;  // to the L2 TLB

  // Of the whole SM, which is what a block takes at most; whole pages of 4 KiB.
  static std::uint64_t area_bytes(SmParams const& sm) {
    auto const bytes = sm.registers * std::uint64_t{4} + sm.shared_bytes +
                       std::uint64_t{sm.max_warps} * sm.thread_blocks.make({})->context().warp_bytes;
    return (bytes + 4095) / 4096 * 4096;
  }
  // How many an SM has: of each block that may wait, and of one that is to.
  static std::uint32_t areas(SmParams const& sm) {
    auto const blocks = sm.thread_blocks.make({});
    return blocks->leaves_on() != ThreadBlocks::LeavesOn::nothing ? blocks->most_extra() + 1 : 0;
  }

  ExecutionRates rates() const {
    return {sm.simds,
            (warp_width + sm.simd_lanes - 1) / sm.simd_lanes,
            (warp_width + sm.special_lanes - 1) / sm.special_lanes,
            sm.scalar_rate,
            sm.shared_bytes_per_cycle,
            sm.dependent_latency,
            sm.shared_latency,
            warp_width,
            sm.issue == IssueRule::one};
  }
};

// A transaction on its way through the load/store unit: virtual until translated.
struct LsuItem {
  std::uint64_t address = 0;
  Time since{};  // in its present stage (sm_stats.hpp)
  Time issued{};
  std::uint16_t context = 0;  // of its warp
  Access access = Access::read;
  std::uint8_t bytes = 0;
  std::uint8_t space = 0;
  std::uint8_t application = 0;
  std::uint8_t stream = 0;
  std::uint8_t has_faulted = 0;  // it has been kept because its page was faulted
};

// A load that waits for its line, in 16 bytes: there are many.
struct LoadWaiter {
  Time issued{};
  std::uint64_t waited_and_context = 0;  // ps from its issue until it began to wait; 16 bits: its warp's

  LoadWaiter() = default;
  LoadWaiter(Time issued_at, Time since, std::uint16_t context)
      : issued(issued_at),
        waited_and_context(static_cast<std::uint64_t>(picoseconds(since - issued_at)) << 16U | context) {}
  Time since() const { return issued + Duration{static_cast<std::int64_t>(waited_and_context >> 16U)}; }
  std::uint16_t context() const { return static_cast<std::uint16_t>(waited_and_context); }
};

// An instruction that a warp's kernel was asked for.
struct DecodedInstruction {
  std::uint64_t block = 0;
  std::uint64_t step = ~std::uint64_t{0};
  std::uint32_t kernel = 0;
  std::uint32_t index = 0;  // of the warp in the block
  WarpInstruction instruction;
};

// A block's context on its way to memory or back: lines, or the time that they take.
struct ContextTransfer {
  std::uint32_t block = HeldBlocks::kNone;  // its context; kNone: nothing is under way
  Access access = Access::write;            // it is saved
  std::uint8_t space = 0;
  std::uint8_t application = 0;
  std::uint8_t unused = 0;
  PhysAddr first = 0;
  std::uint32_t lines = 0;
  std::uint32_t sent = 0;
  std::uint32_t done = 0;
  std::uint32_t unused_too = 0;
  Time port_free{};
};

// Blocks that have given way; those of which registers and shared memory were saved; what was moved.
struct GivenWay {
  std::uint64_t blocks = 0;
  std::uint64_t saved = 0;
  std::uint64_t context_bytes = 0;
};

struct SmState {
  std::vector<std::uint32_t> launches;  // by stream: the last one of which a block came
  Time tick_at = Time::max();
  WarpContexts warps;
  Policy<WarpOrder> warp_order;
  ExecutionUnits units;
  Policy<TlbOrganization> l1_tlb;
  MshrTable<LsuItem> tlb_mshrs;
  FaultedAccesses<LsuItem> faulted;
  Cache l1;
  MshrTable<LoadWaiter> l1_mshrs;
  Ring<LsuItem> translated;      // transactions, in order
  std::vector<LsuItem> current;  // of the instruction in the load/store unit
  std::uint64_t position = 0;
  Time lsu_free{};
  std::vector<std::uint32_t> slice_credits;
  std::uint32_t remote_credits = 0;
  std::uint32_t scalar_credits = 0;
  AccessDrain drain;
  DrainingInvalidations invalidations;
  ByStream<SmStats> stats;
  ByStream<SmStats> reported;  // of these, when they were last
  SmTimes times;
  std::vector<std::uint32_t> blocks;  // by stream: resident
  std::uint64_t l1_tlb_invalidated = 0;
  Remembered<DecodedInstruction> decoded;  // the last one
  HeldBlocks held;                         // where blocks may give way
  ContextTransfer transfer;
  BlockControl control{};
  GivenWay given_way;
  PageUses uses;
  StalledWarps stalled_warps;  // where they are reported

  // From waiting_blocks on: where blocks may give way.
  static std::span<Stat<SmState> const> list() {
    using S = SmState const&;
    static constexpr auto all = std::to_array<Stat<SmState>>({
        {"simd_cycles", "cycle", "Busy cycles of SIMDs, summed over SIMDs", StatKind::counter,
         [](S s) { return s.units.simd_cycles(); }},
        {"shared_bytes", "bytes", "Bytes read or written by shared memory", StatKind::counter,
         [](S s) { return s.units.shared_bytes(); }},
        {"l1_tlb_invalidated", "count", "L1 TLB entries removed by invalidations", StatKind::counter,
         [](S s) { return s.l1_tlb_invalidated; }},
        Stat<SmState>{"active_time", "ps", "Time in which a warp executed or could issue", StatKind::counter,
                      [](S s) { return s.times.doing.in(SmDoes::executes); }}
            .stored_summed(),
        Stat<SmState>{"memory_stall_time", "ps", "Issue-stall time dominated by memory accesses",
                      StatKind::counter, [](S s) { return s.times.doing.in(SmDoes::waits_for_memory); }}
            .stored_summed(),
        Stat<SmState>{"fault_stall_time", "ps", "Issue-stall time dominated by page faults",
                      StatKind::counter, [](S s) { return s.times.doing.in(SmDoes::waits_for_faults); }}
            .stored_summed(),
        Stat<SmState>{"load_store_stall_time", "ps",
                      "Issue-stall time dominated by a stalled load/store unit", StatKind::counter,
                      [](S s) { return s.times.doing.in(SmDoes::waits_for_load_store); }}
            .stored_summed(),
        Stat<SmState>{"scalar_stall_time", "ps",
                      "Issue-stall time dominated by warps waiting to send scalar-cache requests",
                      StatKind::counter, [](S s) { return s.times.doing.in(SmDoes::waits_for_scalar_cache); }}
            .stored_summed(),
        Stat<SmState>{"barrier_stall_time", "ps", "Issue-stall time dominated by barriers", StatKind::counter,
                      [](S s) { return s.times.doing.in(SmDoes::waits_at_barrier); }}
            .stored_summed(),
        Stat<SmState>{"stopped_time", "ps",
                      "Time in which the SM was stopped by the driver or the thread-block policy",
                      StatKind::counter, [](S s) { return s.times.doing.in(SmDoes::is_stopped); }}
            .stored_summed(),
        Stat<SmState>{"l1_tlb_mshr_wait_time", "ps",
                      "Stall time of the load/store unit without a free L1 TLB MSHR", StatKind::counter,
                      [](S s) { return s.times.load_store.in(LoadStoreWaits::l1_tlb_mshr); }}
            .stored_summed(),
        Stat<SmState>{"faulted_wait_time", "ps",
                      "Stall time of the load/store unit at the limit of faulted pages or faulted accesses",
                      StatKind::counter, [](S s) { return s.times.load_store.in(LoadStoreWaits::faulted); }}
            .stored_summed(),
        Stat<SmState>{"l1_mshr_wait_time", "ps",
                      "Stall time of the load/store unit without a free L1 cache MSHR", StatKind::counter,
                      [](S s) { return s.times.load_store.in(LoadStoreWaits::l1_mshr); }}
            .stored_summed(),
        Stat<SmState>{"l2_credit_wait_time", "ps",
                      "Stall time of the load/store unit without a credit of an L2 slice", StatKind::counter,
                      [](S s) { return s.times.load_store.in(LoadStoreWaits::l2_credit); }}
            .stored_summed(),
        Stat<SmState>{"remote_credit_wait_time", "ps",
                      "Stall time of the load/store unit without a credit for remote accesses",
                      StatKind::counter,
                      [](S s) { return s.times.load_store.in(LoadStoreWaits::remote_credit); }}
            .stored_summed(),
        Stat<SmState>{"load_latency", "ps", "Latency of loads from issue to data", StatKind::histogram,
                      nullptr, SmTimes::kBins,
                      [](S s) { return std::span<std::uint64_t const>(s.times.load_latency.bins); }}
            .stored_summed(),
        Stat<SmState>{"fault_wait", "ps",
                      "Time of accesses from the fault response to the replay of their page",
                      StatKind::histogram, nullptr, SmTimes::kBins,
                      [](S s) { return std::span<std::uint64_t const>(s.times.fault_wait.bins); }}
            .stored_summed(),
        {"faulted_pages", "count", "Faulted pages with stalled transactions", StatKind::level,
         [](S s) { return std::uint64_t{s.faulted.pages()}; }},
        {"warps_in_faults", "count", "Warps stalled only by page faults", StatKind::level,
         [](S s) { return std::uint64_t{s.warps.waiting_for_faults().warps}; }},
        {"blocks_in_faults", "count",
         "Thread blocks whose live warps are all stalled by page faults, or at a barrier behind these warps",
         StatKind::level, [](S s) { return std::uint64_t{s.warps.waiting_for_faults().blocks}; }},
        {"waiting_blocks", "count", "Thread blocks that cannot issue: not started or swapped out",
         StatKind::level, [](S s) { return std::uint64_t{s.held.waiting()}; }},
        {"blocks_given_way", "count", "Thread blocks swapped out", StatKind::counter,
         [](S s) { return s.given_way.blocks; }},
        {"blocks_saved", "count", "Thread blocks swapped out with registers and shared memory saved",
         StatKind::counter, [](S s) { return s.given_way.saved; }},
        {"context_bytes", "bytes", "Bytes of contexts saved and restored", StatKind::counter,
         [](S s) { return s.given_way.context_bytes; }},
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
  In<ScalarResponse> scalar_response = in<&Sm::on_scalar>("scalar_response");
  In<TranslateResponse> translation = in<&Sm::on_translation>("translation");
  In<Invalidate> invalidate = in<&Sm::on_invalidate>("invalidate");
  Self<Tick> tick = timer<&Sm::on_tick>("tick");
  Out<KernelCounts> counts = out<KernelCounts>("counts");
  Out<BlockDone> done = out<BlockDone>("done");
  Out<MemRequest> memory_request = out<MemRequest>("memory_request");
  Out<MemRequest> remote_request = out<MemRequest>("remote_request");
  Out<ScalarRequest> scalar_request = out<ScalarRequest>("scalar_request");
  Out<TranslateRequest> translate = out<TranslateRequest>("translate");
  Out<Invalidated> invalidated = out<Invalidated>("invalidated");
  Out<PageUse> used;  // where the driver wants to know
  // Where gpu.sm.thread_blocks says so, or the driver.
  In<BlockControl> control;
  Self<Tick> moved;

  std::string_view kind() const override { return "sm"; }
  std::string waiting_for() const override;
  SmState initial() const override;
  std::span<Stat<SmState> const> stats() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_start(StartBlock const& m, Cx& cx) const;
  void on_memory(MemResponse const& m, Cx& cx) const;
  void on_scalar(ScalarResponse const& m, Cx& cx) const;
  void on_translation(TranslateResponse const& m, Cx& cx) const;
  void on_tick(Tick const& m, Cx& cx) const;
  void on_invalidate(Invalidate const& m, Cx& cx) const;
  void on_control(BlockControl const& m, Cx& cx) const;
  void on_moved(Tick const& m, Cx& cx) const;

  // When a warp can use line `i` of a train that comes now: after it has arrived, and so from the next edge
  // on where that was at one.
  static Time usable(Train train, std::uint32_t i, Time now) {
    return i == 0 ? now : now + train.until(i) + Duration{1};
  }
  std::uint64_t line_of(PhysAddr address) const { return address >> line_bits_; }
  bool is_remote(PhysAddr address) const { return device_of(address) != spec().device; }

 private:
  bool settle(SmState& s, Time at) const override;
  // Of the warp in a slot, whose context is that named.
  void issue(std::uint32_t slot, std::uint64_t cycle, Cx& cx) const;
  void compute(std::uint32_t context, Work const& work, std::uint64_t cycle, SmStats& stats,
               SmState& s) const;
  void scalar_load(std::uint32_t context, WarpInstruction const& i, std::uint64_t cycle, Cx& cx) const;
  Launchable const& program_of(Warp const& w) const { return spec().applications->launchable(w.kernel); }
  void end_block(Warp const& w, std::uint8_t stream, Cx& cx) const;
  WarpInstruction const& instruction_of(Warp const& w, SmState& s) const;
  bool must_wait(std::uint32_t context, bool for_stores, Cx& cx) const;
  // An outstanding access of the warp is done: wakes it if that was what it waited for.
  bool wake_if_done(std::uint32_t context, Warp& w, Cx& cx) const {
    if (w.waits_loads == 0 || w.loads != 0 || (w.waits_stores != 0 && w.stores != 0)) return false;
    wake(context, w, cx);
    return true;
  }
  void wake(std::uint32_t context, Warp& w, Cx& cx) const;
  void schedule_tick(Cx& cx) const;
  void enter_slots(std::uint32_t block, Cx& cx) const;

  // Blocks that give way, and come back (sm_blocks.cpp).
  bool switches() const { return leaves_on_ != ThreadBlocks::LeavesOn::nothing; }
  std::uint32_t hold(std::uint64_t block, std::uint32_t kernel, Cx& cx) const;
  bool is_stalled(std::uint32_t block, SmState const& s) const;
  void switch_blocks(Cx& cx) const;
  void give_way(std::uint32_t block, bool saved, Cx& cx) const;
  void come_back(std::uint32_t block, Cx& cx) const;
  void arrive(std::uint32_t block, Cx& cx) const;
  void move_context(std::uint32_t block, Access access, bool all, Cx& cx) const;
  void send_context(Cx& cx) const;
  void on_context(MemResponse const& m, Cx& cx) const;
  void context_is_moved(Cx& cx) const;

  // What transactions of one stream have done in the load/store unit at one time, counted when all have. In
  // an order in which a hit's sums are not side by side: else the compiler joins their additions, at a loss.
  struct Passed {
    std::uint64_t load_store_time = 0;  // ps
    std::uint32_t l1_tlb_lookups = 0;
    std::uint32_t l1_hits = 0;   // loads, which are over
    std::uint64_t hit_time = 0;  // of these, ps from now until their data
    std::uint32_t other_l1_cache_lookups = 0;
    std::uint32_t l1_tlb_hits = 0;  // for the first time
    std::uint8_t stream = 0;
  };
  // Lines of an instruction that have left the load/store unit and are to travel together.
  struct Leaving {
    MemRequest request{};
    Time first{};
    Time last{};
    std::uint32_t lines = 0;  // 0: there are none
    std::uint16_t context = 0;
    LoadStoreWaits waits = LoadStoreWaits::no;  // where the unit stalls: for what
    // The last page looked up: for the lines that follow each other in it that is one use of its entry.
    std::uint64_t page = ~std::uint64_t{0};
    std::optional<PageTranslation> found;
    std::optional<std::uint32_t> missed;  // where it is not: the MSHR at which it waits
    Passed passed;
  };
  void run_load_store(Cx& cx) const;
  // False when it stalls.
  bool move_transactions(Leaving& leaving, Cx& cx) const;
  // Before the first transaction of a stream, and after the last one of all.
  void count_passed(Passed& passed, std::uint8_t next_stream, Cx& cx) const;
  // The transactions that come after one in its queue, and may be of the same train: n of them, by number.
  template <class Following>
  std::uint32_t train_from(LsuItem const& item, std::uint64_t n, Following&& following) const;

  // `again`: after a replay. `lines()`: how many transactions from this one on may travel together; called
  // when it is translated.
  template <class Lines>
  bool translate_item(LsuItem const& item, bool again, Leaving& leaving, Lines&& lines, Cx& cx) const;
  // It waits from `since` on.
  bool wait_for_translation(LsuItem const& item, bool again, Time looked_up, Time since, Leaving& leaving,
                            Cx& cx) const;
  // From `since` on.
  void keep_faulted(std::uint64_t page, LsuItem item, Time since, SmState& s) const;
  // The latency stack (sm_latency.cpp): what a translation has taken, and what a line, for one that has
  // waited for it and for many together; and the end of a transaction.
  void count_translation(TranslateResponse const& m, Duration waited, AccessStages& stages) const;
  void count_translations(TranslateResponse const& m, SharedWait const& all, AccessStages& stages) const;
  void count_load(MemResponse const& m, Duration waited, AccessStages& stages) const;
  void count_loads(MemResponse const& m, SharedWait const& all, AccessStages& stages) const;
  void count_stores(MemResponse const& m, Warp& w, SmStats& stats, AccessesUnderWay& under_way,
                    Time now) const;
  // To the driver, where it wants to know.
  void tell_use(std::uint64_t page, Access access, Cx& cx) const {
    if (cx.state().uses.watches()) tell_driver(page, access, cx);
  }
  void tell_driver(std::uint64_t page, Access access, Cx& cx) const;
  bool access(LsuItem const& item, Time at, std::uint32_t train, Leaving& leaving, Cx& cx) const;
  void acknowledge_invalidations(Cx& cx) const;
  std::uint32_t credits(PhysAddr address, SmState const& s) const;
  void send(LsuItem const& item, std::uint32_t tag, Time at, Leaving& leaving, Cx& cx) const;
  void depart(Leaving& leaving, Cx& cx) const;
  bool lsu_busy(SmState const& s) const {
    return s.position < s.current.size() || !s.translated.empty() || !s.faulted.again().empty();
  }

  ThreadBlocks::LeavesOn leaves_on_;
  ThreadBlocks::Context context_;
  unsigned line_bits_;
  Duration l1_tlb_latency_;
  Duration l1_cache_latency_;
};

// In the number of a request's tag: it moves a context.
inline constexpr std::uint32_t kContextNumber = 0xffff;

}  // namespace farfault
