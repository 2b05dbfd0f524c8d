// SPDX-License-Identifier: Apache-2.0
#include "farfault/parts/replacement.hpp"

namespace farfault::replacements {
namespace {

struct Fifo final : Replacement {
  static constexpr Facts facts() { return {.insertions = true}; }
  std::uint32_t victim(View const& set) override { return oldest(set.inserted); }
};

}  // namespace

void fifo(PolicyList<Replacement>& list) {
  list.add<Fifo>("fifo", "oldest entry");
}

}  // namespace farfault::replacements
