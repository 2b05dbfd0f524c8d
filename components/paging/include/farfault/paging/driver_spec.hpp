// SPDX-License-Identifier: Apache-2.0
// Specification of the driver's memory manager (paging_driver.hpp): its parameters, its view of the machine,
// and the facts of its policies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/engine/params.hpp"
#include "farfault/engine/policy.hpp"
#include "farfault/paging/batches.hpp"
#include "farfault/paging/compaction.hpp"
#include "farfault/paging/counter_service.hpp"
#include "farfault/paging/fragmentation.hpp"
#include "farfault/paging/frame_allocator.hpp"
#include "farfault/paging/initial_memory.hpp"
#include "farfault/paging/node_devices.hpp"
#include "farfault/paging/page_decision.hpp"
#include "farfault/paging/page_sizes.hpp"
#include "farfault/paging/pages_in_ranges.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/counter_regions.hpp"
#include "farfault/protocols/device_names.hpp"
#include "farfault/protocols/facts.hpp"
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
    t.duration(
         "fault_latency", fault_latency, {1ns, 1s},
         "Driver time per fault: mapping a page at its first touch or remotely, or starting a migration",
         "assumed")
        .only_when(facts::kReplays)
        .only_when(Condition(facts::kEachFault).else_use("driver.batch.time"));
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
  std::uint32_t batch_workers = 1;  // BatchParams::workers_of() these GPUs
  bool reports_lifetimes = false;   // reports page lifetimes to the dispatchers
  bool reports_uses = false;        // SMs and scalar caches report uses of pages
  std::uint32_t spaces = 1;         // address spaces
  // Pages of each buffer of all applications. Batches may prefetch them.
  std::vector<PageRange> buffers;
  // IOMMU number, indexed by the driver's GPU number; only with batches or counted accesses.
  std::vector<std::uint32_t> iommu_of_gpu;
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
  bool gpus_end_walks = false;          // tables of GPUs have remote mappings (translation/fault_path.hpp)
  bool decides_alone = false;           // no request for a page reaches an IOMMU
  std::vector<PageRange> host_written;  // pages whose contents the host wrote
  bool flush_moving_pages = false;      // L2 partitions kept coherent by software may hold lines of them
  std::uint64_t unmapped_pages = 0;     // unmapped pages of the workload at time zero
  bool maps_at_first_touch = false;     // some pages may be mapped at their first touch
  // decide_by() selects it, and states its facts.
  PolicyChoice<PageDecision> decision{"remote_access"};
  bool pages_move = false;       // pages may migrate
  bool makes_copies = false;     // GPUs that read a page get copies
  bool counts_accesses = false;  // it decides at counted accesses
  CounterServiceParams counters;
  CounterRegions counter_regions{};
  std::uint32_t notifications = 4096;  // entries of a GPU's notification buffer
  LargePages large{};
  PolicyChoice<PageSizes> page_sizes{"by_buffer"};
  bool coalesces = false;                // base pages are coalesced where possible (page_sizes.hpp)
  std::uint64_t coalesced_at_start = 0;  // large pages
  // Setup of the allocators, from here on; they allocate as the allocators of the initial memory did.
  unsigned large_size = 9;
  LargePages large_regions{};
  MemoryParts parts{};  // of a GPU's memory, in blocks of frames
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

  void decide_by(PolicyChoice<PageDecision> const& policy) {
    decision = policy;
    pages_move = policy.facts().moves_pages;
    makes_copies = pages_move && policy.facts().makes_copies;
    counts_accesses = policy.facts().events.has(PageEventKind::counted);
  }
  // Frames of a GPU without pre-fragmented data.
  std::uint64_t usable_frames() const { return frames_per_gpu - fragmentation.frames(gpu_memory()); }
  FrameAllocator::Setup gpu_memory() const {
    return {.frames = frames_per_gpu,
            .page_bits = page_bits,
            .spaces = spaces,
            .large_size = large_size,
            .large_regions = large_regions,
            .parts = parts,
            .buffers = buffers,
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

  std::uint32_t page_bytes() const { return std::uint32_t{1} << page_bits; }
  std::uint32_t page_bytes(unsigned size) const { return page_bytes() << size; }
  std::uint8_t application_of(std::uint64_t page) const {
    auto const space = space_of_page(page, page_bits);
    return space < application_of_space.size() ? application_of_space[space] : std::uint8_t{0};
  }
  // Driver time per page that moves or is copied because of counted accesses.
  Duration counted_page_time() const { return in_batches ? batch.page_time : params.fault_latency; }
  // Pages are moved within a GPU's memory.
  bool relocates() const { return max_moved != 0 || moves_to_coalesce; }
  // Several workers serve batches.
  bool serves_side_by_side() const { return in_batches && batch_workers > 1; }
  // Batches of several GPUs may take pages from each other at the same time.
  bool batches_compete() const {
    return serves_side_by_side() && pages_move && decision.facts().events.has(PageEventKind::fault);
  }
  // Until accesses to them are replayed (replay_stays.hpp). With replay by page, they are at their arrival.
  bool pages_stay_for_replay() const { return batches_compete() && !batch.replay.facts().by_page; }
  // NVIDIA's driver resets its record of pages that it copies.
  bool detects_thrashing() const { return pages_stay_for_replay() && !makes_copies; }
  bool names_applications() const { return applications.size() > 1; }
};

// Facts of the policies of a specification, which the parts of the driver need for each message.
struct DriverFacts {
  explicit DriverFacts(PagingDriverSpec const& spec)
      : replay(spec.batch.replay.facts()),
        eviction_schedule(spec.batch.eviction_schedule.facts()),
        compaction(spec.compaction.facts()),
        decision(spec.decision.facts()) {}

  FaultReplay::Facts replay;
  EvictionSchedule::Facts eviction_schedule;
  Compaction::Facts compaction;
  PageDecision::Facts decision;
};

}  // namespace farfault
