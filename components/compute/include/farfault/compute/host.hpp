// SPDX-License-Identifier: Apache-2.0
// The program on the host: each application's operations, in streams (operation.hpp); applications beside
// each other. A kernel runs on all GPUs of its application (the unified model of one kernel whose blocks are
// spread over several GPUs); to copy, to allocate and to free is the driver's work.
//
// The streams of an application begin at its start. An operation begins when the one before it in its stream
// has ended: a kernel when all GPUs have reported its last block, any other when the driver has reported
// its end. When all streams have ended they begin again, as often as the application repeats.
//
// An application that is relaunched begins again after that too, until every application of the host has run
// as often as it repeats. From then on no operation begins; those that run are brought to their end.
//
// Where L2 caches are written back at the end of a kernel, it is done when all slices have done so. Other
// GPUs write into a GPU's slices too, so of several GPUs each reports its last block, then the host asks all
// GPUs it has for the write-back, and each reports again.
//
// A row of the table of kernels has what the kernel did on all its SMs: a column for each statistic of
// SmStats. Over all kernels that have ended, with none running, they add up to the statistics of the SMs.
// What runs at the end of a run that is stopped is in a table of its own.
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

// For the results, until they are in their tables.
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

// What a stream is at.
struct StreamRun {
  std::uint32_t next = 0;  // of its operations, the one that runs or has to wait
  std::uint32_t running = 0;
  std::uint32_t launch = 0;  // of the kernel that runs
  std::uint32_t reported = 0;
  std::uint32_t writing_back = 0;  // all have reported the last block
  std::uint32_t unused = 0;
  Time began{};  // the operation that runs
  Time ran{};    // the last block of the kernel that runs was done
};
// What an application is at.
struct ApplicationRun {
  std::uint32_t times = 0;          // that all its operations have ended
  std::uint32_t launches = 0;       // of kernels
  Time first_launch = Time::max();  // or order to the driver
  Time last_end{};
  RunRecord current{};  // the time that its operations run now
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
  std::vector<std::uint8_t> ended;  // by operation: has ended, this time
  std::vector<KernelRecord> records;
  KernelSums counts;
  std::vector<OrderRecord> orders;
  std::vector<RunRecord> ended_runs;  // where there is a table of them
  ByApplication<HostStats> stats;
};

struct HostSpec {
  HostParams params;
  std::uint32_t gpus = 1;
  Applications const* applications = nullptr;
  bool asks_for_write_back = false;  // at the end of a kernel
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
  Out<KernelEnd> kernel_end;  // where it asks for a write-back
  // Where an application copies, allocates or frees.
  Out<MemoryOrder> memory_order;
  In<MemoryOrderDone> order_done;

  std::string_view kind() const override { return "host"; }
  std::string waiting_for() const override;
  HostState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<TableInfo> tables() const override;
  void final_rows(TableRows& rows) const override;

  // Whether all operations of the application have ended, as often as it repeats.
  bool has_finished(std::uint32_t application) const {
    auto const& a = (*spec().applications)[application];
    return a.workload->operations().empty() || state().runs[application].times >= a.repeats;
  }
  // Whether an operation of it is under way, as it may be after that where it is relaunched.
  bool is_running(std::uint32_t application) const;

  void on_begin(StartApplication const& m, Cx& cx) const;
  void on_counts(KernelCounts const& m, Cx& cx) const;
  void on_done(KernelDone const& m, Cx& cx) const;
  void on_order_done(MemoryOrderDone const& m, Cx& cx) const;

 private:
  void take_rows(HostState& s, TableRows& rows) const override;
  bool rows_name_applications() const;
  bool has(bool (Operation::*is)() const) const;
  bool has_runs_table() const;
  TableInfo table_of_what_is_under_way() const;  // the last one
  std::string waiting_for(std::uint32_t stream) const;
  // Of a stream that has one: what it runs or has to wait for.
  Operation const& operation(std::uint32_t stream, HostState const& s) const;
  bool at_end(std::uint32_t stream, HostState const& s) const {
    return s.streams[stream].next == of_stream_[stream].size();
  }
  void begin_run(std::uint32_t application, Cx& cx) const;
  // When all its streams have ended: whether they begin again.
  bool end_run(std::uint32_t application, Cx& cx) const;
  // Lets all streams of the application get as far as they can.
  void continue_streams(std::uint32_t application, Cx& cx) const;
  // False where the stream has ended, or has to wait, or nothing begins any more.
  bool begin_next(std::uint32_t stream, Cx& cx) const;
  void launch_kernel(std::uint32_t stream, std::uint32_t kernel, Cx& cx) const;
  void end_operation(std::uint32_t stream, Cx& cx) const;

  std::vector<std::vector<std::uint32_t>> of_stream_;  // operations of its application
};

}  // namespace farfault
