// SPDX-License-Identifier: Apache-2.0
// Hits under misses, and misses under misses: MGPUSim's and Akita's TLBs.
#include "farfault/translation/miss_treatment.hpp"

namespace farfault::miss_treatments {

void non_blocking(PolicyList<MissTreatment>& list) {
  list.add("non_blocking", "accesses go on until all MSHRs are in use", {.pages = MissTreatment::kEveryMshr});
}

}  // namespace farfault::miss_treatments
