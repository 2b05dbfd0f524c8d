// SPDX-License-Identifier: Apache-2.0
// A miss stops all accesses until its translation: the published code of MASK and Mosaic (CMU-SAFARI/Mosaic,
// v3.x/src/gpgpu-sim/shader.cc, process_cache_access: a missing access stalls the unit and is tried again).
#include "farfault/translation/miss_treatment.hpp"

namespace farfault::miss_treatments {

void blocking(PolicyList<MissTreatment>& list) {
  list.add("blocking", "no access is looked up while a miss is outstanding", {.pages = 1, .stops = true});
}

}  // namespace farfault::miss_treatments
