// SPDX-License-Identifier: Apache-2.0
// The driver's memory manager: the placement of every page, the mapping of a page at its first touch, and the
// migration of a page to a GPU that accesses it on another device (page migration, GMMU Bypass, section 2.2).
// Each machine of a cluster has one, which knows its own devices; or all have one (memory_scope.hpp).
//
// At its first touch a page gets a frame of the GPU that touched it or, when that GPU's memory is full, of
// the next one of the application's GPUs that has one, then of the next GPU of all, and of the CPU last. Its
// contents are assumed to be there, or, with `first_touch_copy`, the GPU's copy engine fetches what the host
// wrote from the CPU's memory before the page is mapped. The driver spends `fault_latency` on it, one fault
// at a time; or none, where the IOMMU maps the page itself
// (`FirstTouchBy::iommu`). Then too the choice of frames is the driver's, so that all IOMMUs agree: that of
// the first CPU asks it within one cycle in each direction, those of others over `notify_latency`. A fault on
// a page that was mapped for another fault in the meantime takes no time of the driver, only its turn. A
// large page is mapped whole, for one fault, where the GPU has a large frame and no part of the page is
// mapped yet; else the base page alone.
//
// A page that migrates, for which the driver spends `fault_latency` as well,
//   1. is unmapped at every IOMMU, which invalidates all translations to its old frame, waits until no access
//      that used one is outstanding, and answers requests for the page that it is faulted;
//      where software keeps the partitions of an L2 cache coherent, the slices of the old GPU then write back
//      and drop its lines (`flush_moving_pages`), after the last write of whatever GPU;
//   2. is fetched into a new frame by the copy engine of the destination GPU;
//   3. is mapped there, at every IOMMU, and the old frame is released.
// Up to `migrations` pages are copied at a time, further ones wait in order; a fault on a page that is being
// copied, or was when an IOMMU was asked for it, is answered with its new frame. A GPU whose memory is full
// gets no further pages: it accesses them remotely.
//
// Where reads make copies (memory.remote_touch = duplicate): a page that a GPU reads on another device stays
// there, and is copied to a frame of that GPU, once it is unmapped everywhere; page and copy can be read from
// then on. Further GPUs get copies without that. When a GPU writes the page, page and copies are unmapped
// everywhere, the copies are dropped, and the page is mapped on that GPU, where its copy was or where it is
// copied to. A GPU that had no room for a copy reads the page where it is until then. In batches a GPU whose
// memory is full drops copies like pages that leave, without a transfer, and a page of which others have
// copies leaves by one of these being the page; what is prefetched comes as a copy.
//
// What a program orders (operation.hpp) is done page by page. A copy is the work of the copy engine of the
// GPU that has the page, from or to the CPU's frame where the host has its contents. Pages in a CPU's memory
// and those that nothing maps are passed over. A page that is allocated gets a frame of the device for which
// it is planned or, when its memory is full, as at a first touch, and is mapped at every IOMMU and at the
// GPU; a page that is freed is invalidated everywhere, as one that migrates, and its frame released. The
// driver spends `allocation_latency` on each. Pages that are mapped already, or not planned, are not
// allocated, and those that nothing maps not freed. A fault on a page that is planned and not allocated is
// answered that it is nowhere: nobody waits for it (a look-up of the IOMMU that the GMMU has overtaken), or a
// program accesses what it has not allocated, and will not end. Where all memory is full an allocation waits
// until something is freed. Streams that order at once take turns, page by page; all pages under way, for
// whatever reason, share `migrations`, and no two things happen to a page at once.
//
// In batches (fault_replay.hpp): a GPU's GMMU interrupts the driver at the first entry of its fault buffer;
// an idle driver runs `batch.interrupt_time` later; the driver reads the entries (up to `batch.faults`),
// merges those of one page, and works on the blocks of 2 MiB that they lie in, in the order of addresses:
// `batch.time` after the begin on the first, and on each `block_time`, `page_time` for each faulted page,
// `prefetched_page_time` for each other page that comes, and `first_touch_time` at the block's first. When
// it is done with a block, its pages come, in order: each when no IOMMU and no GPU maps it any more, it has
// a frame on the GPU, and the copy engine takes it (copies overlap there). A page that has no contents comes
// at once. What comes beside the faulted pages, what leaves when the memory is full, and when, are policies
// (prefetcher.hpp, eviction_order.hpp, eviction_schedule.hpp). Once all faulted pages of a batch have a
// frame no unit leaves in which a page of the batch is; a prefetched page that finds no room then does not
// come. A unit that leaves is unmapped everywhere, its pages are copied to the CPU's memory by the GPU's
// copy engine, whether or not they were written, and mapped there; or, with `batch.clean_pages` = dropped,
// those that the CPU's memory has as they are are mapped there at once. When all pages of a batch are mapped
// and all units have left it has ended, and the buffers are read again, those of other GPUs that have
// interrupted first, unless this one's accesses are replayed when its buffer is empty; a buffer that is
// empty then interrupts with its next entry. One batch is served at a time. Faults on pages that have come
// meanwhile are duplicates. Pages that programs allocate do not leave. Source: Batch-aware unified memory
// (ASPLOS 2020), sections 2.2 and 3; NVIDIA's driver.
//
// Within a GPU's memory pages are moved for two reasons. A page comes that would begin a large frame, and
// none is free: where the compaction and the frame allocator can empty one (compaction.hpp), the page waits
// until its pages have moved to other frames. Or all base pages of a large page are on the GPU, and are moved
// to a large frame to be coalesced (page_sizes.hpp), one large page after the other. Each page is unmapped,
// copied and mapped as one that migrates, data of nobody just copied; with `stalls_gpus` no SM of the GPU
// issues from the begin to the end of it. What has left its frame, or is under way for another reason, when
// its turn comes, stays out of it. Mosaic (MICRO 2017), sections 4.4 and 5.
#pragma once

#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

class PagingDriver final : public Component<PagingDriverSpec, PagingDriverState> {
 public:
  explicit PagingDriver(Slot<PagingDriverSpec> slot);
  In<PageFault> fault = in<&PagingDriver::on_fault>("fault");
  In<StepDone> step_done = in<&PagingDriver::on_step_done>("step_done");
  In<CopyDone> copied = in<&PagingDriver::on_copied>("copied");
  Out<PageMapped> mapped = out<PageMapped>("mapped");
  Out<PageMapped> placed = out<PageMapped>("placed");  // to the first IOMMU, about a first touch
  Out<PageMove> move = out<PageMove>("move");
  Out<CopyOrder> copy = out<CopyOrder>("copy");
  // Where programs copy, allocate or free.
  In<MemoryOrder> memory_order;
  Out<MemoryOrderDone> order_done;
  // In batches.
  In<PageUse> used;
  Self<Tick> worked;
  Out<FaultOrder> fault_order;
  Out<PageLifetimes> lifetimes;  // by GPU
  // Where pages are moved within a GPU's memory.
  Self<CopyDone> copied_within;
  Out<GpuStall> stall;  // by GPU

  std::string_view kind() const override { return "driver"; }
  std::string waiting_for() const override;
  PagingDriverState initial() const override;
  std::span<Stat<PagingDriverState> const> stats() const override;
  ApplicationStats application_stats() const override;
  std::vector<TableInfo> tables() const override;
  void final_rows(TableRows& rows) const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_fault(PageFault const& m, Cx& cx) const;
  void on_step_done(StepDone const& m, Cx& cx) const;
  void on_copied(CopyDone const& m, Cx& cx) const;
  void on_memory_order(MemoryOrder const& m, Cx& cx) const;
  void on_worked(Tick const& m, Cx& cx) const;
  void on_used(PageUse const& m, Cx& cx) const;

 private:
  void take_rows(PagingDriverState& s, TableRows& rows) const override;
  bool settle(PagingDriverState& s, Time at) const override;
  // A frame for a page of this size, or for the base page, where there is no large frame.
  PageTranslation take(std::uint64_t page, unsigned size, DeviceId device, PagingDriverState& s) const;
  // The same on `wanted` or, where its memory is full, on another device, and counted as spilled. Some device
  // must have a frame.
  PageTranslation take_near(std::uint64_t page, unsigned size, DeviceId wanted, std::uint32_t application,
                            PagingDriverState& s) const;
  bool runs_on(std::uint32_t application, std::uint32_t gpu) const;
  void release(PageTranslation const& page, PagingDriverState& s) const;
  FrameAllocator& pool(DeviceId device, PagingDriverState& s) const;
  // False when the fault has to wait.
  bool handle(PageFault const& m, bool may_move, Cx& cx) const;
  std::uint32_t page_bytes() const { return std::uint32_t{1} << spec().page_bits; }
  bool rows_name_applications() const { return spec().applications.size() > 1; }
  PagingDriverStats& counts_of_stream(std::uint32_t stream, PagingDriverState& s) const {
    return s.stats[spec().application_of_stream[stream]];
  }
  // Of a page that nothing maps: it is planned, so a program has not allocated it yet, or has freed it.
  bool is_unallocated(std::uint64_t page) const;
  bool host_wrote(std::uint64_t page) const;
  bool is_copied(std::uint64_t page, PagingDriverState const& s) const;
  // Of a page that is to be mapped: large only where no part of it is mapped, or copied to be mapped.
  unsigned size_for(std::uint64_t page, PagingDriverState const& s) const;
  static bool all_full(PagingDriverState const& s);
  // False when it has to wait.
  bool touch_first(PageFault const& m, Cx& cx) const;
  // Returns its number among the pages under way.
  std::uint32_t start_move(PageFault const& m, PhysAddr from, Cx& cx) const;
  // To the copy engine of `engine`, for what is under way as `tag`.
  void order_copy(DeviceId engine, PhysAddr from, PhysAddr to, std::uint32_t bytes, std::uint32_t tag,
                  std::uint8_t application, Duration extra, Cx& cx) const;
  void end_move(PageMigration const& done, std::uint32_t number, Cx& cx) const;
  void answer(PageFault const& m, PageTranslation const& to, Duration extra, Cx& cx) const;
  void map_first(PageFault const& m, PageTranslation const& to, Duration extra, Cx& cx) const;
  void end_page(std::uint32_t number, Cx& cx) const;
  // Pages of which reads make copies (paging_driver_copies.cpp).
  void answer_shared(PageFault const& m, PageTranslation const& home, Duration extra, Cx& cx) const;
  bool share(PageFault const& m, PageTranslation const& home, bool may_move, Cx& cx) const;
  void start_copy(PageFault const& m, PhysAddr home, bool shared, Cx& cx) const;
  void end_copy(PageMigration const& done, std::uint32_t number, Cx& cx) const;
  void start_collapse(PageFault const& m, PhysAddr home, Cx& cx) const;
  // Whether the GPU has the page or a copy, and whether it may access that so; an answer that says where it
  // is.
  bool is_on(std::uint64_t page, DeviceId gpu, PagingDriverState const& s) const;
  bool may_access(std::uint64_t page, Access access, DeviceId gpu, PagingDriverState const& s) const;
  void answer_here(PageFault const& m, Cx& cx) const;
  void drop_copies(std::uint32_t number, Cx& cx) const;
  void copy_lands(std::uint32_t number, Cx& cx) const;
  bool passes_to_copy(std::uint32_t number, PagingDriverState& s) const;
  void collapse(std::uint32_t number, Cx& cx) const;
  // In the driver's own table, where base pages on a GPU are coalesced as in the tables of IOMMUs and GPUs. A
  // page that is to leave its frame stays there until it is mapped anew; but where base pages are coalesced
  // nothing maps it meanwhile, and a large page around it is splintered.
  void map_page(std::uint64_t page, PageTranslation const& to, Cx& cx) const;
  void unmap_page(std::uint64_t page, Cx& cx) const;
  // Pages that are moved within a GPU's memory (paging_driver_relocations.cpp): whether the page waits for a
  // large frame of the device, which begins to be emptied; then as far as it gets.
  bool relocates() const { return spec().most_moved != 0 || spec().moves_to_coalesce; }
  static bool is_relocating(std::uint64_t gpu, PagingDriverState const& s) {
    return gpu < s.relocations.size() && s.relocations[gpu].left != 0;
  }
  bool is_moved_within(std::uint64_t page, DeviceId device, PagingDriverState const& s) const;
  bool awaits_large_frame(std::uint64_t page, DeviceId device, std::uint32_t application, Cx& cx) const;
  void continue_relocations(Cx& cx) const;
  // True when the large page need not wait any more.
  bool begin_coalescing(std::uint64_t page, Cx& cx) const;
  void begin_relocation(std::uint32_t gpu, bool coalesces, std::uint32_t application, Cx& cx) const;
  void begin_move_within(std::uint32_t gpu, FrameAllocator::Move const& m, Cx& cx) const;
  void copy_within(std::uint32_t number, Cx& cx) const;
  void end_move_within(PageMigration const& done, Cx& cx) const;
  void end_relocation(std::uint32_t gpu, Cx& cx) const;
  // What programs order: as far as it gets; then one page of a stream, false where there is none left or it
  // has to wait.
  enum class OrderTurn : std::uint8_t { began, passed_over, waits };
  static bool is_copy(OperationKind k) { return Operation{k}.is_copy(); }
  void continue_orders(Cx& cx) const;
  bool begin_next_page(std::uint32_t stream, Cx& cx) const;
  std::uint32_t begin_page(std::uint64_t page, unsigned size, std::uint32_t stream, Cx& cx) const;
  void pass_over(std::uint64_t last_page, ProgramOrder& order) const;
  OrderTurn copy_page(std::uint64_t page, std::uint32_t stream, Cx& cx) const;
  OrderTurn allocate_page(std::uint64_t page, std::uint32_t stream, Cx& cx) const;
  OrderTurn free_page(std::uint64_t page, std::uint32_t stream, Cx& cx) const;
  void end_allocation(PageMigration const& done, Cx& cx) const;
  void tell_iommus(std::uint32_t number, MoveStep step, Duration after, Cx& cx) const;

  // Batches: which is read and served next; then as far as it gets (paging_driver_batches.cpp).
  BatchState initial_batches() const;
  TableInfo table_of_batches() const;
  TableInfo table_of_relocations() const;
  static TableInfo table_of_placement();
  void take_batches(PagingDriverState& s, std::uint32_t table, TableRows& rows) const;
  std::string waiting_batch() const;
  void on_note(PageFault const& m, Cx& cx) const;
  void next_batch(Cx& cx) const;
  void read_buffer(std::uint64_t gpu, Cx& cx) const;
  void order(std::uint32_t gpu, FaultOrder const& m, Cx& cx) const;
  void order_replay(FaultReplay::Moment moment, Cx& cx) const;
  void begin_batch(Cx& cx) const;
  void plan_block(std::span<FaultBatch::Entry const> faults, Cx& cx) const;
  void serve(Cx& cx) const;
  void begin_pages(Cx& cx) const;
  Duration rest_of_stay(std::uint64_t page, PhysAddr frame, PagingDriverState const& s, Time now) const;
  bool send_pages(Cx& cx) const;
  void page_lands(std::uint32_t number, Cx& cx) const;
  void page_is_there(std::uint32_t number, Cx& cx) const;
  void end_batch(Cx& cx) const;
  void tell_lifetimes(Cx& cx) const;
  PageFault fault_of(ComingPage const& page, PagingDriverState const& s) const;
  static bool all_pages_are_there(BatchState const& b);
  DeviceId batch_gpu(PagingDriverState const& s) const {
    return spec().devices.gpu(static_cast<std::uint32_t>(s.batch.gpu));
  }
  // Whether a batch can bring the page to its GPU: it is elsewhere and moves, or it is nowhere and may be.
  bool may_come(std::uint64_t page, Access access, PagingDriverState const& s) const;
  // The same for one that has not faulted: from the CPU's memory, or of a buffer.
  bool may_be_prefetched(std::uint64_t page, PagingDriverState const& s) const;
  bool is_under_way(std::uint64_t page, PagingDriverState const& s) const;
  static bool is_mapping(PageMigration const& moving, PagingDriverState const& s) {
    return s.batch.pages[moving.index].stage == ComingPage::Stage::mapping;
  }
  std::uint32_t take_number(std::uint64_t page, PagingDriverState& s) const;
  void free_number(std::uint32_t number, PagingDriverState& s) const;
  unsigned block_size() const { return spec().page_bits >= kBlockBits ? 0 : kBlockBits - spec().page_bits; }
  // Units that leave (paging_driver_evictions.cpp).
  EvictionSchedule::Moment moment(PagingDriverState const& s, Time now) const;
  bool evict(Cx& cx) const;
  std::uint64_t begin_unit(Cx& cx) const;
  bool forgo_prefetched(Cx& cx) const;
  bool send_units(Cx& cx) const;
  std::uint64_t pages_for_cpu(std::uint32_t index, PagingDriverState const& s) const;
  void page_is_unmapped(std::uint32_t number, Cx& cx) const;
  void page_has_left(std::uint32_t number, Cx& cx) const;
  void resident(std::uint64_t page, DeviceId device, PagingDriverState& s) const;
  void not_resident(std::uint64_t page, DeviceId device, PagingDriverState& s) const;
  unsigned unit_size() const;
  std::uint64_t unit_of(std::uint64_t page) const { return first_of(page, unit_size()); }
  // The time from now until the driver has had its turn and spent this time.
  Duration busy(Duration takes, Cx& cx) const;
  // The time from now until the driver has had its turn for a fault of this kind and spent the time it takes.
  Duration work(FaultKind kind, Duration takes, Cx& cx) const;
};

}  // namespace farfault
