// SPDX-License-Identifier: Apache-2.0
// Private: base of a compaction policy with statistics. P is the policy.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

#include "farfault/engine/probes.hpp"
#include "farfault/paging/compaction.hpp"

namespace farfault::compactions {

template <class P>
class Counted : public Compaction {
 public:
  void ended(std::uint64_t pages, bool is_free) override {
    emptied_ += is_free ? 1 : 0;
    moved_ += pages;
  }

  auto members() { return std::tie(emptied_, moved_); }
  static auto stats() {
    return std::array<Stat<P>, 2>{
        {{"emptied_large_frames", "count", "Large frames freed by compaction", StatKind::counter,
          [](P const& p) { return p.emptied_; }},
         {"moved_pages", "count", "Base pages moved by compaction, pre-fragmented data included",
          StatKind::counter, [](P const& p) { return p.moved_; }}}};
  }

 private:
  std::uint64_t emptied_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace farfault::compactions
