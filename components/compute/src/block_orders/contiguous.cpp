// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/block_order.hpp"

namespace farfault::block_orders {
namespace {

class Contiguous final : public BlockOrder {
 public:
  explicit Contiguous(Setup const& setup) : gpus_(setup.gpus) {}
  Share share(std::uint64_t blocks, std::uint32_t gpu) const override {
    auto const first = gpu * blocks / gpus_;
    return {first, (gpu + std::uint64_t{1}) * blocks / gpus_ - first, 1};
  }
  auto members() { return std::tie(gpus_); }

 private:
  std::uint64_t gpus_;
};

}  // namespace

void contiguous(PolicyList<BlockOrder>& list) {
  list.add<Contiguous>("contiguous", "runs of consecutive blocks whose lengths differ by at most one");
}

}  // namespace farfault::block_orders
