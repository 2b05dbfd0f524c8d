// Batch-aware unified memory (ASPLOS 2020), section 4.2: one unit leaves when a batch begins and the memory
// is full; each further one leaves while a page comes, over the other direction of the link.
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
          "units that are unmapped before it is their turn to leave, so that this takes no time of the link",
          "assumed: Fig. 10 shows transfers alone");
    }
  };
  explicit Unobtrusive(Params const& p) : ahead_(p.ahead) {}

  bool begins(Moment const& now) const override {
    return now.free_frames <= ahead_ && now.unmapping + now.unmapped + now.out <= ahead_;
  }
  bool leaves(Moment const& now) const override {
    return now.out == 0 && (now.free_frames == 0 || now.in != 0 || now.page_waits);
  }

  auto members() { return std::tie(ahead_); }

 private:
  std::uint64_t ahead_;
};

}  // namespace

void unobtrusive(PolicyList<EvictionSchedule>& list) {
  list.add<Unobtrusive>("unobtrusive", "one unit when a batch begins, then one beside each page that comes");
}

}  // namespace farfault::eviction_schedules
