// SPDX-License-Identifier: Apache-2.0
// Block order: the distribution of a kernel's blocks over the GPUs.
//
// Contract: share() returns the blocks of one GPU; the shares of all GPUs contain each block once. It
// is a function of its arguments, so every GPU can compute its own share.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class BlockOrder {
 public:
  using Interface = BlockOrder;
  struct Setup {
    std::uint32_t gpus = 1;
    std::uint32_t sms = 1;  // per GPU
  };
  // The blocks first, first + step, ...
  struct Share {
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t step;
  };
  static PolicyList<BlockOrder> known();

  virtual ~BlockOrder() = default;
  virtual Share share(std::uint64_t blocks, std::uint32_t gpu) const = 0;
};

extern template class PolicyChoice<BlockOrder>;

}  // namespace farfault
