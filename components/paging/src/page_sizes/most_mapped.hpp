// SPDX-License-Identifier: Apache-2.0
// Private: the count that shows how much memory a way to choose page sizes takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/engine/probes.hpp"

namespace farfault::page_sizes {

class MostMapped {
 public:
  void mapped(std::uint64_t base_pages) { most_ = std::max(most_, base_pages); }
  auto members() { return std::tie(most_); }

  // Of a policy that has one as `most_mapped`.
  template <class P>
  static constexpr Stat<P> stat() {
    return {"most_mapped_pages", "count", "most base pages that were mapped at a time", StatKind::counter,
            [](P const& p) { return p.most_mapped.most_; }};
  }

 private:
  std::uint64_t most_ = 0;
};

}  // namespace farfault::page_sizes
