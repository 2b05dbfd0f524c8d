// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), section 4.2: one unit leaves when a batch begins and the memory
// is full; each further one leaves while a page comes, over the other direction of the link. While pages
// come, the next units are unmapped ahead, and wait at the copy engine, so that neither takes time of the
// link.
#include "farfault/paging/eviction_schedule.hpp"

namespace farfault::eviction_schedules {
namespace {

class Unobtrusive final : public EvictionSchedule {
 public:
  struct Params {
    std::uint32_t ahead = 1;
    void describe(ParamTable& t) {
      t.count(
          "ahead", ahead, {0, 64},
          "units that are unmapped, and as many that wait at the copy engine, before their turn to leave, "
          "while pages come",
          "assumed: Fig. 10 shows transfers alone, one behind the other");
    }
  };
  explicit Unobtrusive(Params const& p) : ahead_(p.ahead) {}

  bool begins(Moment const& now) const override {
    auto const under_way = now.unmapping + now.unmapped + now.out;
    return now.free_frames == 0 && now.in <= 1 + ahead_ && under_way <= (now.in != 0 ? 2 * ahead_ : 0);
  }
  bool leaves(Moment const& now) const override { return now.out <= (now.in != 0 ? ahead_ : 0); }

  auto members() { return std::tie(ahead_); }

 private:
  std::uint64_t ahead_;
};

}  // namespace

void unobtrusive(PolicyList<EvictionSchedule>& list) {
  list.add<Unobtrusive>("unobtrusive", "one unit when a batch begins, then one beside each page that comes");
}

}  // namespace farfault::eviction_schedules
