// SPDX-License-Identifier: Apache-2.0
// Specification and state of the driver's memory manager (paging_driver.hpp): parameters, its view of the
// machine, pages in flight, operations of programs, table rows, statistics.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/engine/by_application.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/paging/batches.hpp"
#include "farfault/paging/compaction.hpp"
#include "farfault/paging/fragmentation.hpp"
#include "farfault/paging/frame_allocator.hpp"
#include "farfault/paging/initial_memory.hpp"
#include "farfault/paging/node_devices.hpp"
#include "farfault/paging/page_copies.hpp"
#include "farfault/paging/page_directory.hpp"
#include "farfault/paging/page_sizes.hpp"
#include "farfault/paging/pages_in_ranges.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/device_names.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/page_table.hpp"

namespace farfault {

// Component that maps a page at its first touch.
enum class FirstTouchBy : std::uint8_t { driver, iommu };

struct DriverParams {
  Duration fault_latency = 1us;
  Duration notify_latency = 500ns;
  std::uint32_t faults_at_a_time = 1;
  std::uint32_t migrations = 16;
  Duration allocation_latency = 100ns;
  void describe(ParamTable& t) {
    t.duration("fault_latency", fault_latency, {1ns, 1s},
               "Driver time per fault: mapping a page at its first touch, or starting a migration",
               "assumed");
    t.count("faults_at_a_time", faults_at_a_time, {1, 65536},
            "Faults served concurrently, each for fault_latency. Other faults, allocations and frees wait in "
            "order",
            "1, because a driver's bottom half is one thread; Mosaic (MICRO 2017), section 3.2, gives the "
            "latency of a single fault");
    t.duration("notify_latency", notify_latency, {1ns, 1s},
               "Latency between the driver and the IOMMU or a copy engine, each way", "assumed");
    t.count("migrations", migrations, {1, 4096},
            "Maximum pages in flight: migrated, evicted, copied at first touch or by a program, allocated or "
            "freed",
            "assumed; MGPUSim 4.2: one");
    t.duration("allocation_latency", allocation_latency, {1ns, 1s},
               "Driver time per page that a program allocates or frees, base or large", "assumed");
  }
};

struct PagingDriverSpec {
  DriverParams params;
  BatchParams batch;
  bool in_batches = false;
  bool reports_lifetimes = false;  // reports page lifetimes to the dispatchers
  bool reports_uses = false;       // SMs and scalar caches report uses of pages
  std::uint32_t spaces = 1;        // address spaces
  // Unmapped pages that may be prefetched: pages of buffers.
  std::vector<PageRange> buffers;
  std::vector<std::uint32_t> iommu_of_gpu;  // IOMMU number, indexed by the driver's GPU number; batches only
  unsigned page_bits = 12;
  NodeDevices devices;                 // devices that it manages
  DeviceNames const* names = nullptr;  // must outlive the driver; null: kinds and numbers
  std::uint64_t frames_per_gpu = 0;
  PolicyChoice<FrameAllocator> frames{"on_demand"};
  std::vector<PlacedPage> const* placed = nullptr;  // at time zero, in allocation order
  PageTable const* preloaded = nullptr;
  std::uint32_t iommus = 1;
  std::uint32_t queue = 1024;  // maximum outstanding faults of all IOMMUs and GPUs together
  FirstTouchBy first_touch_by = FirstTouchBy::driver;
  bool first_touch_copy = false;
  std::vector<PageRange> host_written;  // pages whose contents the host wrote
  bool flush_moving_pages = false;      // L2 partitions kept coherent by software may hold lines of them
  std::uint64_t unmapped_pages = 0;     // unmapped pages of the workload at time zero
  bool maps_at_first_touch = false;     // some pages may be mapped at their first touch
  bool pages_move = false;              // pages may migrate; migrating pages are base pages
  bool makes_copies = false;            // GPUs that read a page get copies
  LargePages large{};
  PolicyChoice<PageSizes> page_sizes{"by_buffer"};
  bool coalesces = false;                // base pages are coalesced where possible (page_sizes.hpp)
  std::uint64_t coalesced_at_start = 0;  // large pages
  // Setup of the allocators, from here on; they allocate as the allocators of the initial memory did.
  unsigned large_size = 9;
  LargePages large_regions{};
  std::uint64_t frames_of_cpu = FrameAllocator::kUnbounded;
  // Moves within a GPU's memory: to free large frames, with the allocators' limit (frame_allocator.hpp), or
  // to coalesce.
  PolicyChoice<Compaction> compaction{"none"};
  std::uint64_t max_moved = 0;
  bool moves_to_coalesce = false;
  std::vector<std::uint8_t> application_of_space = {};
  bool stalls_gpus = false;  // stall the GPU's SMs during moves
  // Maximum delay of an earlier answer to an IOMMU behind an order to it.
  Duration response_delay{};
  Fragmentation fragmentation{};

  // Frames of a GPU without pre-fragmented data.
  std::uint64_t usable_frames() const { return frames_per_gpu - fragmentation.frames(gpu_memory()); }
  FrameAllocator::Setup gpu_memory() const {
    return {.frames = frames_per_gpu,
            .page_bits = page_bits,
            .spaces = spaces,
            .large_size = large_size,
            .large_regions = large_regions,
            .max_moved = max_moved};
  }
  std::vector<std::string> applications = {};  // applications whose faults and operations arrive here
  Applications const* programs = nullptr;      // likewise, for the page_placement table
  // GPU numbers of each application, ascending; empty: all applications on all GPUs.
  std::vector<std::vector<std::uint32_t>> gpus_of_application = {};
  // If programs copy, allocate or free: host pages, planned pages, and the application of each stream of all
  // programs.
  HostPages const* host_pages = nullptr;
  PlannedPages const* planned = nullptr;
  std::vector<std::uint32_t> application_of_stream = {};
  std::uint32_t line_bytes = 64;
};

// A page in flight: a migration, a first touch that fetches contents, or a page of a program's operation.
struct PageMigration {
  PageFault fault{};  // fault that started it
  PhysAddr from = 0;
  PhysAddr to = 0;
  Time started{};
  Time unmapped{};
  std::uint32_t unmapping = 0;  // outstanding acknowledgements of IOMMUs
  std::uint8_t in_use = 0;
  std::uint8_t first_touch = 0;
  std::uint8_t flushed = 0;  // flushed, or being flushed
  std::uint8_t size = 0;
  std::uint8_t of_program = 0;  // part of a program's operation
  OperationKind kind = OperationKind::kernel;
  // Role in a batch: page `index`, which migrates in, or a page of eviction unit `index`. Otherwise a page of
  // GPU `index` that is moved within its memory and then mapped there.
  enum class Role : std::uint8_t { none, incoming, evicted, relocated, remapped };
  Role role = Role::none;
  // For a page that keeps its frame: a copy of it is made, or all of its copies are dropped, after which it
  // may migrate.
  enum class Change : std::uint8_t { none, copy, collapse };
  Change change = Change::none;
  std::uint32_t stream = 0;  // stream of the operation
  std::uint32_t index = 0;
  std::uint32_t unused_2 = 0;

  bool copies(std::uint64_t page) const { return first_of(page, size) == first_of(fault.page, size); }
};

// A copy, allocation or free of a program. Addresses from `next` on have not been started.
struct ProgramOrder {
  VirtAddr next = 0;
  VirtAddr end = 0;             // 0: no operation
  std::uint32_t in_flight = 0;  // pages in flight
  OperationKind kind = OperationKind::kernel;
  std::uint8_t unused[3] = {};
};

// Pages moved together within a GPU's memory.
struct Relocation {
  std::vector<FrameAllocator::Move> moves;  // not started from `next` on
  std::uint64_t next = 0;
  std::uint64_t left = 0;  // not completed; 0: no relocation in progress
  std::uint64_t moved = 0;
  std::uint64_t application = 0;  // application that needs the frame
  std::uint64_t coalesces = 0;    // purpose: coalescing; otherwise compaction
  std::uint64_t stalls = 0;       // stalls the GPU's SMs
  Time began{};
  Time memory_free{};  // end of the last copy within the memory
  auto members() {
    return std::tie(moves, next, left, moved, application, coalesces, stalls, began, memory_free);
  }
};

// Row of a table, until it is written: pages moved within a GPU's memory.
struct RelocationRecord {
  Time began{};
  Time ended{};
  std::uint64_t gpu = 0;
  std::uint64_t pages = 0;
  std::uint64_t application = 0;
  std::uint64_t coalesces = 0;
};

// Likewise: a migrated page.
struct MigrationRecord {
  std::uint64_t page = 0;
  PhysAddr from = 0;
  PhysAddr to = 0;
  Time started{};
  Time unmapped{};
  Time finished{};
  std::uint64_t application = 0;
};

// Likewise: a page mapped at its first touch.
struct FirstTouchRecord {
  std::uint64_t page = 0;
  PhysAddr frame = 0;
  Time mapped{};
  std::uint32_t gpu = 0;  // GPU that touched it
  std::uint16_t size = 0;
  std::uint16_t application = 0;  // application that touched it
};

// Likewise: base pages coalesced into a large page, or a large page splintered.
struct PageSizeRecord {
  std::uint64_t page = 0;  // first base page
  Time at{};
  std::uint64_t coalesced = 0;  // 1: coalesced; 0: splintered
};

// Attributed to the application whose request raised the fault, or whose stream issued the operation.
struct PagingDriverStats {
  std::uint64_t page_faults = 0;
  std::uint64_t pages_mapped = 0;
  std::uint64_t pages_spilled = 0;
  std::uint64_t migrations = 0;
  std::uint64_t migration_ps = 0;  // from start to new mapping; sum
  std::uint64_t migrations_refused = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t unallocated_faults = 0;
  std::uint64_t allocated_pages = 0;
  std::uint64_t freed_pages = 0;
  std::uint64_t prefetched_pages = 0;
  std::uint64_t evicted_pages = 0;

  static std::span<Stat<PagingDriverStats> const> list() {
    using S = PagingDriverStats const&;
    static constexpr auto all = std::to_array<Stat<PagingDriverStats>>({
        {"page_faults", "count", "Page faults handled", StatKind::counter, [](S s) { return s.page_faults; }},
        {"pages_mapped", "count", "Pages mapped at first touch. A large page counts once", StatKind::counter,
         [](S s) { return s.pages_mapped; }},
        {"pages_spilled", "count",
         "Pages mapped at first touch, or allocated, on another device because the intended memory was full",
         StatKind::counter, [](S s) { return s.pages_spilled; }},
        {"migrations", "count", "Pages migrated to a GPU", StatKind::counter,
         [](S s) { return s.migrations; }},
        {"migration_time", "ps",
         "Time from the start of a migration to the new mapping, summed over migrations", StatKind::counter,
         [](S s) { return s.migration_ps; }},
        {"migrations_refused", "count",
         "Migrations and copies refused because the destination GPU's memory was full", StatKind::counter,
         [](S s) { return s.migrations_refused; }},
        {"copied_bytes", "bytes", "Bytes copied between host memory and GPUs by programs", StatKind::counter,
         [](S s) { return s.copied_bytes; }},
        {"unallocated_faults", "count",
         "Page faults on memory that a program has not allocated yet or has freed", StatKind::counter,
         [](S s) { return s.unallocated_faults; }},
        {"allocated_pages", "count", "Base pages allocated by programs", StatKind::counter,
         [](S s) { return s.allocated_pages; }},
        {"freed_pages", "count", "Base pages freed by programs", StatKind::counter,
         [](S s) { return s.freed_pages; }},
        Stat<PagingDriverStats>{"prefetched_pages", "count", "Pages prefetched by batches", StatKind::counter,
                                [](S s) { return s.prefetched_pages; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverStats>{"evicted_pages", "count", "Pages evicted from a full GPU", StatKind::counter,
                                [](S s) { return s.evicted_pages; }}
            .only_when<&PagingDriverSpec::in_batches>(),
    });
    return all;
  }
};

struct PagingDriverState {
  PageTable table;
  PolicyArray<FrameAllocator> frames;  // indexed by the driver's GPU number
  Policy<FrameAllocator> cpu_frames;
  std::vector<Time> free_at;         // indexed by concurrent fault: end of the driver's work on it
  std::vector<PageMigration> moves;  // indexed by number
  std::vector<std::uint32_t> free_moves;
  Ring<PageFault> waiting;  // faults that wait for a page in flight, or for others to complete
  std::vector<MigrationRecord> records;
  std::vector<FirstTouchRecord> first_touches;
  std::vector<PageSizeRecord> size_changes;
  std::vector<ProgramOrder> orders;  // indexed by stream
  std::uint64_t order_turn = 0;      // stream that starts the next page
  ByApplication<PagingDriverStats> stats;
  BatchState batch;
  PageCopies copies;
  PageDirectory remote_readers;  // GPUs that read a page with copies remotely
  Policy<PageSizes> page_sizes;
  Policy<Compaction> compaction;
  std::vector<Relocation> relocations;     // indexed by GPU
  std::vector<std::uint64_t> to_coalesce;  // first base pages of large pages that wait to be coalesced
  std::vector<RelocationRecord> relocation_records;
  std::uint64_t busy_ps = 0;    // completed batches
  std::uint64_t worked_ps = 0;  // other faults, including unfinished work
  // Updated by Component::settle: time of the current batch so far, and work that is not finished.
  std::uint64_t batch_ps = 0;
  std::uint64_t ahead_ps = 0;

  std::uint64_t busy_time() const {
    return busy_ps + batch_ps + (worked_ps - ahead_ps) / std::max<std::uint64_t>(free_at.size(), 1);
  }

  static std::span<Stat<PagingDriverState> const> list() {
    using S = PagingDriverState const&;
    static constexpr auto all = std::to_array<Stat<PagingDriverState>>({
        {"active_migrations", "count",
         "Pages in flight: migrated, evicted, copied at first touch or by a program, allocated or freed",
         StatKind::level, [](S s) { return s.moves.size() - s.free_moves.size(); }},
        {"busy_time", "ps",
         "Driver busy time: duration of batches, plus driver time of other faults, allocations and frees "
         "divided by driver.faults_at_a_time",
         StatKind::counter, [](S s) { return s.busy_time(); }},
        Stat<PagingDriverState>{"batches", "count", "Fault batches served", StatKind::counter,
                                [](S s) { return s.batch.counts.batches; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{"raw_faults", "count", "Fault-buffer entries read by batches",
                                StatKind::counter, [](S s) { return s.batch.counts.raw_faults; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{
            "duplicate_faults", "count",
            "Fault-buffer entries for pages already in the batch or already resident on the GPU",
            StatKind::counter, [](S s) { return s.batch.counts.duplicates; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{"premature_evictions", "count",
                                "Faulted pages that had been evicted from the GPU before", StatKind::counter,
                                [](S s) { return s.batch.counts.premature_evictions; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{"page_lifetime", "ps",
                                "Time from a page's arrival on a GPU to its eviction, summed over evictions",
                                StatKind::counter, [](S s) { return s.batch.counts.lifetime_ps; }}
            .only_when<&PagingDriverSpec::in_batches>(),
    });
    return all;
  }
};

}  // namespace farfault
