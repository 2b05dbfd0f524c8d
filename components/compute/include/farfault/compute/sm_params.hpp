// SPDX-License-Identifier: Apache-2.0
// The parameters of an SM, its L1 TLB and its L1 cache.
#pragma once

#include <cstdint>

#include "farfault/compute/execution_units.hpp"
#include "farfault/compute/thread_blocks.hpp"
#include "farfault/compute/warp_order.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/parts/replacement.hpp"
#include "farfault/protocols/kernel.hpp"
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
    t.count("max_warps", max_warps, {1, WarpOrder::kMaxWarps}, "resident warps",
            "GCN3: 4 SIMDs of 10 wavefronts (MGPUSim R9 Nano)");
    t.count("max_threads", max_threads, {1, 4096}, "resident threads", "GCN3: 40 wavefronts of 64 lanes");
    t.count("max_blocks", max_blocks, {1, 64}, "resident thread blocks",
            "GCN3: 40 work-groups of one wavefront");
    t.count("registers", registers, {1024, 1 << 20}, "32-bit vector registers, lanes included",
            "GCN3: 4 SIMDs of 64 KiB");
    t.count("shared_bytes", shared_bytes, {0, 1 << 20}, "bytes of shared memory (LDS)", "GCN3: 64 KiB");
    t.count("simds", simds, {1, ExecutionUnits::kMaxSimds},
            "SIMDs (warp schedulers) of an SM; a warp belongs to one of them",
            "GCN3 ISA: 4 SIMDs; NVIDIA white papers from Volta on: 4 schedulers");
    t.count("simd_lanes", simd_lanes, {1, kMaxLanes}, "lanes of a SIMD that compute in one cycle",
            "GCN3 ISA: 16; white papers: V100 and A100 16, H100 32 (FP32 units of a scheduler)");
    t.count("special_lanes", special_lanes, {1, kMaxLanes},
            "lanes of a SIMD that compute a special function (reciprocal, root, sine) in one cycle",
            "GCN3: a quarter of the rate, 4; white papers of V100, A100, H100: 4 special function units");
    t.count("scalar_rate", scalar_rate, {1, 16}, "scalar instructions that an SM executes in one cycle",
            "GCN3 ISA: one scalar unit; NVIDIA: one instruction of each of the 4 schedulers");
    t.count("shared_bytes_per_cycle", shared_bytes_per_cycle, {1, 1024},
            "bytes that the shared memory (LDS) of an SM reads or writes in one cycle",
            "GCN3: 32 banks of 4 B; V100, A100 and H100 the same (Jia et al., arXiv:1804.06826)");
    t.count("dependent_latency", dependent_latency, {1, 1000},
            "cycles from an instruction to the next one of its warp, which depends on it",
            "GCN3: 4; Volta: 4 (Jia et al., arXiv:1804.06826, Table 4.1)");
    t.count("shared_latency", shared_latency, {0, 1000},
            "cycles from the end of a group's shared-memory accesses to the warp's next instruction; 0: none "
            "beyond dependent_latency",
            "assumed; Volta: 19 (Jia et al., arXiv:1804.06826)");
    t.choice("issue", issue, {{"one_of_each_kind", IssueRule::one_of_each_kind}, {"one", IssueRule::one}},
             "instructions that a scheduler issues in one cycle: one of each kind (vector, scalar, shared "
             "memory, memory), from different warps, or one of any kind",
             "GCN3 ISA: one_of_each_kind; NVIDIA white papers from Volta on: one");
    warp_order.describe(t, "warp_order", "which ready warp issues first",
                        "assumed; GPGPU-Sim's default is greedy-then-oldest");
    thread_blocks.describe(t, "thread_blocks",
                           "how many thread blocks an SM holds, and when one gives way to another",
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
  TlbPolicies policies;
  void describe(ParamTable& t) {
    t.count("entries", entries, {1, 65536}, "entries of the L1 TLB",
            "GMMU Bypass, Table 1: 1 set of 32 ways");
    t.count("ways", ways, {1, 65536}, "ways of the L1 TLB; a divisor of entries", "GMMU Bypass, Table 1");
    t.count("latency", latency, {1, 1000}, "cycles of a look-up", "MGPUSim 4.2 (shader array builder): 1");
    t.count("mshrs", mshrs, {1, 4096}, "pages with an outstanding miss",
            "MGPUSim 4.2 (shader array builder): 64");
    t.count("waiters", waiters, {128, 65536}, "transactions that can wait for translations", "assumed");
    t.count(
        "faulted_pages", faulted_pages, {1, 4096},
        "faulted pages (not mapped, or about to move) that have transactions kept until their replay, beyond "
        "which misses stall",
        "Allen and Ge, SC 2021, on a Titan V: 56 outstanding faults of a uTLB");
    t.count("faulted_accesses", faulted_accesses, {1, 65536},
            "transactions kept until the replay of their page, beyond which misses stall", "assumed");
    policies.describe(t, "", "Akita 4.9 (mem/vm/tlb): the least recently used");
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
    t.bytes("size", size, {ByteSize{1024}, ByteSize{1 << 24}}, "bytes of the L1 cache",
            "MGPUSim 4.2, R9 Nano: 16 KiB");
    t.count("ways", ways, {1, 1024}, "ways of the L1 cache", "MGPUSim 4.2, R9 Nano: 4");
    replacement.describe(t, "replacement", "which line gives way to another",
                         "Akita 4.9 (mem/cache): the least recently used");
    t.count("latency", latency, {1, 1000}, "cycles from look-up to data", "assumed (MGPUSim MI300A: 7)");
    t.count("mshrs", mshrs, {1, 4096}, "lines with an outstanding miss", "MGPUSim 4.2, R9 Nano: 128");
    t.count("waiters", waiters, {128, 1 << 20}, "loads that can wait for lines", "assumed");
    t.count("slice_credits", slice_credits, {1, 4096}, "requests an SM may have at one L2 slice", "assumed");
    t.count("remote_credits", remote_credits, {0, 4096},
            "requests an SM may have at the RDMA engine; 0: as many as gpu.l1_cache.mshrs",
            "assumed: an L1 does not know where a line it misses lies");
  }
  std::uint32_t remote() const { return remote_credits != 0 ? remote_credits : mshrs; }
};

}  // namespace farfault
