// SPDX-License-Identifier: Apache-2.0
// Parameters of a sliced last-level cache: SlicedCacheParams, common to GPUs and CPUs, and L2CacheParams of a
// GPU. The model is in l2_slice.hpp.
#pragma once

#include <cstdint>

#include "farfault/engine/params.hpp"
#include "farfault/memory/cache.hpp"
#include "farfault/memory/walk_reads.hpp"
#include "farfault/parts/address_hash.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/protocols/facts.hpp"

namespace farfault {

enum class MissPath : std::uint8_t { home_slice, memory, direct };

// Common to the last-level caches of GPUs and CPUs.
struct SlicedCacheParams {
  std::uint32_t slices = 16;
  ByteSize size{std::uint64_t{2} << 20};
  std::uint32_t ways = 16;
  std::uint32_t latency = 14;
  std::uint32_t mshrs = 64;
  std::uint32_t waiters = 512;
  ByteSize interleave{256};
  PolicyChoice<Replacement> replacement{"lru"};
  void describe(ParamTable& t) {
    t.count("slices", slices, {1, 256}, "Slices (banks) of the cache", "MGPUSim 4.2, R9 Nano: 16");
    t.bytes("size", size, {ByteSize{4096}, ByteSize{std::uint64_t{1} << 30}}, "Capacity of all slices",
            "MGPUSim 4.2, R9 Nano: 2 MiB");
    t.count("ways", ways, {1, 1024}, "Ways of the cache", "MGPUSim 4.2, R9 Nano: 16");
    replacement.describe(t, "replacement", "Replacement policy",
                         "Akita 4.9 (mem/cache): least recently used");
    t.count("latency", latency, {1, 10000}, "Cycles from look-up to response", "MGPUSim 4.2, MI300A: 14");
    t.count("mshrs", mshrs, {1, 4096}, "Maximum lines with an outstanding miss, per slice",
            "MGPUSim 4.2, R9 Nano: 64");
    t.count("waiters", waiters, {1, 1 << 20}, "Maximum requests waiting for lines, per slice", "assumed");
    t.bytes("interleave", interleave, {ByteSize{64}, ByteSize{1 << 30}},
            "Consecutive bytes in one slice. Must be a power of two", "assumed");
  }
};

struct L2CacheParams : SlicedCacheParams {
  std::uint32_t partitions = 1;
  std::uint32_t partition_latency = 100;
  MissPath miss_path = MissPath::home_slice;
  ByteSize partition_block{0};
  bool write_back_at_kernel_end = false;
  std::uint32_t ports = 1;
  std::uint32_t walk_queue = 0;
  PolicyChoice<AddressHash> hash{"turns"};
  PolicyChoice<WalkReads> walk_reads{"cached"};
  void describe(ParamTable& t) {
    SlicedCacheParams::describe(t);
    t.count("partitions", partitions, {1, 64},
            "Partitions, each with an equal share of the slices and of the SMs",
            "MGPUSim 4.2, R9 Nano: 1; NVIDIA A100 white paper: two halves; AMD CDNA 3 white paper: one for "
            "each of 8 XCDs");
    t.count(
         "partition_latency", partition_latency, {0, 10000},
         "One-way latency in cycles from a slice, or with miss_path = \"direct\" from an SM, to the home "
         "slice or "
         "memory of another partition. 0: none, only with miss_path = \"memory\"",
         "assumed; NVIDIA A100 by MT4G (arXiv:2511.05958): 134 additional cycles for a hit in the far half; "
         "MGvm (MICRO 2022): 360 between chiplets")
        .only_when(sibling("partitions").is_above(1));
    t.choice("miss_path", miss_path,
             {{"home_slice", MissPath::home_slice, "its home slice; hardware keeps the copies coherent"},
              {"memory", MissPath::memory,
               "the partition's memory; at the end of a kernel every slice writes back its dirty lines and "
               "drops all lines"},
              {"direct", MissPath::direct,
               "its home slice, to which SMs send their requests; no other slice has a copy"}},
             "Source of a line whose home slice is in another partition",
             "NVIDIA A100 white paper: coherent in hardware; MI300X: memory (LLVM, AMDGPUUsage, gfx942: "
             "buffer_wbl2, buffer_inv); chiplets of MGvm (MICRO 2022): direct")
        .only_when(sibling("partitions").is_above(1));
    t.bytes("partition_block", partition_block, {ByteSize{0}, ByteSize{std::uint64_t{1} << 40}},
            "Consecutive bytes of memory in one partition. 0 B: interleave x the slices of a partition",
            "MGvm (MICRO 2022): 64 KiB, one page of 4 KiB in each of 16 slices")
        .only_when(facts::kChiplets);
    t.flag("write_back_at_kernel_end", write_back_at_kernel_end,
           "Write dirty lines to memory before a kernel completes",
           "assumed: off; AMD gfx90a, gfx942: buffer_wbl2 at a release to the system (LLVM, AMDGPUUsage, "
           "memory model)")
        .only_when(sibling("miss_path").is("home_slice") || sibling("miss_path").is("direct") ||
                   sibling("partitions").is(1));
    t.count("ports", ports, {1, 64}, "Look-ups started and responses sent per cycle and slice",
            "assumed: 1; MASK (ASPLOS 2018) and Mosaic (MICRO 2017), Table 1: 2");
    t.count(
        "walk_queue", walk_queue, {0, 4096},
        "Places of a slice for page-walk reads that overtake stalled requests. 0: none, in order of arrival",
        "MGPUSim 4.2: 0");
    hash.describe(t, "hash", "Slice of a block of `interleave` bytes, and with it the memory channel",
                  "MGPUSim 4.2: turns; Accel-Sim, SM7_QV100: ipoly");
    walk_reads.describe(t, "walk_reads", "L2 policy for page-walk reads",
                        "GMMU Bypass (NPC 2020), Mosaic (MICRO 2017): as all other requests");
  }
  std::uint32_t slices_per_partition() const { return slices / partitions; }
  bool software_coherent() const { return partitions > 1 && miss_path == MissPath::memory; }
  bool hardware_coherent() const { return partitions > 1 && miss_path == MissPath::home_slice; }
  // Chiplets: SMs send requests to the slices of all partitions.
  bool direct() const { return partitions > 1 && miss_path == MissPath::direct; }
  MemoryParts parts() const {
    if (!direct()) return {};
    return {partitions,
            partition_block.bytes != 0 ? partition_block.bytes : interleave.bytes * slices_per_partition()};
  }
  // Slices to which an SM sends requests.
  std::uint32_t slices_of_sm() const { return direct() ? slices : slices_per_partition(); }
};

}  // namespace farfault
