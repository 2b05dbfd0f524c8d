// SPDX-License-Identifier: Apache-2.0
// Treatment of TLB misses by a translation client: the accesses that go on while translations are
// outstanding. It has facts only.
//
// - pages: maximum pages with an outstanding miss; kEveryMshr: as many as the client has MSHRs. An access to
//   one of these pages joins the miss.
// - stops: no access is looked up while a miss is outstanding. Otherwise accesses that hit go on.
// - In both cases an access that must wait holds up the accesses behind it.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class MissTreatment {
 public:
  using Interface = MissTreatment;
  struct Setup {};
  static constexpr std::uint32_t kEveryMshr = 0;
  struct Facts {
    Needed<std::uint32_t> pages;
    bool stops = false;
  };
  static PolicyList<MissTreatment> known();

  virtual ~MissTreatment() = default;
};

extern template class PolicyChoice<MissTreatment>;

}  // namespace farfault
