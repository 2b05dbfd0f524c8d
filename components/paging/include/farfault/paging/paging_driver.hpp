// SPDX-License-Identifier: Apache-2.0
// Memory manager of the driver. A cluster has one per machine, or one for all (memory_scope.hpp).
//
// - Parts: the change of a page is a transition, a list of steps (page_transition.hpp), which one executor
//   takes (transition_executor.hpp) for its clients (*_client.hpp). This component forwards messages. Models:
//   docs/model/paging.md.
// - Guarantees: the driver selects all frames, so that all IOMMUs agree. A frame is released only after every
//   IOMMU has acknowledged that no access can reach it. A page takes part in one transition at a time;
//   clients that want it wait until the transition has ended. Then, in this order: waiting faults, the oldest
//   first; moves within a GPU's memory; operations of programs; for each worker, its batch's pages and
//   evictions; counted pages.
// - Limits: driver.migrations pages in flight for any reason, further ones wait in order;
//   driver.faults_at_a_time faults, or driver.batch.workers batches, served concurrently.
// - Without batches, a GPU whose memory is full receives no pages and accesses them remotely.
// - Driver time: driver.fault_latency per first touch or migration, driver.allocation_latency per allocated
//   or freed page; in batches the driver.batch.*_time parameters.
#pragma once

#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/paging/driver_spec.hpp"
#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

class PagingDriver final : public Component<PagingDriverSpec, PagingDriverState> {
 public:
  explicit PagingDriver(Slot<PagingDriverSpec> slot);
  DriverFacts const& facts() const { return facts_; }

  In<Packet> fault = in<&PagingDriver::on_packet>("fault");  // faults, and other messages of GPUs
  In<StepDone> step_done = in<&PagingDriver::on_step_done>("step_done");
  In<CopyDone> copied = in<&PagingDriver::on_copied>("copied");
  Out<PageMapped> mapped = out<PageMapped>("mapped");
  Out<PageMapped> placed = out<PageMapped>("placed");  // to the first IOMMU: response to a first touch
  Out<PageMove> move = out<PageMove>("move");
  Out<CopyOrder> copy = out<CopyOrder>("copy");
  // Only if programs copy, allocate or free.
  In<MemoryOrder> memory_order;
  Out<MemoryOrderDone> order_done;
  // Only with batches.
  In<PageUse> used;
  Self<Tick> worked;
  Out<Packet> to_gpus;  // indexed by IOMMU: through the port of its CPU; also if accesses are counted
  Out<PageLifetimes> lifetimes;  // indexed by GPU
  // Only if pages are moved within a GPU's memory.
  Self<CopyDone> relocated_page_copied;
  Out<GpuStall> stall;  // indexed by GPU
  // Only if accesses are counted.
  Self<Tick> counters_due;

  std::string_view kind() const override { return "driver"; }
  std::string waiting_for() const override;
  PagingDriverState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<TableInfo> tables() const override { return PagingRecords::tables(spec()); }
  void final_rows(TableRows& rows) const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_packet(Packet const& p, Cx& cx) const;
  void on_step_done(StepDone const& m, Cx& cx) const;
  void on_copied(CopyDone const& m, Cx& cx) const;
  void on_memory_order(MemoryOrder const& m, Cx& cx) const;
  void on_worked(Tick const& m, Cx& cx) const;
  void on_used(PageUse const& m, Cx& cx) const;
  void on_counters_due(Tick const& m, Cx& cx) const;

 private:
  void take_rows(PagingDriverState& s, TableRows& rows) const override {
    s.records.take_rows(spec(), s.memory, rows);
  }
  bool settle(PagingDriverState& s, Time at) const override;

  DriverFacts const facts_{spec()};
};
extern template class Component<PagingDriverSpec, PagingDriverState>;  // compiled in paging_driver.cpp

}  // namespace farfault
