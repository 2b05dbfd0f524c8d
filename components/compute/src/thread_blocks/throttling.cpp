// SPDX-License-Identifier: Apache-2.0
// Memory-aware throttling of ETC: Li et al., "A Framework for Memory Oversubscription Management in Graphics
// Processing Units", ASPLOS 2019, as described in Batch-aware unified memory (ASPLOS 2020), footnote 8.
//
// The first epoch with evictions disables half of the SMs. From then on, detection and execution epochs
// alternate: after a detection epoch in which evicted pages were faulted on again, fewer SMs run; otherwise
// more do. The lengths of the epochs and the step are assumed: the footnote gives neither.
#include <algorithm>

#include "farfault/compute/thread_blocks.hpp"

namespace farfault::thread_blocks {
namespace {

class Throttling final : public ThreadBlocks {
 public:
  struct Params {
    std::uint32_t detection = 100'000;
    std::uint32_t execution = 400'000;
    std::uint32_t step = 1;
    void describe(ParamTable& t) {
      t.count("detection", detection, {1000, 1'000'000'000}, "Cycles of a detection epoch", "assumed");
      t.count("execution", execution, {1000, 1'000'000'000}, "Cycles of an execution epoch", "assumed");
      t.count("step", step, {1, 1024},
              "SMs disabled after a detection epoch in which evicted pages were faulted on again; otherwise, "
              "SMs enabled",
              "assumed");
    }
  };
  static constexpr Facts facts() { return {.stops_sms = true, .adapts = true}; }

  Throttling(Params const& p, Setup const& setup)
      : detection_(setup.clock.cycles(p.detection)),
        execution_(setup.clock.cycles(p.execution)),
        step_(p.step),
        sms_(setup.sms),
        running_(setup.sms) {}

  std::uint32_t running_sms() const override { return static_cast<std::uint32_t>(running_); }
  Duration period() const override { return phase_ == kExecution ? execution_ : detection_; }
  bool is_steady() const override { return running_ == sms_; }
  void period_ended(Evictions const& e) override {
    switch (phase_) {
      case kBefore:
        if (e.pages == 0) return;
        running_ = std::max<std::uint64_t>(sms_ / 2, 1);
        phase_ = kExecution;
        return;
      case kDetection:
        running_ = e.premature != 0 ? std::max<std::uint64_t>(running_ > step_ ? running_ - step_ : 1, 1)
                                    : std::min<std::uint64_t>(running_ + step_, sms_);
        phase_ = kExecution;
        return;
      default:
        phase_ = kDetection;
    }
  }

  auto members() { return std::tie(detection_, execution_, step_, sms_, running_, phase_); }
  static auto stats() {
    return std::to_array<Stat<Throttling>>({{"running_sms", "count", "Enabled SMs", StatKind::level,
                                             [](Throttling const& s) { return s.running_; }}});
  }

 private:
  static constexpr std::uint64_t kBefore = 0;
  static constexpr std::uint64_t kDetection = 1;
  static constexpr std::uint64_t kExecution = 2;

  Duration detection_;
  Duration execution_;
  std::uint32_t step_;
  std::uint32_t sms_;
  std::uint64_t running_;
  std::uint64_t phase_ = kBefore;
};

}  // namespace

void throttling(PolicyList<ThreadBlocks>& list) {
  list.add<Throttling>(
      "throttling",
      "as occupancy, but some SMs are disabled while evicted pages are faulted on again (ETC, ASPLOS 2019)");
}

}  // namespace farfault::thread_blocks
