// SPDX-License-Identifier: Apache-2.0
// Batches of faults in the driver (paging_driver.hpp): parameters, pages that migrate in, evicted units, and
// the row of `/tables/fault_batches`.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "farfault/engine/params.hpp"
#include "farfault/engine/policy.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/eviction_schedule.hpp"
#include "farfault/paging/fault_batch.hpp"
#include "farfault/paging/fault_replay.hpp"
#include "farfault/paging/page_records.hpp"
#include "farfault/paging/prefetcher.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/facts.hpp"

namespace farfault {

// Evicted pages that were not written on the GPU since they arrived: transferred like others, or dropped,
// because the CPU's memory holds the same data.
enum class CleanPages : std::uint8_t { transferred, dropped };

// Pages whose lifetimes thread-block policies get. The lifetime of a page that arrived before the GPU's first
// eviction includes the time in which its memory filled.
enum class CountedLifetimes : std::uint8_t { all, after_first_eviction };

struct BatchParams {
  PolicyChoice<FaultReplay> replay{"each_fault"};
  std::uint32_t faults = 256;
  Duration interrupt_time = 0ns;
  Duration time = 10us;
  Duration block_time = 5us;
  Duration page_time = 100ns;
  Duration prefetched_page_time = 100ns;
  Duration first_touch_time = 20us;
  Duration least_stay = 10us;
  PolicyChoice<Prefetcher> prefetch{"tree"};
  PolicyChoice<EvictionOrder> eviction_order{"aged_lru"};
  PolicyChoice<EvictionSchedule> eviction_schedule{"serialized"};
  ByteSize eviction_unit{std::uint64_t{2} << 20};
  CleanPages clean_pages = CleanPages::transferred;
  CountedLifetimes lifetimes = CountedLifetimes::all;
  void describe(ParamTable& t) {
    replay.describe(t, "replay", "Fault batching and replay policy",
                    "assumed: each fault served on arrival; NVIDIA's driver: batch_flush");
    auto const if_batches = t.only_when(facts::kBatches);
    t.count("faults", faults, {1, 65536}, "Maximum fault-buffer entries per batch",
            "NVIDIA's driver (uvm_gpu_replayable_faults.c): 256");
    t.duration("interrupt_time", interrupt_time, {0ns, 1s},
               "Time from a GPU's interrupt at an idle driver to the read of its fault buffer. 0: none",
               "assumed");
    t.duration(
        "time", time, {1ns, 1s},
        "Driver time from the start of a batch to work on its first VA block (reading and sorting faults)",
        "assumed");
    t.duration("block_time", block_time, {0ns, 1s},
               "Driver time per VA block (2 MiB of virtual addresses) of a batch. 0: none", "assumed");
    t.duration("page_time", page_time, {0ns, 1s}, "Driver time per faulted page of a batch. 0: none",
               "assumed");
    t.duration("prefetched_page_time", prefetched_page_time, {0ns, 1s},
               "Driver time per prefetched page of a batch. 0: none", "assumed: same as for a faulted page")
        .only_when(sibling("prefetch").is_not("none"));
    t.duration("first_touch_time", first_touch_time, {0ns, 1s},
               "Additional driver time the first time a GPU's batch serves a VA block (CPU unmapping, DMA "
               "mapping). 0: none",
               "assumed; Allen and Ge, SC 2021, name both as the larger part of a batch");
    t.duration("least_stay", least_stay, {0ns, 1s},
               "Minimum time on a GPU before a batch of another GPU may take the page. 0: none",
               "assumed: longer than a replayed access, shorter than a batch")
        .only_when(sibling("replay").is_not("page"));
    prefetch.describe(t, "prefetch", "Prefetcher within a VA block (2 MiB)",
                      "NVIDIA's driver (uvm_perf_prefetch.c): tree");
    eviction_order.describe(t, "eviction_order", "Eviction policy of a full GPU",
                            "NVIDIA's driver (uvm_pmm_gpu.c): aged_lru");
    eviction_schedule.describe(t, "eviction_schedule", "Eviction schedule within a batch",
                               "Batch-aware unified memory (ASPLOS 2020), Fig. 4: serialized");
    t.bytes("eviction_unit", eviction_unit, {ByteSize{4096}, ByteSize{std::uint64_t{2} << 20}},
            "Aligned virtual bytes evicted together. Must be a power of two",
            "NVIDIA's driver (uvm_pmm_gpu.c): root chunks of 2 MiB");
    t.choice("clean_pages", clean_pages,
             {{"transferred", CleanPages::transferred, "transferred to the CPU"},
              {"dropped", CleanPages::dropped, "dropped without a transfer"}},
             "Handling of clean evicted pages, whose data CPU memory holds",
             "Batch-aware unified memory (ASPLOS 2020), section 3, and NVIDIA's driver: transferred");
    t.choice("lifetimes", lifetimes,
             {{"all", CountedLifetimes::all, "all"},
              {"after_first_eviction", CountedLifetimes::after_first_eviction,
               "pages that arrived after their GPU's first eviction"}},
             "Evicted pages whose lifetimes gpu.sm.thread_blocks gets",
             "assumed; Batch-aware unified memory (ASPLOS 2020), section 4.1: \"an indicator of premature "
             "evictions\"")
        .only_when(facts::kAdaptiveBlocks);
  }
  bool in_batches() const { return replay.facts().in_batches; }
};

// A page that a batch migrates to its GPU.
struct IncomingPage {
  enum class Stage : std::uint8_t { planned, unmapping, ready, transferring, mapping, mapped };
  std::uint64_t page = 0;
  Time worked{};            // end of the driver's work on its block
  std::uint32_t block = 0;  // block number in the batch
  Stage stage = Stage::planned;
  std::uint8_t application = 0;
  std::uint8_t faulted = 0;   // otherwise prefetched
  std::uint8_t mapped = 0;    // mapped on some device when it starts
  std::uint8_t writes = 0;    // one of its faults is a write
  std::uint8_t copies = 0;    // the page keeps its frame, and a copy is made
  std::uint8_t is_local = 0;  // the page or a copy is already in the destination frame: no transfer
  std::uint8_t unused[5] = {};
};

// An eviction unit, from its selection until its last frame is free.
struct EvictedUnit {
  std::uint64_t unit = 0;
  std::uint32_t pages = 0;      // pages that still hold a frame
  std::uint32_t unmapping = 0;  // pages that some TLB may still map
};

// Record of a page that a batch has migrated or evicted.
struct PagedPage {
  Time arrived{};          // arrival at its latest GPU
  std::uint32_t move = 0;  // number among the pages in flight, plus one
  std::uint32_t unused = 0;
};
// Record of the page on one GPU.
struct PageResidency {
  Time arrived{};
  std::uint32_t evictions = 0;
  std::uint8_t dirty = 0;  // differs from the CPU memory's latest data
  std::uint8_t application = 0;
  std::uint8_t unused[2] = {};
};
struct ServedBlock {
  std::uint64_t served = 0;  // 1: a page of it has arrived
};

// Row of a table, until it is written.
struct BatchRecord {
  Time first_fault{};
  Time began{};
  Time first_transfer = Time::max();  // max: none
  Time ended{};
  std::uint64_t raw_faults = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t faulted_pages = 0;  // that migrated
  std::uint64_t prefetched_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t dropped_pages = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t clients = 0;
  std::uint64_t blocks = 0;
  std::uint64_t gpu = 0;
};

struct BatchCounts {
  std::uint64_t batches = 0;
  std::uint64_t raw_faults = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t premature_evictions = 0;
  std::uint64_t lifetime_ps = 0;
};

struct BatchedGpu {
  std::uint64_t replay_pending = 0;
  Time first_eviction = Time::max();  // max: none
};

// interrupted: an interrupt has arrived and the bottom half will run; reading: fault-buffer entries are in
// transit; serving: pages migrate.
enum class BatchPhase : std::uint64_t { idle, interrupted, reading, serving };

struct BatchState {
  BatchPhase phase = BatchPhase::idle;
  Ring<std::uint32_t> interrupts;     // GPUs whose buffers are to be read, by the driver's own numbers
  std::uint64_t gpu = 0;              // GPU whose buffer is read or whose batch is served
  std::uint64_t expected = kUnknown;  // entries to expect from its buffer
  FaultBatch faults;
  Time worked{};  // end of the driver's work; interrupted: start of the bottom half
  Time work_timer = Time::max();
  std::vector<IncomingPage> pages;        // in migration order
  std::vector<std::uint32_t> block_left;  // indexed by block: pages not yet mapped
  std::uint64_t begun = 0;                // pages with a number among the pages in flight
  std::uint64_t sent = 0;                 // of these, pages with a frame
  std::uint64_t mapped_pages = 0;         // pages that are mapped
  std::uint64_t in_place = 0;             // pages not sent that need no frame
  std::uint64_t transferring = 0;         // pages with a frame, not mapped yet
  std::uint64_t in = 0;                   // transfers to the GPU in flight
  std::uint64_t out = 0;                  // units being transferred
  std::uint64_t unmapping = 0;            // units being unmapped
  std::vector<EvictedUnit> evicting;      // indexed by number
  std::vector<std::uint32_t> free_evicting;
  Ring<std::uint32_t> unmapped;
  Policy<Prefetcher> prefetch;
  Policy<EvictionSchedule> schedule;
  PolicyArray<EvictionOrder> orders;  // indexed by GPU
  PageRecords<PagedPage> of_page;
  std::vector<PageRecords<PageResidency>> residency;    // indexed by GPU
  std::vector<PageRecords<ServedBlock>> served_blocks;  // indexed by GPU, then by the block's first page
  std::vector<BatchedGpu> gpus;
  BatchRecord record;
  std::vector<BatchRecord> records;
  BatchCounts counts;
  PageLifetimes lifetimes{};  // of the batch's GPU, since the last report

  static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace farfault
