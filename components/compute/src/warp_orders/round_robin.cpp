// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "farfault/compute/warp_order.hpp"

namespace farfault::warp_orders {
namespace {

class RoundRobin final : public WarpOrder {
 public:
  std::uint32_t pick(std::uint64_t ready) override {
    auto const above = last_ == kMaxWarps - 1 ? 0 : ready >> (last_ + 1) << (last_ + 1);
    return static_cast<std::uint32_t>(std::countr_zero(above != 0 ? above : ready));
  }
  void issued(std::uint32_t slot) override { last_ = slot; }

  auto members() { return std::tie(last_); }

 private:
  std::uint64_t last_ = 0;  // slot that issued last
};

}  // namespace

void round_robin(PolicyList<WarpOrder>& list) {
  list.add<RoundRobin>("round_robin", "next ready warp (loose round robin)");
}

}  // namespace farfault::warp_orders
