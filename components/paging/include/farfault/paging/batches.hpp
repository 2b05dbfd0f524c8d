// SPDX-License-Identifier: Apache-2.0
// Batches of faults in the driver (batch_client.hpp): parameters, and the row of `/tables/fault_batches`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "farfault/engine/params.hpp"
#include "farfault/engine/policy.hpp"
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/eviction_schedule.hpp"
#include "farfault/paging/fault_replay.hpp"
#include "farfault/paging/prefetcher.hpp"
#include "farfault/paging/thrashing.hpp"
#include "farfault/protocols/facts.hpp"

namespace farfault {

// Evicted pages that were not written on the GPU since they arrived: transferred like others, or dropped,
// because the CPU's memory holds the same data.
enum class CleanPages : std::uint8_t { transferred, dropped };

// Pages whose lifetimes thread-block policies get. The lifetime of a page that arrived before the GPU's first
// eviction includes the time in which its memory filled.
enum class CountedLifetimes : std::uint8_t { all, after_first_eviction };

struct BatchParams {
  static constexpr std::string_view kOnePerGpu = "one_per_gpu";

  PolicyChoice<FaultReplay> replay{"each_fault"};
  std::string workers{kOnePerGpu};
  std::uint32_t faults = 256;
  Duration interrupt_time = 0ns;
  Duration time = 10us;
  Duration block_time = 5us;
  Duration page_time = 100ns;
  Duration prefetched_page_time = 100ns;
  Duration first_touch_time = 20us;
  Duration least_stay = 10us;
  std::uint32_t thrashing_moves = 3;
  Duration thrashing_lapse = 500us;
  Duration thrashing_stay = 500us;
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
    t.count_or_text(
        "workers", workers,
        "Batches of different GPUs that the driver serves side by side: from 1 to the number of GPUs of the "
        "driver, or \"one_per_gpu\"",
        "NVIDIA's driver (uvm_gpu_isr.c): a bottom-half queue per GPU, one_per_gpu");
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
    t.duration(
         "least_stay", least_stay, {0ns, 1s},
         "Minimum time on a GPU before a batch of another GPU may take the page, from its arrival or, "
         "with several workers, from the replay of the accesses that it was brought for. Below the time "
         "of an access, GPUs may take a page from each other forever. 0: none, with one worker only",
         "assumed: longer than a replayed access, shorter than a batch")
        .only_when(sibling("replay").is_not("page") || sibling("workers").is_not("1"));
    {
      auto const if_batches_overlap = t.only_when(sibling("workers").is_not("1"));
      auto const if_replayed_later = t.only_when(sibling("replay").is_not("page"));
      auto const if_not_copied = t.only_when(facts::kMovesWithoutCopies);
      t.count("thrashing_moves", thrashing_moves, {0, 1'000'000},
              "Moves of a page to another GPU, each within thrashing_lapse after the one before, after which "
              "it thrashes. 0: none does",
              "NVIDIA's driver (uvm_perf_thrashing.c): 3");
      auto const if_detected = t.only_when(sibling("thrashing_moves").is_above(0));
      t.duration("thrashing_lapse", thrashing_lapse, {1ns, 1s},
                 "Longest time between moves of a page that thrashes",
                 "NVIDIA's driver (uvm_perf_thrashing.c): 500 us");
      t.duration(
          "thrashing_stay", thrashing_stay, {1ns, 1s},
          "Time from its arrival for which a page that thrashes stays on its GPU: faults of other GPUs "
          "leave it there and are raised again",
          "NVIDIA's driver (uvm_perf_thrashing.c): 500 us");
    }
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
  ThrashingPages::Limits thrashing() const { return {thrashing_moves, thrashing_lapse, thrashing_stay}; }
  // Workers of a driver of `gpus` GPUs. None: invalid, too few or too many.
  std::optional<std::uint32_t> workers_of(std::uint32_t gpus) const;
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

}  // namespace farfault
