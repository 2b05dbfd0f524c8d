// SPDX-License-Identifier: Apache-2.0
// Mosaic (MICRO 2017), section 4.4: page contents are read and written over the memory channel.
#include "counted.hpp"

namespace farfault::compactions {
namespace {

struct Cac final : Counted<Cac> {};

}  // namespace

void cac(PolicyList<Compaction>& list) {
  list.add<Cac>("cac", "pages copied line by line by the GPU's copy engine (Mosaic)");
}

}  // namespace farfault::compactions
