// SPDX-License-Identifier: Apache-2.0
// Private: statistic of the memory that a page-size policy needs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/engine/probes.hpp"

namespace farfault::page_sizes {

class MostMapped {
 public:
  void mapped(std::uint64_t base_pages) { most_ = std::max(most_, base_pages); }
  auto members() { return std::tie(most_); }

  // For a policy with a member `most_mapped`.
  template <class P>
  static constexpr Stat<P> stat() {
    return {"most_mapped_pages", "count", "Maximum base pages mapped at a time", StatKind::counter,
            [](P const& p) { return p.most_mapped.most_; }};
  }

 private:
  std::uint64_t most_ = 0;
};

}  // namespace farfault::page_sizes
