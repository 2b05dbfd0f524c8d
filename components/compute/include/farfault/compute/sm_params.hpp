// SPDX-License-Identifier: Apache-2.0
// The parameters of an SM, its L1 TLB and its L1 cache.
#pragma once

#include <cstdint>

#include "farfault/compute/execution_units.hpp"
#include "farfault/compute/thread_blocks.hpp"
#include "farfault/compute/warp_order.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/parts/replacement.hpp"
#include "farfault/protocols/facts.hpp"
#include "farfault/protocols/kernel.hpp"
#include "farfault/translation/miss_treatment.hpp"
#include "farfault/translation/tlb_organization.hpp"

namespace farfault {

// Instructions that a scheduler issues in one cycle.
enum class IssueRule : std::uint8_t { one_of_each_kind, one };

struct SmParams {
  std::uint32_t max_warps = 40;
  std::uint32_t max_threads = 2560;
  std::uint32_t max_blocks = 40;
  std::uint32_t registers = 65536;
  std::uint64_t shared_bytes = 65536;
  std::uint32_t simds = 4;
  std::uint32_t simd_lanes = 16;
  std::uint32_t special_lanes = 4;
  std::uint32_t scalar_rate = 1;
  std::uint32_t shared_bytes_per_cycle = 128;
  std::uint32_t dependent_latency = 4;
  std::uint32_t shared_latency = 0;
  IssueRule issue = IssueRule::one_of_each_kind;
  PolicyChoice<WarpOrder> warp_order{"greedy_then_oldest"};
  PolicyChoice<ThreadBlocks> thread_blocks{"occupancy"};
  void describe(ParamTable& t) {
    t.count("max_warps", max_warps, {1, WarpOrder::kMaxWarps}, "Maximum resident warps",
            "GCN3: 4 SIMDs of 10 wavefronts (MGPUSim R9 Nano)");
    t.count("max_threads", max_threads, {1, 4096}, "Maximum resident threads",
            "GCN3: 40 wavefronts of 64 lanes");
    t.count("max_blocks", max_blocks, {1, 64}, "Maximum resident thread blocks",
            "GCN3: 40 work-groups of one wavefront");
    t.count("registers", registers, {1024, 1 << 20}, "32-bit vector registers of all lanes",
            "GCN3: 4 SIMDs of 64 KiB");
    t.count("shared_bytes", shared_bytes, {0, 1 << 20}, "Bytes of shared memory (LDS)", "GCN3: 64 KiB");
    t.count("simds", simds, {1, ExecutionUnits::kMaxSimds},
            "SIMDs (warp schedulers) of an SM. Each warp belongs to one SIMD",
            "GCN3 ISA: 4 SIMDs; NVIDIA white papers from Volta on: 4 schedulers");
    t.count("simd_lanes", simd_lanes, {1, kMaxLanes}, "Lanes of a SIMD that compute in one cycle",
            "GCN3 ISA: 16; white papers: V100 and A100 16, H100 32 (FP32 units of a scheduler)");
    t.count("special_lanes", special_lanes, {1, kMaxLanes},
            "Lanes of a SIMD that compute a special function (reciprocal, root, sine) in one cycle",
            "GCN3: a quarter of the rate, 4; white papers of V100, A100, H100: 4 special function units");
    t.count("scalar_rate", scalar_rate, {1, 16}, "Scalar instructions executed by an SM per cycle",
            "GCN3 ISA: one scalar unit; NVIDIA: one instruction of each of the 4 schedulers");
    t.count("shared_bytes_per_cycle", shared_bytes_per_cycle, {1, 1024},
            "Shared-memory (LDS) bandwidth of an SM in bytes per cycle",
            "GCN3: 32 banks of 4 B; V100, A100 and H100 the same (Jia et al., arXiv:1804.06826)");
    t.count("dependent_latency", dependent_latency, {1, 1000},
            "Cycles from an instruction to the next, dependent instruction of its warp",
            "GCN3: 4; Volta: 4 (Jia et al., arXiv:1804.06826, Table 4.1)");
    t.count("shared_latency", shared_latency, {0, 1000},
            "Cycles from the end of a group of shared-memory accesses to the warp's next instruction. 0: "
            "dependent_latency only",
            "assumed; Volta: 19 (Jia et al., arXiv:1804.06826)");
    t.choice("issue", issue,
             {{"one_of_each_kind", IssueRule::one_of_each_kind,
               "one of each kind (vector, scalar, shared memory, memory), from different warps"},
              {"one", IssueRule::one, "one of any kind"}},
             "Instructions issued by a scheduler per cycle",
             "GCN3 ISA: one_of_each_kind; NVIDIA white papers from Volta on: one");
    warp_order.describe(t, "warp_order", "Warp scheduling: selection of a ready warp",
                        "assumed; GPGPU-Sim's default is greedy-then-oldest");
    thread_blocks.describe(t, "thread_blocks", "Thread-block policy: blocks held by an SM, and swapping",
                           "CUDA: occupancy");
  }
};

struct L1TlbParams {
  std::uint32_t entries = 32;
  std::uint32_t ways = 32;
  std::uint32_t latency = 1;
  std::uint32_t mshrs = 64;
  std::uint32_t waiters = 256;
  std::uint32_t faulted_pages = 56;
  std::uint32_t faulted_accesses = 1024;
  PolicyChoice<MissTreatment> misses{"non_blocking"};
  TlbPolicies policies;
  void describe(ParamTable& t) {
    t.count("entries", entries, {1, 65536}, "Entries of the L1 TLB",
            "GMMU Bypass (NPC 2020), Table 1: 1 set of 32 ways");
    t.count("ways", ways, {1, 65536}, "Ways of the L1 TLB. Must divide entries",
            "GMMU Bypass (NPC 2020), Table 1");
    t.count("latency", latency, {1, 1000}, "Look-up latency in cycles",
            "MGPUSim 4.2 (shader array builder): 1");
    misses.describe(t, "misses", "Accesses while translations are outstanding",
                    "MGPUSim 4.2 (shader array builder): non_blocking");
    t.count("mshrs", mshrs, {1, 4096}, "Maximum pages with an outstanding miss",
            "MGPUSim 4.2 (shader array builder): 64")
        .only_when(facts::kMissesToEveryMshr);
    t.count("waiters", waiters, {128, 65536}, "Maximum transactions waiting for translations", "assumed");
    t.count("faulted_pages", faulted_pages, {1, 4096},
            "Maximum faulted pages (unmapped or about to move) with transactions stalled until the replay. "
            "Further misses stall the load/store unit",
            "Allen and Ge, SC 2021, on a Titan V: 56 outstanding faults of a uTLB")
        .only_when(facts::kReplays);
    t.count("faulted_accesses", faulted_accesses, {1, 65536},
            "Maximum transactions stalled until the replay of their page. Further misses stall the "
            "load/store unit",
            "assumed")
        .only_when(facts::kReplays);
    policies.describe(t, "", "Akita 4.9 (mem/vm/tlb): least recently used");
  }
  // Maximum pages with an outstanding miss.
  std::uint32_t outstanding() const {
    std::uint32_t const pages = misses.facts().pages;
    return pages == MissTreatment::kEveryMshr ? mshrs : pages;
  }
};

struct L1CacheParams {
  ByteSize size{std::uint64_t{16} << 10};
  std::uint32_t ways = 4;
  std::uint32_t latency = 1;
  std::uint32_t mshrs = 128;
  std::uint32_t waiters = 1024;
  std::uint32_t slice_credits = 32;
  std::uint32_t remote_credits = 0;
  PolicyChoice<Replacement> replacement{"lru"};
  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{1024}, ByteSize{1 << 24}}, "Capacity of the L1 cache",
            "MGPUSim 4.2, R9 Nano: 16 KiB");
    t.count("ways", ways, {1, 1024}, "Ways of the L1 cache", "MGPUSim 4.2, R9 Nano: 4");
    replacement.describe(t, "replacement", "Replacement policy",
                         "Akita 4.9 (mem/cache): least recently used");
    t.count("latency", latency, {1, 1000}, "Cycles from look-up to data", "assumed (MGPUSim MI300A: 7)");
    t.count("mshrs", mshrs, {1, 4096}, "Maximum lines with an outstanding miss", "MGPUSim 4.2, R9 Nano: 128");
    t.count("waiters", waiters, {128, 1 << 20}, "Maximum loads waiting for lines", "assumed");
    t.count("slice_credits", slice_credits, {1, 4096},
            "Maximum outstanding requests of an SM at one L2 slice", "assumed");
    t.count("remote_credits", remote_credits, {0, 4096},
            "Maximum outstanding requests of an SM at the RDMA engine. 0: gpu.l1_cache.mshrs",
            "assumed: an L1 cache does not know the device of a line that misses");
  }
  std::uint32_t remote() const { return remote_credits != 0 ? remote_credits : mshrs; }
};

}  // namespace farfault
