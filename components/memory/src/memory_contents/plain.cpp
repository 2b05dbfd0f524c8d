// SPDX-License-Identifier: Apache-2.0
#include "farfault/memory/memory_contents.hpp"

namespace farfault::memory_contents {

void plain(PolicyList<MemoryContents>& list) {
  list.add("plain", "uncompressed pages", {});
}

}  // namespace farfault::memory_contents
