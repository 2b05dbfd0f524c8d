// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/tlb_balance.hpp"

namespace farfault::tlb_balances {
namespace {

struct FixedBalance final : TlbBalance {
  std::uint64_t epoch() const override { return 0; }
  std::uint32_t counted(std::span<Counts const>) override { return 0; }
  std::uint32_t kernel_started() override { return 0; }
};

}  // namespace

void fixed(PolicyList<TlbBalance>& list) {
  list.add<FixedBalance>("fixed", "none: the distribution of the level");
}

}  // namespace farfault::tlb_balances
