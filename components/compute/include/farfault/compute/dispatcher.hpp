// Kernels on their way to SMs: the host launches them one after the other on all GPUs (the unified model of
// one kernel whose blocks are spread over several GPUs), and each GPU's dispatcher places its share of the
// blocks.
//
// A block goes to the next SM in turn that has room for its warps, threads, registers and shared memory; one
// block is dispatched per cycle. Which blocks are those of a GPU is the block order's affair
// (block_order.hpp). The next kernel is launched when all GPUs have reported the last one done.
//
// Where L2 caches are written back at the end of a kernel, it is done when all slices have done so. Other
// GPUs write into a GPU's slices too, so of several GPUs each reports its last block, then the host asks all
// of them for the write-back, and each reports again. A GPU alone asks its slices itself after its last
// block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/compute/block_order.hpp"
#include "farfault/compute/sm.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/protocols/workload.hpp"

namespace farfault {

struct HostParams {
  Duration launch_latency = 5400ns;
  Duration done_latency = 1us;
  PolicyChoice<BlockOrder> block_order{"contiguous"};
  void describe(ParamTable& t);
};

struct DispatcherSpec {
  SmParams sm;
  Clock clock{1'000'000'000};
  std::uint32_t gpu = 0;
  std::uint32_t gpus = 1;
  std::uint32_t sms = 1;
  std::uint32_t warp_width = 64;
  PolicyChoice<BlockOrder> block_order{"contiguous"};
  Workload const* workload = nullptr;
  std::uint32_t slices_to_write_back = 0;  // at the end of a kernel
};

struct SmUse {
  std::uint32_t warps = 0;
  std::uint32_t threads = 0;
  std::uint32_t blocks = 0;
  std::uint32_t registers = 0;
  std::uint64_t shared_bytes = 0;
};

struct DispatcherState {
  std::uint32_t kernel = 0;
  std::uint32_t next_sm = 0;
  std::uint64_t next = 0;   // of this GPU's blocks, counted from 0
  std::uint64_t share = 0;  // how many there are
  std::uint64_t running = 0;
  Time free_at{};
  std::vector<SmUse> use;
  std::uint64_t dispatched = 0;
  std::uint64_t slices_writing = 0;
  Policy<BlockOrder> block_order;
};

class Dispatcher final : public Component<DispatcherSpec, DispatcherState> {
 public:
  explicit Dispatcher(Slot<DispatcherSpec> slot);
  In<LaunchKernel> launch = in<&Dispatcher::on_launch>("launch");
  In<BlockDone> block_done = in<&Dispatcher::on_block_done>("block_done");
  Out<StartBlock> start = out<StartBlock>("start");
  Out<KernelDone> done = out<KernelDone>("done");
  // Where there are slices to write back.
  In<KernelEnd> kernel_end;
  In<Flushed> flushed;
  Out<Flush> flush;

  std::string_view kind() const override { return "dispatcher"; }
  std::string waiting_for() const override;
  DispatcherState initial() const override;
  std::span<Stat<DispatcherState> const> stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_launch(LaunchKernel const& m, Cx& cx) const;
  void on_block_done(BlockDone const& m, Cx& cx) const;
  void on_kernel_end(KernelEnd const& m, Cx& cx) const;
  void on_flushed(Flushed const& m, Cx& cx) const;

  // Whether a block of this shape fits on an empty SM; if not, what it lacks.
  static std::string why_not(KernelShape const& shape, SmParams const& sm, std::uint32_t warp_width);

 private:
  SmUse need(std::uint32_t kernel) const;
  void dispatch(Cx& cx) const;
};

struct KernelRecord {
  Time launched{};
  Time finished{};
};

struct HostState {
  std::uint32_t kernel = 0;
  std::uint32_t reported = 0;
  std::uint32_t writing_back = 0;  // all have reported the last block
  Time launched{};                 // the kernel that runs
  Time first_launch = Time::max();
  std::vector<KernelRecord> records;  // finished, and not in a table yet
  std::uint64_t in_table = 0;         // kernels that are
};

struct HostSpec {
  HostParams params;
  std::uint32_t gpus = 1;
  std::uint32_t kernels = 0;
  bool asks_for_write_back = false;  // at the end of a kernel
  Workload const* workload = nullptr;
};

class Host final : public Component<HostSpec, HostState> {
 public:
  explicit Host(Slot<HostSpec> slot);
  In<KernelDone> kernel_done = in<&Host::on_done>("kernel_done");
  Self<Tick> begin = timer<&Host::on_begin>("begin");
  Out<LaunchKernel> launch = out<LaunchKernel>("launch");
  Out<KernelEnd> kernel_end;  // where it asks for a write-back

  std::string_view kind() const override { return "host"; }
  std::string waiting_for() const override;
  HostState initial() const override;
  std::span<Stat<HostState> const> stats() const override;
  std::vector<TableInfo> tables() const override;

  void on_begin(Tick const& m, Cx& cx) const;
  void on_done(KernelDone const& m, Cx& cx) const;

 private:
  void take_rows(HostState& s, TableRows& rows) const override;
};

}  // namespace farfault
