// SPDX-License-Identifier: Apache-2.0
#include "farfault/fabric/copy_data.hpp"

namespace farfault::copy_data {
namespace {

struct Raw final : CopyData {};

}  // namespace

void raw(PolicyList<CopyData>& list) {
  list.add<Raw>("raw", "uncompressed");
}

}  // namespace farfault::copy_data
