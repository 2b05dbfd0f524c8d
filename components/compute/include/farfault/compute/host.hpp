// SPDX-License-Identifier: Apache-2.0
// The program on the host: runs each application's operations, in streams (operation.hpp); applications run
// concurrently. The model: docs/model/programs.md.
//
// - Kernels run on all GPUs of their application (unified model: one kernel whose blocks are spread over
//   several GPUs). Copies, allocations and frees are carried out by the driver.
// - Streams start with their application. An operation starts when the previous one in its stream has
//   completed: a kernel when all GPUs have reported its last block, any other when the driver has reported
//   its end.
// - Guarantee: over all completed kernels, with none running, the counts in the table of kernels add up to
//   the statistics of the SMs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "farfault/compute/block_order.hpp"
#include "farfault/compute/kernel_counts.hpp"
#include "farfault/compute/runs_table.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct HostParams {
  Duration launch_latency = 5400ns;
  Duration done_latency = 1us;
  PolicyChoice<BlockOrder> block_order{"contiguous"};
  void describe(ParamTable& t) {
    t.duration("launch_latency", launch_latency, {1ns, 1s},
               "Latency from a launch at the host to a GPU's first block, or from a copy, allocation or free "
               "at the host to the driver",
               "MGPUSim 4.2, MI300A: 5400 cycles for the first kernel, taken as ns; 1800 for later kernels, "
               "not modelled");
    t.duration("done_latency", done_latency, {1ns, 1s},
               "Latency from a GPU's last block, or the driver's completion, to the host. With L2 write-back "
               "on several GPUs, also of the write-back order and its acknowledgement",
               "assumed");
    block_order.describe(t, "block_order", "Distribution of a kernel's thread blocks over the GPUs",
                         "MGPUSim, driver: round_robin until March 2021, then runs of ceil(blocks / GPUs); "
                         "contiguous_per_sm in 4.2");
  }
};

// Records kept until they are written to their tables.
struct KernelRecord {
  std::uint32_t kernel = 0;
  std::uint32_t launch = 0;
  Time launched{};
  Time reached_gpus{};
  Time left_gpus{};
  Time finished{};
  SmStats counts{};  // of all its SMs
};
struct OrderRecord {
  std::uint32_t operation = 0;
  std::uint32_t application = 0;
  Time started{};
  Time finished{};
};

// The progress of a stream.
struct StreamRun {
  std::uint32_t next = 0;  // index of its running or waiting operation
  std::uint32_t running = 0;
  std::uint32_t launch = 0;  // of the running kernel
  std::uint32_t reported = 0;
  std::uint32_t writing_back = 0;  // all GPUs have reported the last block
  std::uint32_t unused = 0;
  Time began{};  // start of the running operation
  Time ran{};    // end of the running kernel's last block
};
// The progress of an application.
struct ApplicationRun {
  std::uint32_t times = 0;          // completed runs of all its operations
  std::uint32_t launches = 0;       // of kernels
  Time first_launch = Time::max();  // or first order to the driver
  Time last_end{};
  RunRecord current{};  // the current run
};

struct HostStats {
  std::uint64_t kernels = 0;
  std::uint64_t copies = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;

  static std::span<Stat<HostStats> const> list() {
    static constexpr auto all = std::to_array<Stat<HostStats>>({
        {"kernels", "count", "Kernels completed", StatKind::counter,
         [](HostStats const& s) { return s.kernels; }},
        {"copies", "count", "Copies between the host and the GPUs completed", StatKind::counter,
         [](HostStats const& s) { return s.copies; }},
        {"allocations", "count", "Buffers allocated", StatKind::counter,
         [](HostStats const& s) { return s.allocations; }},
        {"frees", "count", "Buffers freed", StatKind::counter, [](HostStats const& s) { return s.frees; }},
    });
    return all;
  }
};

struct HostState {
  std::uint32_t unfinished = 0;      // applications that have not yet run as often as they repeat
  std::vector<ApplicationRun> runs;  // by application
  std::vector<StreamRun> streams;
  std::vector<std::uint8_t> ended;  // by operation: completed in the current run
  std::vector<KernelRecord> records;
  KernelSums counts;
  std::vector<OrderRecord> orders;
  std::vector<RunRecord> ended_runs;  // if there is a table of runs
  ByApplication<HostStats> stats;
};

struct HostSpec {
  HostParams params;
  std::uint32_t gpus = 1;
  Applications const* applications = nullptr;
  bool asks_for_write_back = false;  // at the end of a kernel
  bool fetches = false;              // SMs fetch instructions
};

// For the host's timer.
struct StartApplication {
  std::uint32_t application;
};

class Host final : public Component<HostSpec, HostState> {
 public:
  explicit Host(Slot<HostSpec> slot);
  In<KernelCounts> counted = in<&Host::on_counts>("counted");  // before the kernels' ends
  In<KernelDone> kernel_done = in<&Host::on_done>("kernel_done");
  Self<StartApplication> begin = timer<&Host::on_begin>("begin");
  Out<LaunchKernel> launch = out<LaunchKernel>("launch");
  // Only with several GPUs whose L2 caches are written back at the end of a kernel. GPUs also write to slices
  // of other GPUs, so each reports its last block first; the host then requests the write-back from all its
  // GPUs, and each reports again.
  Out<KernelEnd> kernel_end;
  // If an application copies, allocates or frees.
  Out<MemoryOrder> memory_order;
  In<MemoryOrderDone> order_done;

  std::string_view kind() const override { return "host"; }
  std::string waiting_for() const override;
  HostState initial() const override;
  ApplicationStats application_stats() const override;
  // kernels: a row has the kernel's counts on all its SMs, a column per statistic of SmStats. Operations
  // running at the end of a stopped run are in a separate table.
  std::vector<TableInfo> tables() const override;
  void final_rows(TableRows& rows) const override;

  // True if all operations of the application have completed, as often as it repeats.
  bool has_finished(std::uint32_t application) const {
    auto const& a = (*spec().applications)[application];
    return a.workload->operations().empty() || state().runs[application].times >= a.repeats;
  }
  // True if an operation of it is running; a relaunched application may still run after has_finished().
  bool is_running(std::uint32_t application) const;

  void on_begin(StartApplication const& m, Cx& cx) const;
  void on_counts(KernelCounts const& m, Cx& cx) const;
  void on_done(KernelDone const& m, Cx& cx) const;
  void on_order_done(MemoryOrderDone const& m, Cx& cx) const;

 private:
  void take_rows(HostState& s, TableRows& rows) const override;
  bool has(bool (Operation::*is)() const) const;
  bool has_runs_table() const;
  TableInfo outstanding_table() const;  // the last one
  std::string waiting_for(std::uint32_t stream) const;
  // The running or waiting operation of a stream that has not ended.
  Operation const& operation(std::uint32_t stream, HostState const& s) const;
  bool at_end(std::uint32_t stream, HostState const& s) const {
    return s.streams[stream].next == of_stream_[stream].size();
  }
  void begin_run(std::uint32_t application, Cx& cx) const;
  // Called when all its streams have completed; true if they start again: as often as the application repeats
  // and, if it is relaunched, until every application of the host has run as often as it repeats. From then
  // on no operation starts.
  bool end_run(std::uint32_t application, Cx& cx) const;
  // Starts all operations of the application's streams that can start.
  void continue_streams(std::uint32_t application, Cx& cx) const;
  // False if the stream has completed, must wait, or no further operation may start.
  bool begin_next(std::uint32_t stream, Cx& cx) const;
  void launch_kernel(std::uint32_t stream, std::uint32_t kernel, Cx& cx) const;
  void end_operation(std::uint32_t stream, Cx& cx) const;

  std::vector<std::vector<std::uint32_t>> of_stream_;  // operations of its application
};
extern template class Component<HostSpec, HostState>;  // compiled in host.cpp

}  // namespace farfault
