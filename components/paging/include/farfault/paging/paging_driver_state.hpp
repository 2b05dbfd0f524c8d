// SPDX-License-Identifier: Apache-2.0
// State of the driver's memory manager (paging_driver.hpp): its parts, and statistics.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "farfault/engine/by_application.hpp"
#include "farfault/paging/batch_client.hpp"
#include "farfault/paging/counter_client.hpp"
#include "farfault/paging/driver_memory.hpp"
#include "farfault/paging/driver_turn.hpp"
#include "farfault/paging/driver_work.hpp"
#include "farfault/paging/eviction_client.hpp"
#include "farfault/paging/fault_client.hpp"
#include "farfault/paging/paging_records.hpp"
#include "farfault/paging/program_client.hpp"
#include "farfault/paging/relocation_client.hpp"
#include "farfault/paging/transition_executor.hpp"

namespace farfault {

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

  void migrated(Duration took) {
    ++migrations;
    migration_ps += static_cast<std::uint64_t>(picoseconds(took));
  }

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

// Not attributed to applications; only with batches.
struct PagingCounts {
  std::uint64_t batches = 0;
  std::uint64_t raw_faults = 0;
  std::uint64_t duplicates = 0;

  void add(BatchRecord const& served) {
    ++batches;
    raw_faults += served.raw_faults;
    duplicates += served.duplicates;
  }
};

// At most 15 leaves: a part counts as one, a plain struct as its members
// (tests/components/paging_state_test.cpp).
struct PagingDriverState {
  DriverMemory memory;
  TransitionExecutor transitions;
  FaultClient faults;
  ProgramClient programs;
  RelocationClient relocations;
  BatchClient batch;         // only with batches
  EvictionClient evictions;  // likewise
  CounterClient counters;    // only if accesses are counted
  DriverWork work;
  PagingRecords records;
  PagingCounts counts;
  ByApplication<PagingDriverStats> stats;

  static std::span<Stat<PagingDriverState> const> list() {
    using S = PagingDriverState const&;
    static constexpr auto all = std::to_array<Stat<PagingDriverState>>({
        {"active_migrations", "count",
         "Pages in flight: migrated, evicted, copied at first touch or by a program, allocated or freed",
         StatKind::level, [](S s) { return s.transitions.in_flight(); }},
        {"busy_time", "ps",
         "Driver busy time: duration of batches, plus driver time of other faults, allocations and frees "
         "divided by driver.faults_at_a_time",
         StatKind::counter, [](S s) { return s.work.busy_ps(); }},
        Stat<PagingDriverState>{"batches", "count", "Fault batches served", StatKind::counter,
                                [](S s) { return s.counts.batches; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{"raw_faults", "count", "Fault-buffer entries read by batches",
                                StatKind::counter, [](S s) { return s.counts.raw_faults; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{
            "duplicate_faults", "count",
            "Fault-buffer entries for pages already in the batch or already resident on the GPU",
            StatKind::counter, [](S s) { return s.counts.duplicates; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{"premature_evictions", "count",
                                "Faulted pages that had been evicted from the GPU before", StatKind::counter,
                                [](S s) { return s.evictions.counts().premature; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{"page_lifetime", "ps",
                                "Time from a page's arrival on a GPU to its eviction, summed over evictions",
                                StatKind::counter, [](S s) { return s.evictions.counts().lifetime_ps; }}
            .only_when<&PagingDriverSpec::in_batches>(),
        Stat<PagingDriverState>{
            "lock_wait_time", "ps",
            "Time that batches waited for VA blocks that the driver worked on for other batches, summed over "
            "completed batches",
            StatKind::counter, [](S s) { return s.work.lock_wait_ps(); }}
            .only_when<&PagingDriverSpec::serves_side_by_side>(),
        Stat<PagingDriverState>{"throttled_pages", "count",
                                "Faulted pages that batches left on another GPU because they thrash",
                                StatKind::counter, [](S s) { return s.batch.thrashing().throttled(); }}
            .only_when<&PagingDriverSpec::detects_thrashing>(),
        Stat<PagingDriverState>{"counter_notifications", "count", "Access-counter notifications served",
                                StatKind::counter, [](S s) { return s.counters.counts().notifications; }}
            .only_when<&PagingDriverSpec::counts_accesses>(),
        Stat<PagingDriverState>{"counted_pages", "count",
                                "Pages that began to move, or to be copied, because a GPU's counted accesses "
                                "reached the threshold",
                                StatKind::counter, [](S s) { return s.counters.counts().pages; }}
            .only_when<&PagingDriverSpec::counts_accesses>(),
    });
    return all;
  }
};

}  // namespace farfault
