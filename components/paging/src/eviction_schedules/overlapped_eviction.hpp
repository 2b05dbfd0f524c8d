// SPDX-License-Identifier: Apache-2.0
// Private: evictions that overlap migrations (Batch-aware unified memory, ASPLOS 2020, section 4.2). One unit
// is evicted when a batch begins and the memory is full. While pages are transferred in, the next units are
// unmapped in advance and wait at the copy engine, so that the link is not idle meanwhile.
#pragma once

#include <cstdint>
#include <tuple>

#include "farfault/engine/params.hpp"
#include "farfault/paging/eviction_schedule.hpp"

namespace farfault::eviction_schedules {

class OverlappedEviction : public EvictionSchedule {
 public:
  struct Params {
    std::uint32_t ahead = 1;
    void describe(ParamTable& t) {
      t.count(
          "ahead", ahead, {0, 64},
          "Maximum eviction units unmapped in advance while pages migrate in; as many more are queued at the "
          "copy engine",
          "assumed; Batch-aware unified memory (ASPLOS 2020), Fig. 10, shows back-to-back transfers only");
    }
  };
  explicit OverlappedEviction(Params const& p) : ahead_(p.ahead) {}

  bool evicts(Snapshot const& now) const override {
    auto const in_flight = now.unmapping + now.unmapped + now.out;
    return now.free_frames == 0 && now.in <= 1 + ahead_ && in_flight <= (now.in != 0 ? 2 * ahead_ : 0);
  }
  bool writes_out(Snapshot const& now) const override { return now.out <= (now.in != 0 ? ahead_ : 0); }

  auto members() { return std::tie(ahead_); }

 private:
  std::uint64_t ahead_;
};

}  // namespace farfault::eviction_schedules
