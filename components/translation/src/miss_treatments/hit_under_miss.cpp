// SPDX-License-Identifier: Apache-2.0
// Hits under one miss: the augmented TLB of Pichai et al. (ASPLOS 2014).
#include "farfault/translation/miss_treatment.hpp"

namespace farfault::miss_treatments {

void hit_under_miss(PolicyList<MissTreatment>& list) {
  list.add("hit_under_miss", "accesses go on until a second page misses", {.pages = 1});
}

}  // namespace farfault::miss_treatments
