// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/sm_stats.hpp"

#include <numeric>

#include "farfault/compute/sm.hpp"

namespace farfault {

std::span<Stat<SmStats> const> SmStats::list() {
  using S = SmStats const&;
  static constexpr auto all = std::to_array<Stat<SmStats>>({
      {"instructions", "count", "Warp instructions issued, of all kinds", StatKind::counter,
       [](S s) { return s.instructions(); }},
      {"vector_instructions", "count", "Vector instructions issued", StatKind::counter,
       [](S s) { return s.vector_instructions; }},
      {"scalar_instructions", "count", "Scalar instructions issued, branches and barriers included",
       StatKind::counter, [](S s) { return s.scalar_instructions; }},
      {"shared_instructions", "count", "Accesses of warps to shared memory", StatKind::counter,
       [](S s) { return s.shared_instructions; }},
      {"memory_instructions", "count", "Load and store instructions issued", StatKind::counter,
       [](S s) { return s.memory_instructions; }},
      {"scalar_loads", "count", "Scalar load instructions issued", StatKind::counter,
       [](S s) { return s.scalar_loads; }},
      {"transactions", "count", "Memory transactions after coalescing (L1 accesses)", StatKind::counter,
       [](S s) { return s.transactions; }},
      {"scalar_transactions", "count", "Memory transactions of scalar loads (scalar-cache accesses)",
       StatKind::counter, [](S s) { return s.scalar_transactions; }},
      {"l1_tlb_hits", "count", "Transactions that hit the L1 TLB", StatKind::counter,
       [](S s) { return s.l1_tlb_hits; }},
      {"l1_tlb_misses", "count", "Transactions that missed the L1 TLB", StatKind::counter,
       [](S s) { return s.l1_tlb_misses; }},
      {"l2_tlb_hits", "count", "Transactions that missed the L1 TLB and hit the L2 TLB", StatKind::counter,
       [](S s) { return s.l2_tlb_hits; }},
      {"gmmu_translations", "count",
       "Transactions that missed the L1 TLB and were translated by the GPU's page table", StatKind::counter,
       [](S s) { return s.gmmu_translations; }},
      {"iommu_translations", "count", "Transactions that missed the L1 TLB and were translated by the IOMMU",
       StatKind::counter, [](S s) { return s.iommu_translations; }},
      {"fault_translations", "count",
       "Transactions that missed the L1 TLB and raised a page fault or stalled on one", StatKind::counter,
       [](S s) { return s.fault_translations; }},
      {"l1_hits", "count", "Loads that hit the L1 cache", StatKind::counter, [](S s) { return s.l1_hits; }},
      {"l1_misses", "count", "Loads that missed the L1 cache", StatKind::counter,
       [](S s) { return s.l1_misses; }},
      {"stores", "count", "Store transactions, written through", StatKind::counter,
       [](S s) { return s.stores; }},
      {"l2_hits", "count",
       "Requests to the L2 cache of the SM's GPU that hit. Requests merged in the L1 cache count once",
       StatKind::counter, [](S s) { return s.l2_hits; }},
      {"l2_misses", "count",
       "Requests to the L2 cache of the SM's GPU that missed. Requests merged in the L1 cache count once",
       StatKind::counter, [](S s) { return s.l2_misses; }},
      {"remote_accesses", "count", "Accesses to the memory of another device", StatKind::counter,
       [](S s) { return s.remote_accesses; }},
      {"remote_l2_hits", "count", "Accesses to another device's memory that hit its last-level cache",
       StatKind::counter, [](S s) { return s.remote_l2_hits; }},
      {"remote_l2_misses", "count", "Accesses to another device's memory that missed its last-level cache",
       StatKind::counter, [](S s) { return s.remote_l2_misses; }},
      {"scalar_hits", "count", "Memory transactions of scalar loads that hit the scalar cache",
       StatKind::counter, [](S s) { return s.scalar_hits; }},
      {"blocks", "count", "Thread blocks completed", StatKind::counter, [](S s) { return s.blocks; }},
      {"faulted", "count", "Transactions stalled by a page fault", StatKind::counter,
       [](S s) { return s.faulted; }},
      {"replayed", "count", "Transactions resumed by a replay", StatKind::counter,
       [](S s) { return s.replayed; }},
      Stat<SmStats>{"access_time", "ps",
                    "Time of transactions from issue to data or acknowledgement, summed over transactions",
                    StatKind::counter, [](S s) { return s.whole_access_time(); }}
          .stored_summed(),
      Stat<SmStats>{"time_outstanding", "ps",
                    "Part of access_time of outstanding transactions since the start of their current "
                    "stage, in no time_in_* statistic yet",
                    StatKind::level, [](S s) { return s.whole_access_time() - s.stages.sum(); }}
          .stored_summed()
          .stored_in_summary(),
      Stat<SmStats>{"time_in_load_store", "ps",
                    "Part of access_time in the load/store unit: waiting for issue, an MSHR or a credit",
                    StatKind::counter, [](S s) { return s.stages.load_store; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_l1_tlb", "ps", "Part of access_time for L1 TLB look-ups", StatKind::counter,
                    [](S s) { return s.stages.l1_tlb; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_l2_tlb", "ps",
                    "Part of access_time from an L1 TLB miss to its response, without GMMU, IOMMU and links",
                    StatKind::counter, [](S s) { return s.stages.l2_tlb; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_walk_queue", "ps",
                    "Part of access_time at the GMMU before the start of a page walk", StatKind::counter,
                    [](S s) { return s.stages.walk_queue; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_walk", "ps", "Part of access_time for page walks of the GMMU", StatKind::counter,
                    [](S s) { return s.stages.walk; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_iommu", "ps", "Part of access_time at the IOMMU, in its queue and walks",
                    StatKind::counter, [](S s) { return s.stages.iommu; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_fault", "ps",
                    "Part of access_time from a fault response to the replay, or at an IOMMU that maps the "
                    "page without a replay",
                    StatKind::counter, [](S s) { return s.stages.fault; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_l1_cache", "ps", "Part of access_time for L1 cache look-ups", StatKind::counter,
                    [](S s) { return s.stages.l1_cache; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_l2_cache", "ps",
                    "Part of access_time from an L1 cache miss or store to the response of the L2 cache of "
                    "the SM's GPU, without DRAM",
                    StatKind::counter, [](S s) { return s.stages.l2_cache; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_dram_queue", "ps",
                    "Part of access_time in the queues of the DRAM channels of the SM's GPU",
                    StatKind::counter, [](S s) { return s.stages.dram_queue; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_dram", "ps", "Part of access_time in the DRAM of the SM's GPU, without queueing",
                    StatKind::counter, [](S s) { return s.stages.dram; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_links", "ps", "Part of access_time on interconnect links", StatKind::counter,
                    [](S s) { return s.stages.links; }}
          .stored_summed(),
      Stat<SmStats>{"time_in_remote_memory", "ps",
                    "Part of access_time in the cache and memory of another device, queueing included",
                    StatKind::counter, [](S s) { return s.stages.remote_memory; }}
          .stored_summed(),
      Stat<SmStats>{
          "resident_time", "ps", "Time in which an SM held thread blocks, summed over SMs", StatKind::counter,
          [](S s) { return std::accumulate(s.resident.begin(), s.resident.end(), std::uint64_t{0}); }}
          .stored_summed(),
      Stat<SmStats>{"resident_active_time", "ps",
                    "Part of resident_time in which a warp of these blocks executed or could issue",
                    StatKind::counter, [](S s) { return s.resident_in(SmActivity::active); }}
          .stored_summed(),
      Stat<SmStats>{"resident_memory_stall_time", "ps",
                    "Part of resident_time in which no warp of these blocks executed or could issue, with "
                    "memory accesses as the most frequent stall cause",
                    StatKind::counter, [](S s) { return s.resident_in(SmActivity::memory_stall); }}
          .stored_summed(),
      Stat<SmStats>{"resident_fault_stall_time", "ps",
                    "Part of resident_time in which no warp of these blocks executed or could issue, with "
                    "page faults as the most frequent stall cause",
                    StatKind::counter, [](S s) { return s.resident_in(SmActivity::fault_stall); }}
          .stored_summed(),
      Stat<SmStats>{"resident_load_store_stall_time", "ps",
                    "Part of resident_time in which no warp of these blocks executed or could issue, with "
                    "the load/store unit as the most frequent stall cause",
                    StatKind::counter, [](S s) { return s.resident_in(SmActivity::load_store_stall); }}
          .stored_summed(),
      Stat<SmStats>{"resident_scalar_stall_time", "ps",
                    "Part of resident_time in which no warp of these blocks executed or could issue, with "
                    "the limit of scalar-cache requests as the most frequent stall cause",
                    StatKind::counter, [](S s) { return s.resident_in(SmActivity::scalar_stall); }}
          .stored_summed(),
      Stat<SmStats>{"resident_barrier_stall_time", "ps",
                    "Part of resident_time in which no warp of these blocks executed or could issue, with "
                    "barriers as the most frequent stall cause",
                    StatKind::counter, [](S s) { return s.resident_in(SmActivity::barrier_stall); }}
          .stored_summed(),
      Stat<SmStats>{"resident_fetch_stall_time", "ps",
                    "Part of resident_time in which no warp of these blocks executed or could issue, with "
                    "instructions that have not arrived as the most frequent stall cause",
                    StatKind::counter, [](S s) { return s.resident_in(SmActivity::fetch_stall); }}
          .stored_summed()
          .only_when<&SmSpec::fetches>(),
      Stat<SmStats>{
          "resident_stopped_time", "ps",
          "Part of resident_time in which the SM was stopped by the driver or the thread-block policy",
          StatKind::counter, [](S s) { return s.resident_in(SmActivity::stopped); }}
          .stored_summed(),
      Stat<SmStats>{"resident_outside_time", "ps",
                    "Part of resident_time in which all of these blocks were swapped out", StatKind::counter,
                    [](S s) { return s.resident_in(SmActivity::idle); }}
          .stored_summed(),
  });
  return all;
}

}  // namespace farfault
