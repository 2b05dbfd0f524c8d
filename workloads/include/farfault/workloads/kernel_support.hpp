// SPDX-License-Identifier: Apache-2.0
// Helpers that all kernels share: they fill an instruction and find the threads of a warp.
//
// Rules of the address streams:
// - A load does not block. The first instruction that uses loaded values has wait_loads.
// - A group of computation counts the warp's instructions by the unit that executes them, as in the compiled
//   kernels of MGPUSim 4.2 for gfx803 (table in docs/reference/workloads.md). Address computation is part of
//   the group before the access, or of the group after it if this saves a group.
// - Kernels begin with the loads of their arguments.
// - An address that is the same for all lanes is read through the scalar cache if the compiled kernel has a
//   scalar load; otherwise one lane accesses it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "farfault/protocols/kernel.hpp"

namespace farfault::workloads {

constexpr std::uint64_t low_lanes(std::uint32_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0);
}

// True if the step is one of the next `count` steps; otherwise subtracts `count` from the step.
constexpr bool take(std::uint64_t& step, std::uint64_t count) {
  if (step < count) return true;
  step -= count;
  return false;
}

inline constexpr bool kWait = true;

inline void set_end(WarpInstruction& out) {
  out.op = Op::end;
  out.wait_loads = false;
}

inline void set_compute(WarpInstruction& out, Work const& work, bool wait = false) {
  out.op = Op::compute;
  out.wait_loads = wait;
  out.work = work;
}

// `count` scalar loads of `bytes` in total, within 64 aligned bytes.
inline void set_scalar_load(WarpInstruction& out, VirtAddr address, std::uint32_t bytes,
                            std::uint32_t count = 1) {
  out.op = Op::scalar_load;
  out.wait_loads = false;
  out.bytes_per_lane = static_cast<std::uint16_t>(bytes);
  out.work = {.scalar = count};
  out.address[0] = address;
}

// The kernel's arguments and sizes, read by `count` scalar loads.
inline void set_arguments(WarpInstruction& out, std::uint32_t count) {
  set_scalar_load(out, kKernelArguments, kArgumentBlock, count);
}

inline void set_barrier(WarpInstruction& out) {
  out.op = Op::barrier;
  out.wait_loads = false;
}

// The caller fills the addresses of the lanes in `lanes`.
inline void set_access(WarpInstruction& out, Op op, std::uint32_t bytes, std::uint64_t lanes,
                       bool wait = false) {
  out.op = op;
  out.wait_loads = wait;
  out.bytes_per_lane = static_cast<std::uint16_t>(bytes);
  out.lanes = lanes;
}

// Lane i of 0 to count-1 accesses first + i x stride.
inline void set_linear(WarpInstruction& out, Op op, std::uint32_t bytes, VirtAddr first, std::uint64_t stride,
                       std::uint32_t count, bool wait = false) {
  set_access(out, op, bytes, low_lanes(count), wait);
  // Two vectors of two addresses advance by additions only, which halves the time of the plain loop. They may
  // write up to three unused addresses after the last active lane.
  using Pair = std::uint64_t __attribute__((vector_size(16)));
  Pair even{first, first + stride};
  Pair odd{first + 2 * stride, first + 3 * stride};
  Pair const four{4 * stride, 4 * stride};
  for (std::uint32_t i = 0; i < count; i += 4, even += four, odd += four) {
    std::memcpy(&out.address[i], &even, sizeof even);
    std::memcpy(&out.address[i + 2], &odd, sizeof odd);
  }
}

inline void set_uniform(WarpInstruction& out, Op op, std::uint32_t bytes, VirtAddr address,
                        bool wait = false) {
  set_access(out, op, bytes, 1, wait);
  out.address[0] = address;
}

// The threads of one warp in a one-dimensional grid, clipped to the number of items.
struct ThreadRange {
  std::uint64_t first;
  std::uint32_t lanes;  // 0 if the warp is beyond the last item
};

class LinearKernel : public Kernel {
 public:
  KernelShape const& shape() const override { return shape_; }

 protected:
  LinearKernel(KernelShape shape, std::uint32_t warp_width, std::uint64_t items)
      : shape_(std::move(shape)), warp_width_(warp_width), items_(items) {}

  ThreadRange threads(std::uint64_t block, std::uint32_t warp) const {
    auto const in_block = warp * warp_width_;
    auto const first = block * shape_.threads_per_block + in_block;
    if (first >= items_ || in_block >= shape_.threads_per_block) return {first, 0};
    auto const lanes =
        std::min<std::uint64_t>(std::min(warp_width_, shape_.threads_per_block - in_block), items_ - first);
    return {first, static_cast<std::uint32_t>(lanes)};
  }

  std::uint32_t warp_width() const { return warp_width_; }
  std::uint64_t items() const { return items_; }

 private:
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t items_;
};

}  // namespace farfault::workloads
