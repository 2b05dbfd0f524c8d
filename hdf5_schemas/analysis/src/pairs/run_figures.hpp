// SPDX-License-Identifier: Apache-2.0
// Private: the figures of one run for the explanation of two.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "amount.hpp"
#include "farfault/analysis/explain.hpp"
#include "fixed_latencies.hpp"
#include "host_timeline.hpp"

namespace farfault::analysis {

// Statistics of SMs: of the machine, of a GPU, or of the completed launches of a kernel. In the summary they
// have the prefix "sm_"; the times of SMs have the prefix "resident_" in the table of kernels.
inline constexpr auto kSmFigures = std::to_array<std::string_view>({
    "instructions",
    "transactions",
    "l1_tlb_hits",
    "l1_tlb_misses",
    "l2_tlb_hits",
    "gmmu_translations",
    "iommu_translations",
    "fault_translations",
    "l2_hits",
    "l2_misses",
    "remote_accesses",
    "access_time",
    "time_in_load_store",
    "time_in_l1_tlb",
    "time_in_l2_tlb",
    "time_in_walk_queue",
    "time_in_walk",
    "time_in_iommu",
    "time_in_fault",
    "time_in_l1_cache",
    "time_in_l2_cache",
    "time_in_dram_queue",
    "time_in_dram",
    "time_in_links",
    "time_in_remote_memory",
    "time_outstanding",
    "active_time",
    "memory_stall_time",
    "fault_stall_time",
    "load_store_stall_time",
    "scalar_stall_time",
    "barrier_stall_time",
    "fetch_stall_time",
    "stopped_time",
    // Not in the table of kernels:
    "idle_time",
    "time",
    "l1_tlb_mshr_wait_time",
    "l1_mshr_wait_time",
    "l2_credit_wait_time",
    "remote_credit_wait_time",
    "faulted_wait_time",
    // In neither of them: the part of RunFigures::link_bytes and link_latency that belongs to a GPU or
    // kernel.
    "link_bytes",
    "link_latency",
});

class SmFigures {
 public:
  Amount at(std::string_view name) const { return Amount::of(values_[place_of(name)]); }
  std::uint64_t& operator[](std::size_t place) { return values_[place]; }
  std::uint64_t operator[](std::size_t place) const { return values_[place]; }

  static constexpr std::size_t place_of(std::string_view name) {
    std::size_t place = 0;
    while (kSmFigures.at(place) != name) ++place;
    return place;
  }

 private:
  std::array<std::uint64_t, kSmFigures.size()> values_{};
};

// The completed launches of a kernel on one GPU.
struct KernelOnGpu {
  SmFigures figures;
  std::uint64_t left = 0;  // ps; completion times of its last thread blocks there, summed over launches
};
inline constexpr std::uint64_t kMaxKernelsOnGpus =
    200'000;  // rows of the table; of a longer one, none is read

struct RunFigures {
  std::string path;
  std::string end_reason;
  std::string farfault_version;
  std::string commit;  // empty: not recorded
  std::uint64_t end = 0;
  HostTimeline timeline;
  std::vector<SmFigures> kernels;  // by kernel of the timeline: its completed launches
  SmFigures machine;
  std::vector<std::string> gpu_names;
  std::vector<SmFigures> gpus;                            // empty: not recorded
  std::vector<std::vector<KernelOnGpu>> kernels_on_gpus;  // by kernel and GPU; empty: not recorded
  std::vector<Resource> resources;
  std::uint64_t link_bytes = 0;    // of the busiest direction of a link
  std::uint64_t link_latency = 0;  // ps; sum over all packets and links
  FixedLatencies latencies;

  Amount on_gpus() const;  // time with a kernel on a GPU
};

// Throws UserError, one sentence, for a file that is not a result, has no summary yet, or lacks the times of
// kernels or of SMs.
RunFigures read_figures(std::string const& path);

}  // namespace farfault::analysis
