// SPDX-License-Identifier: Apache-2.0
#include "farfault/parts/replacement.hpp"

namespace farfault::replacements {
namespace {

struct Lru final : Replacement {
  std::uint32_t victim(View const& set) override { return oldest(set.used); }
};

}  // namespace

void lru(PolicyList<Replacement>& list) {
  list.add<Lru>("lru", "least recently used entry");
}

}  // namespace farfault::replacements
