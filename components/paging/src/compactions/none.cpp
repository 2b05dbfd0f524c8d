// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/compaction.hpp"

namespace farfault::compactions {
namespace {

struct None final : Compaction {
  static constexpr Facts facts() { return {.compacts = false}; }
};

}  // namespace

void none(PolicyList<Compaction>& list) {
  list.add<None>("none", "no compaction");
}

}  // namespace farfault::compactions
