// SPDX-License-Identifier: Apache-2.0
// Kernels and thread blocks: between the host, dispatchers and SMs. Kernels are numbered over all
// applications (applications.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "farfault/engine/event.hpp"

namespace farfault {

// `launch` counts this application's launches, from 0.
struct LaunchKernel {
  std::uint32_t kernel;
  std::uint32_t launch;
};
// `reports`: number of KernelCounts messages about the kernel that its sender sent together with this one.
struct KernelDone {
  std::uint32_t gpu;
  std::uint32_t kernel;
  std::uint32_t reports = 0;
};
// From the host to every GPU, after all GPUs have reported the last block of a kernel: write back all dirty
// lines.
struct KernelEnd {
  std::uint32_t kernel;
};
struct StartBlock {
  std::uint64_t block;
  std::uint32_t kernel;
  std::uint32_t launch;
};
struct BlockDone {
  std::uint64_t block;
  std::uint32_t sm;
  std::uint32_t kernel;
  std::uint32_t reports = 0;
  std::uint32_t unused = 0;
};
// Increments of an SM's counters on behalf of one kernel: a run of counters from number `first` on, in the
// order of SmStats, seven bits per byte (kernel_counts.hpp). The SM sends it to the dispatcher with the
// BlockDone of the kernel's last block there; the dispatcher sends it to the host with the KernelDone. It is
// handled before these: it is sent at the same time, over a link of the same latency, to a port with a lower
// number.
struct KernelCounts {
  static constexpr std::uint32_t kBytes = 34;
  std::uint32_t kernel;
  std::uint8_t first = 0;
  std::uint8_t count = 0;  // used bytes
  std::array<std::uint8_t, kBytes> bytes{};
};
// From a dispatcher to an SM.
struct BlockControl {
  std::uint32_t extra = 0;    // maximum number of begun blocks that wait (ThreadBlocks::extra)
  std::uint32_t stopped = 0;  // 1: the SM stops issuing
};

static_assert(Message<LaunchKernel> && Message<KernelDone> && Message<KernelEnd> && Message<KernelCounts>);
static_assert(Message<StartBlock> && Message<BlockDone> && Message<BlockControl>);

}  // namespace farfault
