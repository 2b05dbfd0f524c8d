// SPDX-License-Identifier: Apache-2.0
// Resources that thread blocks take on an SM, compared with its limits. A partial warp takes the resources of
// a whole one.
#pragma once

#include <cstdint>

#include "farfault/compute/sm_params.hpp"
#include "farfault/protocols/kernel.hpp"

namespace farfault {

struct SmUse {
  std::uint32_t warps = 0;
  std::uint32_t threads = 0;
  std::uint32_t blocks = 0;
  std::uint32_t registers = 0;
  std::uint64_t shared_bytes = 0;

  // Use of one block.
  static SmUse of(KernelShape const& shape, std::uint32_t warp_width) {
    auto const warps = (shape.threads_per_block + warp_width - 1) / warp_width;
    return {.warps = warps,
            .threads = shape.threads_per_block,
            .blocks = 1,
            .registers = shape.registers_per_thread * warps * warp_width,
            .shared_bytes = shape.shared_bytes_per_block};
  }
  SmUse& operator+=(SmUse const& o) {
    warps += o.warps;
    threads += o.threads;
    blocks += o.blocks;
    registers += o.registers;
    shared_bytes += o.shared_bytes;
    return *this;
  }
  SmUse& operator-=(SmUse const& o) {
    warps -= o.warps;
    threads -= o.threads;
    blocks -= o.blocks;
    registers -= o.registers;
    shared_bytes -= o.shared_bytes;
    return *this;
  }
  friend SmUse operator+(SmUse a, SmUse const& b) { return a += b; }
  friend SmUse operator-(SmUse a, SmUse const& b) { return a -= b; }

  // Fits the limits of issuing blocks; fits registers and shared memory.
  bool can_issue(SmParams const& sm) const {
    return warps <= sm.max_warps && threads <= sm.max_threads && blocks <= sm.max_blocks;
  }
  bool has_capacity(SmParams const& sm) const {
    return registers <= sm.registers && shared_bytes <= sm.shared_bytes;
  }
};

}  // namespace farfault
