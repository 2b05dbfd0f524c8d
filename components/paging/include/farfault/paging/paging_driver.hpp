// SPDX-License-Identifier: Apache-2.0
// Memory manager of the driver: page placement, first touch, migration, read-only copies, batches of faults,
// eviction, moves within a GPU's memory. A cluster has one per machine, or one for all (memory_scope.hpp).
//
// - Models: first touch and migration (GMMU Bypass, NPC 2020, section 2.2), read-only copies, batches and
//   evictions (Batch-aware unified memory, ASPLOS 2020, sections 2.2 and 3; NVIDIA's driver), compaction and
//   coalescing (Mosaic, MICRO 2017, sections 4.4 and 5), operations of programs. Details: paging_driver*.cpp.
// - Guarantees: the driver selects all frames, so that all IOMMUs agree. A frame is released only after
//   every IOMMU has acknowledged that no access can reach it. A page takes part in one operation at a time.
// - Limits: driver.migrations pages in flight for any reason, further ones wait in order;
//   driver.faults_at_a_time faults served concurrently; one batch at a time.
// - Without batches, a GPU whose memory is full receives no pages and accesses them remotely.
// - Driver time: driver.fault_latency per first touch or migration, driver.allocation_latency per allocated
//   or freed page; in batches the driver.batch.*_time parameters.
#pragma once

#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

class PagingDriver final : public Component<PagingDriverSpec, PagingDriverState> {
 public:
  explicit PagingDriver(Slot<PagingDriverSpec> slot);
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
  Out<Packet> to_gpus;  // through the port of its CPU
  Out<PageLifetimes> lifetimes;  // indexed by GPU
  // Only if pages are moved within a GPU's memory.
  Self<CopyDone> relocated_page_copied;
  Out<GpuStall> stall;  // indexed by GPU

  std::string_view kind() const override { return "driver"; }
  std::string waiting_for() const override;
  PagingDriverState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<TableInfo> tables() const override;
  void final_rows(TableRows& rows) const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_packet(Packet const& p, Cx& cx) const;
  void on_fault(PageFault const& m, Cx& cx) const;
  void on_step_done(StepDone const& m, Cx& cx) const;
  void on_copied(CopyDone const& m, Cx& cx) const;
  void on_memory_order(MemoryOrder const& m, Cx& cx) const;
  void on_worked(Tick const& m, Cx& cx) const;
  void on_used(PageUse const& m, Cx& cx) const;

 private:
  void take_rows(PagingDriverState& s, TableRows& rows) const override;
  bool settle(PagingDriverState& s, Time at) const override;
  // A frame for a page of this size, or for the base page if no large frame is free.
  PageTranslation take(std::uint64_t page, unsigned size, DeviceId device, PagingDriverState& s) const;
  // As take(), on `wanted` or, if its memory is full, on another device, counted as spilled. Some device must
  // have a free frame.
  PageTranslation allocate_near(std::uint64_t page, unsigned size, DeviceId wanted, std::uint32_t application,
                                PagingDriverState& s) const;
  bool runs_on(std::uint32_t application, std::uint32_t gpu) const;
  void release(PageTranslation const& page, PagingDriverState& s) const;
  FrameAllocator& pool(DeviceId device, PagingDriverState& s) const;
  // False: the fault must wait.
  bool handle(PageFault const& m, bool may_move, Cx& cx) const;
  std::uint32_t page_bytes() const { return std::uint32_t{1} << spec().page_bits; }
  bool rows_name_applications() const { return spec().applications.size() > 1; }
  PagingDriverStats& counts_of_stream(std::uint32_t stream, PagingDriverState& s) const {
    return s.stats[spec().application_of_stream[stream]];
  }
  // For an unmapped page: it is planned, so a program has not allocated it yet or has freed it.
  bool is_unallocated(std::uint64_t page) const;
  bool host_wrote(std::uint64_t page) const;
  bool is_copied(std::uint64_t page, PagingDriverState const& s) const;
  // Size of a page to be mapped: large only if no part of it is mapped or being copied.
  unsigned size_for(std::uint64_t page, PagingDriverState const& s) const;
  static bool all_full(PagingDriverState const& s);
  // False: the fault must wait.
  bool touch_first(PageFault const& m, Cx& cx) const;
  // Returns its number among the pages in flight.
  std::uint32_t start_move(PageFault const& m, PhysAddr from, Cx& cx) const;
  // Orders a copy from the copy engine of `engine` for the page in flight numbered `tag`.
  void order_copy(DeviceId engine, PhysAddr from, PhysAddr to, std::uint32_t bytes, std::uint32_t tag,
                  std::uint8_t application, Duration extra, Cx& cx) const;
  void end_move(PageMigration const& done, std::uint32_t number, Cx& cx) const;
  void respond(PageFault const& m, PageTranslation const& to, Duration extra, Cx& cx) const;
  void map_first(PageFault const& m, PageTranslation const& to, Duration extra, Cx& cx) const;
  void end_page(std::uint32_t number, Cx& cx) const;
  // Read-only copies (paging_driver_copies.cpp).
  void respond_shared(PageFault const& m, PageTranslation const& home, Duration extra, Cx& cx) const;
  bool share(PageFault const& m, PageTranslation const& home, bool may_move, Cx& cx) const;
  void start_copy(PageFault const& m, PhysAddr home, bool shared, Cx& cx) const;
  void end_copy(PageMigration const& done, std::uint32_t number, Cx& cx) const;
  void start_collapse(PageFault const& m, PhysAddr home, Cx& cx) const;
  // is_on(): the GPU holds the page or a copy. may_access(): this also permits the access. respond_local():
  // answers with its frame.
  bool is_on(std::uint64_t page, DeviceId gpu, PagingDriverState const& s) const;
  bool may_access(std::uint64_t page, Access access, DeviceId gpu, PagingDriverState const& s) const;
  void respond_local(PageFault const& m, Cx& cx) const;
  void drop_copies(std::uint32_t number, Cx& cx) const;
  void copy_transferred(std::uint32_t number, Cx& cx) const;
  bool passes_to_copy(std::uint32_t number, PagingDriverState& s) const;
  void collapse(std::uint32_t number, Cx& cx) const;
  // The driver's own page table, which coalesces base pages on a GPU as the tables of IOMMUs and GPUs do. A
  // page that is being moved keeps its entry until it is mapped again. If base pages are coalesced, it is
  // unmapped meanwhile, and the large page around it is splintered.
  void map_page(std::uint64_t page, PageTranslation const& to, Cx& cx) const;
  void unmap_page(std::uint64_t page, Cx& cx) const;
  // Moves within a GPU's memory (paging_driver_relocations.cpp). awaits_large_frame(): whether the page waits
  // for a large frame of the device, which starts to be emptied. continue_relocations(): starts as many moves
  // as possible.
  bool relocates() const { return spec().max_moved != 0 || spec().moves_to_coalesce; }
  static bool is_relocating(std::uint64_t gpu, PagingDriverState const& s) {
    return gpu < s.relocations.size() && s.relocations[gpu].left != 0;
  }
  bool is_relocated(std::uint64_t page, DeviceId device, PagingDriverState const& s) const;
  bool awaits_large_frame(std::uint64_t page, DeviceId device, std::uint32_t application, Cx& cx) const;
  void continue_relocations(Cx& cx) const;
  // True: the large page no longer waits.
  bool begin_coalescing(std::uint64_t page, Cx& cx) const;
  void begin_relocation(std::uint32_t gpu, bool coalesces, std::uint32_t application, Cx& cx) const;
  void begin_relocated_page(std::uint32_t gpu, FrameAllocator::Move const& m, Cx& cx) const;
  void copy_relocated_page(std::uint32_t number, Cx& cx) const;
  void end_relocated_page(PageMigration const& done, Cx& cx) const;
  void end_relocation(std::uint32_t gpu, Cx& cx) const;
  // Operations of programs. continue_orders(): starts as many pages as possible. begin_next_page(): starts
  // one page of a stream; false if none is left or it must wait.
  enum class StartResult : std::uint8_t { started, skipped, stalled };
  static bool is_copy(OperationKind k) { return Operation{k}.is_copy(); }
  void continue_orders(Cx& cx) const;
  bool begin_next_page(std::uint32_t stream, Cx& cx) const;
  std::uint32_t begin_page(std::uint64_t page, unsigned size, std::uint32_t stream, Cx& cx) const;
  void skip(std::uint64_t last_page, ProgramOrder& order) const;
  StartResult copy_page(std::uint64_t page, std::uint32_t stream, Cx& cx) const;
  StartResult allocate_page(std::uint64_t page, std::uint32_t stream, Cx& cx) const;
  StartResult free_page(std::uint64_t page, std::uint32_t stream, Cx& cx) const;
  void end_allocation(PageMigration const& done, Cx& cx) const;
  void notify_iommus(std::uint32_t number, MoveStep step, Duration after, Cx& cx) const;

  // Batches (paging_driver_batches.cpp): selection of the next batch, then its progress.
  BatchState initial_batches() const;
  TableInfo table_of_batches() const;
  TableInfo table_of_relocations() const;
  static TableInfo table_of_placement();
  void take_batches(PagingDriverState& s, std::uint32_t table, TableRows& rows) const;
  std::string waiting_batch() const;
  void on_interrupt(FaultInterrupt const& m, Cx& cx) const;
  void on_entry(FaultEntry const& m, Cx& cx) const;
  void on_drained(FaultsDrained const& m, Cx& cx) const;
  void next_batch(Cx& cx) const;
  void read_buffer(std::uint64_t gpu, Cx& cx) const;
  void order(std::uint32_t gpu, FaultOrder const& m, Cx& cx) const;
  void order_replay(FaultReplay::Point point, Cx& cx) const;
  void begin_batch(Cx& cx) const;
  void plan_block(std::span<FaultBatch::Entry const> faults, Cx& cx) const;
  void serve(Cx& cx) const;
  void begin_pages(Cx& cx) const;
  Duration remaining_residency(std::uint64_t page, PhysAddr frame, PagingDriverState const& s,
                               Time now) const;
  bool send_pages(Cx& cx) const;
  void page_transferred(std::uint32_t number, Cx& cx) const;
  void page_mapped(std::uint32_t number, Cx& cx) const;
  void end_batch(Cx& cx) const;
  void report_lifetimes(Cx& cx) const;
  PageFault fault_of(IncomingPage const& page, PagingDriverState const& s) const;
  static bool all_pages_mapped(BatchState const& b);
  DeviceId batch_gpu(PagingDriverState const& s) const {
    return spec().devices.gpu(static_cast<std::uint32_t>(s.batch.gpu));
  }
  // The batch can bring the page to its GPU: a page that is elsewhere and may migrate, or an unmapped
  // page that may be mapped.
  bool may_migrate_in(std::uint64_t page, Access access, PagingDriverState const& s) const;
  // The same for a page without a fault: it must be in CPU memory or in a buffer.
  bool may_be_prefetched(std::uint64_t page, PagingDriverState const& s) const;
  bool is_in_flight(std::uint64_t page, PagingDriverState const& s) const;
  static bool is_mapping(PageMigration const& moving, PagingDriverState const& s) {
    return s.batch.pages[moving.index].stage == IncomingPage::Stage::mapping;
  }
  std::uint32_t take_number(std::uint64_t page, PagingDriverState& s) const;
  void free_number(std::uint32_t number, PagingDriverState& s) const;
  unsigned block_size() const { return spec().page_bits >= kBlockBits ? 0 : kBlockBits - spec().page_bits; }
  // Evictions (paging_driver_evictions.cpp).
  EvictionSchedule::Snapshot snapshot(PagingDriverState const& s, Time now) const;
  bool evict(Cx& cx) const;
  std::uint64_t begin_unit(Cx& cx) const;
  bool drop_prefetched(Cx& cx) const;
  bool send_units(Cx& cx) const;
  std::uint64_t pages_for_cpu(std::uint32_t index, PagingDriverState const& s) const;
  void page_unmapped(std::uint32_t number, Cx& cx) const;
  void page_evicted(std::uint32_t number, Cx& cx) const;
  void resident(std::uint64_t page, DeviceId device, PagingDriverState& s) const;
  void not_resident(std::uint64_t page, DeviceId device, PagingDriverState& s) const;
  unsigned unit_size() const;
  std::uint64_t unit_of(std::uint64_t page) const { return first_of(page, unit_size()); }
  // Queueing time for the driver plus `takes`, which is added to the driver's work.
  Duration busy(Duration takes, Cx& cx) const;
  // The same for a fault of this kind; zero for first touches that the IOMMU maps.
  Duration work(FaultKind kind, Duration takes, Cx& cx) const;
};
extern template class Component<PagingDriverSpec, PagingDriverState>;  // compiled in paging_driver.cpp

}  // namespace farfault
