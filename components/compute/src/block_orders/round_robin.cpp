// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/block_order.hpp"

namespace farfault::block_orders {
namespace {

class RoundRobin final : public BlockOrder {
 public:
  explicit RoundRobin(Setup const& setup) : gpus_(setup.gpus) {}
  Share share(std::uint64_t blocks, std::uint32_t gpu) const override {
    return {gpu, (blocks + gpus_ - 1 - gpu) / gpus_, gpus_};
  }
  auto members() { return std::tie(gpus_); }

 private:
  std::uint64_t gpus_;
};

}  // namespace

void round_robin(PolicyList<BlockOrder>& list) {
  list.add<RoundRobin>("round_robin", "one block at a time, over the GPUs in rotation");
}

}  // namespace farfault::block_orders
