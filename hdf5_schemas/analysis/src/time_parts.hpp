// SPDX-License-Identifier: Apache-2.0
// The SM statistics that are parts of a whole, and their display names.
#pragma once

#include <iterator>
#include <span>

namespace farfault::analysis {

struct Named {
  char const* name;
  char const* what;
};

// Sum: sm_time.
inline constexpr Named kSms[] = {{"sm_active_time", "executing"},
                                 {"sm_memory_stall_time", "memory stall"},
                                 {"sm_fault_stall_time", "page-fault stall"},
                                 {"sm_load_store_stall_time", "load/store-unit stall"},
                                 {"sm_scalar_stall_time", "scalar-cache stall"},
                                 {"sm_barrier_stall_time", "barrier stall"},
                                 {"sm_stopped_time", "stopped by the driver or throttling"},
                                 {"sm_idle_time", "idle"}};

// Sum: sm_access_time.
inline constexpr Named kAccesses[] = {{"sm_time_in_load_store", "load/store unit"},
                                      {"sm_time_in_l1_tlb", "L1 TLB"},
                                      {"sm_time_in_l2_tlb", "L2 TLB"},
                                      {"sm_time_in_walk_queue", "page-walk queue"},
                                      {"sm_time_in_walk", "page walks"},
                                      {"sm_time_in_iommu", "IOMMU"},
                                      {"sm_time_in_fault", "page faults"},
                                      {"sm_time_in_l1_cache", "L1 cache"},
                                      {"sm_time_in_l2_cache", "L2 cache"},
                                      {"sm_time_in_dram_queue", "DRAM queue"},
                                      {"sm_time_in_dram", "DRAM"},
                                      {"sm_time_in_links", "interconnect links"},
                                      {"sm_time_in_remote_memory", "remote memory"},
                                      {"sm_time_outstanding", "outstanding accesses"}};
// The parts of kAccesses that are counted during the run.
inline constexpr std::span kStages = std::span(kAccesses).first<std::size(kAccesses) - 1>();

}  // namespace farfault::analysis
