// SPDX-License-Identifier: Apache-2.0
// Additional latency of messages between partitions of a GPU, such as the chiplets of a package: nothing
// within a partition. The receivers, such as L2 slices, are numbered partition by partition.
#pragma once

#include <cstdint>

#include "farfault/engine/time.hpp"

namespace farfault {

struct PartitionHop {
  std::uint32_t partition = 0;  // of the sender
  std::uint32_t receivers = 0;  // of each partition; 0: there is one partition
  Duration latency{};           // one way

  Duration to(std::uint32_t receiver) const {
    return receivers == 0 || receiver / receivers == partition ? Duration::zero() : latency;
  }
};

}  // namespace farfault
