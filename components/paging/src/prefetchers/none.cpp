// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/prefetcher.hpp"

namespace farfault::prefetchers {
namespace {

struct None final : Prefetcher {
  BlockPages choose(Block const&) const override { return {}; }
};

}  // namespace

void none(PolicyList<Prefetcher>& list) {
  list.add<None>("none", "faulted pages only");
}

}  // namespace farfault::prefetchers
