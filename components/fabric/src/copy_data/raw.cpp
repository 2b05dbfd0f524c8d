// SPDX-License-Identifier: Apache-2.0
#include "farfault/fabric/copy_data.hpp"

namespace farfault::copy_data {

void raw(PolicyList<CopyData>& list) {
  list.add("raw", "uncompressed", {});
}

}  // namespace farfault::copy_data
