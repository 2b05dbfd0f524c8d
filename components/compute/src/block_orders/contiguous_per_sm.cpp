// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "farfault/compute/block_order.hpp"

namespace farfault::block_orders {
namespace {

class ContiguousPerSm final : public BlockOrder {
 public:
  explicit ContiguousPerSm(Setup const& setup) : gpus_(setup.gpus), sms_(setup.sms) {}
  Share share(std::uint64_t blocks, std::uint32_t gpu) const override {
    auto const all_sms = gpus_ * sms_;
    auto const run = sms_ * ((blocks + all_sms - 1) / all_sms);
    auto const first = std::min(gpu * run, blocks);
    return {first, std::min(run, blocks - first), 1};
  }
  auto members() { return std::tie(gpus_, sms_); }

 private:
  std::uint64_t gpus_;
  std::uint64_t sms_;
};

}  // namespace

void contiguous_per_sm(PolicyList<BlockOrder>& list) {
  list.add<ContiguousPerSm>("contiguous_per_sm",
                            "runs of SMs x ceil(blocks / SMs of all GPUs), the last runs shorter or empty");
}

}  // namespace farfault::block_orders
