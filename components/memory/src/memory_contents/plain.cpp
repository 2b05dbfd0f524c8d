// SPDX-License-Identifier: Apache-2.0
#include "farfault/memory/memory_contents.hpp"

namespace farfault::memory_contents {
namespace {

struct Plain final : MemoryContents {};

}  // namespace

void plain(PolicyList<MemoryContents>& list) {
  list.add<Plain>("plain", "uncompressed pages");
}

}  // namespace farfault::memory_contents
