// SPDX-License-Identifier: Apache-2.0
// Facts: properties of the selected policies, or of the machine, on which the effect of parameters depends
// (engine/condition.hpp). MachineConfig computes them.
//
// - The text of a fact follows "only with" in messages: it names the settings that make the fact true.
#pragma once

#include "farfault/engine/condition.hpp"

namespace farfault::facts {

inline constexpr Fact kBuffersAreChosen{"memory.page_sizes = \"by_buffer\""};
inline constexpr Fact kLargePages{
    "a memory.large_pages other than \"none\", a memory.page_sizes or memory.frame_allocation that uses "
    "large pages, or memory.fragmentation_index above 0"};
inline constexpr Fact kCoalescing{"a memory.page_sizes that coalesces base pages"};
inline constexpr Fact kCompaction{"a memory.compaction that moves pages"};
inline constexpr Fact kRelocations{
    "a memory.compaction or memory.page_sizes that moves pages within a GPU's memory"};

inline constexpr Fact kFirstTouch{"a memory.placement that maps pages at first touch"};
inline constexpr Fact kReplays{
    "a memory.remote_touch that moves pages, a memory.compaction or memory.page_sizes that moves pages "
    "within a GPU's memory, or memory.first_touch_by = \"driver\" with a memory.placement that maps pages at "
    "first touch"};
inline constexpr Fact kFaultsAtIommu{"faults recorded by the IOMMU (memory.fault_path)"};
inline constexpr Fact kFaultsAtGpus{"faults recorded by a GPU (memory.fault_path)"};
inline constexpr Fact kIommuRequests{
    "translation requests to the IOMMU: a gpu.router.policy that sends some, or memory.fault_path = "
    "\"iommu\" in the settings under which it has an effect"};
inline constexpr Fact kBatches{
    "driver.batch.replay other than \"each_fault\", and the settings under which memory.fault_path has an "
    "effect"};
inline constexpr Fact kEachFault{"driver.batch.replay = \"each_fault\""};
inline constexpr Fact kAccessCounters{"a memory.remote_touch that decides about counted accesses"};
inline constexpr Fact kMovesWithoutCopies{
    "a memory.remote_touch that moves pages at faults and makes no copies"};
inline constexpr Fact kMissesToEveryMshr{"a gpu.l1_tlb.misses that uses all MSHRs"};
inline constexpr Fact kSeveralTlbs{"a last gpu.translation.level of several groups or banks"};
inline constexpr Fact kChiplets{"gpu.l2_cache.miss_path = \"direct\" and several gpu.l2_cache.partitions"};
inline constexpr Fact kAdaptiveBlocks{"a gpu.sm.thread_blocks that adapts to evictions"};

// Facts about the selected machine.
inline constexpr Fact kCluster{"a cluster: machine.cluster.machines above 1"};
inline constexpr Fact kSwitches{"a cluster of several switches"};
inline constexpr Fact kPcieLinks{"a machine with PCIe links"};
inline constexpr Fact kNvlinks{"a machine with NVLinks"};
inline constexpr Fact kXgmiLinks{"a machine with xGMI links"};
inline constexpr Fact kCpuLinks{"a machine with links between CPUs"};
inline constexpr Fact kNetwork{"a machine with network links"};
inline constexpr Fact kNicBandwidths{"a network of NICs whose bandwidth is known"};

// Facts that are false in every run of the program, and true in tests of components.
inline constexpr Fact kNicAccesses{"accesses to the memory of a NIC, which no workload makes"};
inline constexpr Fact kCpuWalkPressure{
    "reports of walk pressure to the memory of a CPU, which no component sends"};

}  // namespace farfault::facts
