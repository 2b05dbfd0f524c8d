// SPDX-License-Identifier: Apache-2.0
// Code shared by SHOC's Reduction and Scan: the precisions that they run, and the sum of a block of 256
// threads in shared memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "farfault/engine/params.hpp"
#include "farfault/workloads/kernel_support.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kSumThreads = 256;
inline constexpr std::uint32_t kSumBlocks = 64;

enum class Precision : std::uint32_t { floats, doubles, both };

inline void describe_precision(ParamTable& t, Precision& precision, char const* source) {
  t.choice("precision", precision,
           {{"single", Precision::floats, "32-bit floating point"},
            {"double", Precision::doubles, "64-bit floating point"},
            {"both", Precision::both, "single, then double"}},
           "Precision", source);
}

struct ElementSize {
  std::uint32_t bytes;
  char const* suffix;  // appended to names of buffers
};

inline std::span<ElementSize const> element_sizes(Precision precision) {
  static constexpr ElementSize kSizes[] = {{4, ""}, {8, "_double"}};
  std::span<ElementSize const> const all{kSizes};
  if (precision == Precision::both) return all;
  return all.subspan(precision == Precision::floats ? 0 : 1, 1);
}

// Sums a block after each thread has stored its sum in shared memory: barriers and halvings until 32 threads
// are left, which continue without barriers. The first of them writes the block's sum to `result`.
inline void set_block_sum(WarpInstruction& out, std::uint32_t first_thread, std::uint32_t element_bytes,
                          VirtAddr result, std::uint64_t step) {
  constexpr std::uint32_t kAlone = 32;
  if (step <= 4) {
    if (step % 2 == 0) return set_barrier(out);
    auto const adding = kSumThreads >> (step / 2 + 1);
    if (first_thread >= adding) return set_compute(out, {.scalar = 2});  // the branch around the sum
    return set_compute(out, {.vector = 1, .scalar = 2, .shared = 3, .shared_bytes_per_lane = element_bytes});
  }
  if (step == 5) {
    if (first_thread >= kAlone) return set_compute(out, {.scalar = 2});
    // Six halvings: two reads, a sum, a write.
    return set_compute(out, {.vector = 7, .scalar = 4, .shared = 18, .shared_bytes_per_lane = element_bytes});
  }
  if (first_thread == 0 && step == 6)
    return set_compute(out, {.vector = 3, .scalar = 4, .shared = 1, .shared_bytes_per_lane = element_bytes});
  if (first_thread == 0 && step == 7) return set_uniform(out, Op::store, element_bytes, result);
  set_end(out);
}

}  // namespace farfault::workloads
