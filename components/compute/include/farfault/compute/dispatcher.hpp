// SPDX-License-Identifier: Apache-2.0
// A GPU's dispatcher: assigns the GPU's share of the blocks of each launched kernel to SMs.
//
// - SM: the next one in round-robin order, among the SMs of the block's application, with room for its warps,
//   threads, registers and shared memory. Rate: one block per cycle.
// - Share: the block order selects the blocks of a GPU (block_order.hpp).
// - Parts: with partitions, an application's SMs of each execute an equal contiguous part of its share.
// - Streams: streams with running kernels, of one or several applications, place blocks in round-robin order,
//   as long as one block fits.
// - Extra blocks: after all SMs have as many blocks as can issue, a block is assigned to an SM where
//   gpu.sm.thread_blocks accepts it (thread_blocks.hpp).
// - Counters: SMs report a kernel's counters with its last block on the SM; the sums go to the host with the
//   kernel's end (kernel_counts.hpp), and with several GPUs also into the table kernels_by_gpu.
// - Write-back of L2 caches at the end of a kernel (host.hpp): with one GPU, the dispatcher starts it after
//   the last block. With several, each dispatcher reports its last block to the host and starts the
//   write-back when it receives KernelEnd.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "farfault/compute/block_order.hpp"
#include "farfault/compute/kernel_counts.hpp"
#include "farfault/compute/kernel_tables.hpp"
#include "farfault/compute/sm.hpp"
#include "farfault/compute/sm_use.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct DispatcherSpec {
  SmParams sm;
  Clock clock{1'000'000'000};
  std::uint32_t gpu = 0;   // among its host's GPUs
  std::uint32_t gpus = 1;  // of the host
  std::uint32_t sms = 1;
  std::uint32_t warp_width = 64;
  PolicyChoice<BlockOrder> block_order{"contiguous"};
  std::uint32_t partitions = 1;  // of the SMs; each executes a part of the blocks. 1: any SM
  Applications const* applications = nullptr;
  std::uint32_t slices_to_write_back = 0;  // at the end of a kernel
  bool counts_evictions = false;           // the driver reports evictions
  bool may_stall = false;                  // the driver may stop all SMs
  bool notifies_balancer = false;          // of launches: the TLBs are balanced
  bool fetches = false;                    // SMs fetch instructions

  ThreadBlocks::Setup blocks_setup() const { return {clock, sms}; }
  bool controls_sms() const { return may_stall || sm.thread_blocks.facts().adapts; }
};

// The blocks of an SM.
struct SmBlocks {
  SmUse use{};
  std::uint64_t extra = 0;  // blocks of the SM beyond its issue limits
};

// The running kernel of a stream and its blocks on this GPU, which are numbered from 0.
struct KernelShare {
  std::uint32_t kernel = 0;
  std::uint32_t launch = 0;
  std::uint32_t slices_writing = 0;  // L2 slices that have not completed the write-back at the kernel's end
  std::uint32_t unused = 0;
  std::uint64_t next = 0;     // blocks dispatched; with one part, the next block to dispatch
  std::uint64_t count = 0;    // blocks of this GPU
  std::uint64_t running = 0;  // blocks on SMs
};

struct DispatcherStats {
  std::uint64_t dispatched = 0;

  static std::span<Stat<DispatcherStats> const> list() {
    static constexpr auto all = std::to_array<Stat<DispatcherStats>>({
        {"blocks_dispatched", "count", "Thread blocks dispatched", StatKind::counter,
         [](DispatcherStats const& s) { return s.dispatched; }},
    });
    return all;
  }
};

struct DispatcherState {
  std::vector<KernelShare> shares;          // by stream
  std::vector<std::uint64_t> next_of_part;  // next block to dispatch, by stream and part; empty with one part
  std::uint64_t turn = 0;                   // the stream that places the next block
  std::vector<std::uint32_t> next_sm;       // by application, among its SMs
  Time free_at{};
  std::vector<SmBlocks> sms;
  ByApplication<DispatcherStats> stats;
  PolicyArray<BlockOrder> block_orders;  // by stream
  KernelSums counts;
  std::vector<KernelOnGpu> records;  // until they are written to the table of kernels by GPU
  Policy<ThreadBlocks> thread_blocks;
  ThreadBlocks::Evictions evictions{};  // of the period
  Time period_ends = Time::max();       // max: no block runs
  std::uint64_t timer_rests = 0;        // the policy is steady, so no timer is set
  std::uint64_t all_run = 0;            // disabled SMs run as well, until the period ends
  std::uint64_t stalled = 0;            // by the driver

  static std::span<Stat<DispatcherState> const> list() {
    static constexpr auto all = std::to_array<Stat<DispatcherState>>({
        {"blocks_running", "count", "Thread blocks running", StatKind::level,
         [](DispatcherState const& s) {
           std::uint64_t running = 0;
           for (auto const& share : s.shares) running += share.running;
           return running;
         }},
    });
    return all;
  }
};

class Dispatcher final : public Component<DispatcherSpec, DispatcherState> {
 public:
  explicit Dispatcher(Slot<DispatcherSpec> slot);
  In<LaunchKernel> launch = in<&Dispatcher::on_launch>("launch");
  In<KernelCounts> counted = in<&Dispatcher::on_counts>("counted");  // before the blocks' ends
  In<BlockDone> block_done = in<&Dispatcher::on_block_done>("block_done");
  Out<StartBlock> start = out<StartBlock>("start");
  Out<KernelCounts> counts = out<KernelCounts>("counts");
  Out<KernelDone> done = out<KernelDone>("done");
  // If there are slices to write back.
  In<KernelEnd> kernel_end;
  In<Flushed> flushed;
  Out<Flush> flush;
  // If gpu.sm.thread_blocks has a period.
  In<PageLifetimes> lifetimes;
  Self<Tick> period_end;
  // If it does, or the driver may stop SMs.
  Out<BlockControl> control;
  In<GpuStall> stall;
  Out<Tick> launched;  // if the TLBs are balanced

  std::string_view kind() const override { return "dispatcher"; }
  std::string waiting_for() const override;
  DispatcherState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;
  std::vector<TableInfo> tables() const override;

  void on_launch(LaunchKernel const& m, Cx& cx) const;
  void on_counts(KernelCounts const& m, Cx& cx) const;
  void on_block_done(BlockDone const& m, Cx& cx) const;
  void on_kernel_end(KernelEnd const& m, Cx& cx) const;
  void on_flushed(Flushed const& m, Cx& cx) const;
  void on_lifetimes(PageLifetimes const& m, Cx& cx) const;
  void on_period_end(Tick const& m, Cx& cx) const;
  void on_stall(GpuStall const& m, Cx& cx) const;

  // The resource that a block of this shape lacks on an empty SM; empty if it fits.
  static std::string why_not(KernelShape const& shape, SmParams const& sm, std::uint32_t warp_width);

 private:
  void take_rows(DispatcherState& s, TableRows& rows) const override;
  bool has_table() const { return spec().gpus > 1; }
  SmUse need(std::uint32_t kernel) const {
    return SmUse::of(spec().applications->kernel(kernel).shape(), spec().warp_width);
  }
  BlockOrder::Share share_of(std::uint32_t stream, DispatcherState const& s) const;
  static constexpr std::uint32_t kEverySm = ~0U;
  // Dispatches all blocks that fit: on all SMs, or on the only one whose room may have grown since the last
  // call.
  void dispatch(Cx& cx, std::uint32_t only) const;
  // Places the next block of the stream's kernel; false if there is none, or no room for it.
  bool place(std::uint32_t stream, std::uint32_t only, Cx& cx) const;
  // Starts it on the next SM in round-robin order.
  void start_on_next(std::uint32_t stream, SmUse const& need, bool extra, Cx& cx) const;
  // The number of an SM among the SMs of the application, or of the first one after it.
  std::uint32_t number_of(std::uint32_t sm, std::uint32_t application) const;
  // True if the SM accepts one more block, which can issue immediately or is extra.
  bool takes(std::uint32_t sm, SmUse const& need, bool extra, DispatcherState const& s) const;
  std::uint32_t running_sms(DispatcherState const& s) const;
  // The part of the application's SM with this number.
  std::uint32_t part_of(std::uint32_t at, std::uint32_t application) const {
    return spec().partitions == 1 ? 0 : parts_[application].of_sm[at];
  }
  // First block of a part of a share of `count` blocks.
  std::uint64_t first_of_part(std::uint64_t part, std::uint64_t count, std::uint32_t application) const {
    return part * count / parts_[application].count;
  }
  // True if the stream has a block for the part.
  bool has_block(std::uint32_t stream, std::uint32_t part, std::uint32_t application,
                 DispatcherState const& s) const {
    return spec().partitions == 1 || s.next_of_part[std::size_t{stream} * spec().partitions + part] <
                                         first_of_part(part + 1, s.shares[stream].count, application);
  }
  std::uint64_t take_block(std::uint32_t stream, std::uint32_t part, DispatcherState& s) const {
    auto const dispatched = s.shares[stream].next++;
    return spec().partitions == 1 ? dispatched
                                  : s.next_of_part[std::size_t{stream} * spec().partitions + part]++;
  }
  // Sets a timer for the end of the period, after advancing over periods that ended without one.
  void set_period_timer(Cx& cx) const;
  // Enables all SMs until the period ends if only disabled SMs have blocks.
  void run_all_if_others_are_idle(Cx& cx) const;
  void control_sms(Cx& cx) const;
  // Called when the GPU has finished its blocks of the stream's kernel.
  void end_kernel(std::uint32_t stream, Cx& cx) const;
  // Reports the counts of the kernel since the last report, and returns them.
  SmStats notify_host(std::uint32_t kernel, Cx& cx) const;

  // By application: its SMs, and this GPU's number among its GPUs.
  std::vector<std::vector<std::uint32_t>> sms_;
  std::vector<std::uint32_t> number_;
  // By application: the number of partitions in which it has SMs, and the number of each SM's partition among
  // them.
  struct Parts {
    std::uint32_t count = 0;
    std::vector<std::uint32_t> of_sm;
  };
  std::vector<Parts> parts_;
  ThreadBlocks::Facts const thread_blocks_ = spec().sm.thread_blocks.facts();
};
extern template class Component<DispatcherSpec, DispatcherState>;  // compiled in dispatcher.cpp

}  // namespace farfault
