// SPDX-License-Identifier: Apache-2.0
// The SM statistics that are parts of a whole, and their display names.
#pragma once

#include <iterator>
#include <span>

namespace farfault::results {

struct Named {
  char const* name;
  char const* what;
};

// Sum: sm_time.
inline constexpr Named kSms[] = {{"sm_active_time", "executing"},
                                 {"sm_memory_stall_time", "waiting for memory"},
                                 {"sm_fault_stall_time", "waiting for page faults"},
                                 {"sm_load_store_stall_time", "waiting for the load/store unit"},
                                 {"sm_scalar_stall_time", "waiting for the scalar cache"},
                                 {"sm_barrier_stall_time", "waiting at barriers"},
                                 {"sm_stopped_time", "stopped by driver or throttling"},
                                 {"sm_idle_time", "without a warp"}};

// Sum: sm_access_time.
inline constexpr Named kAccesses[] = {{"sm_time_in_load_store", "load/store unit"},
                                      {"sm_time_in_l1_tlb", "L1 TLB"},
                                      {"sm_time_in_l2_tlb", "L2 TLB"},
                                      {"sm_time_in_walk_queue", "queue for page walkers"},
                                      {"sm_time_in_walk", "page walks"},
                                      {"sm_time_in_iommu", "IOMMU"},
                                      {"sm_time_in_fault", "page faults"},
                                      {"sm_time_in_l1_cache", "L1 cache"},
                                      {"sm_time_in_l2_cache", "L2 cache"},
                                      {"sm_time_in_dram_queue", "queue for DRAM"},
                                      {"sm_time_in_dram", "DRAM"},
                                      {"sm_time_in_links", "links between devices"},
                                      {"sm_time_in_remote_memory", "memory of other devices"},
                                      {"sm_time_under_way", "accesses that had not ended"}};
// The parts of kAccesses that are counted during the run.
inline constexpr std::span kStages = std::span(kAccesses).first<std::size(kAccesses) - 1>();

}  // namespace farfault::results
