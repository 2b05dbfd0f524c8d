// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), section 4.1 and Fig. 6.
//
// Each SM gets one block more than can issue, from the start; after each period one more or, when the mean
// lifetime of pages has fallen by more than a threshold since the end of the period before, one less. The
// paper calls that which is compared the running average, taken each 100,000 cycles: it can be the mean over
// all pages evicted so far, or over those of the period. That a period without evictions lets the number grow
// is assumed. So is a bound on the number; 6.1 of the paper looks at twice and three times the blocks.
#include "farfault/compute/thread_blocks.hpp"

namespace farfault::thread_blocks {
namespace {

class ThreadOversubscription final : public ThreadBlocks {
 public:
  enum class Mean : std::uint8_t { running, period };
  struct Params {
    LeavesOn trigger = LeavesOn::faults;
    std::uint32_t blocks = 2;
    std::uint32_t period = 100'000;
    std::uint32_t threshold = 20;
    Mean mean = Mean::running;
    SavedIn saved_in = SavedIn::memory;
    std::uint32_t warp_bytes = 80;
    void describe(ParamTable& t) {
      t.choice("trigger", trigger, {{"faults", LeavesOn::faults}, {"long_latency", LeavesOn::accesses}},
               "what all warps of a block wait for when it gives way: page faults alone, or accesses of any "
               "kind",
               "Batch-aware unified memory (ASPLOS 2020), section 4.1: faults; Fig. 5: long_latency");
      t.count("blocks", blocks, {1, kMostExtra}, "blocks that an SM holds beyond those that issue, at most",
              "assumed");
      t.count("period", period, {1000, 1'000'000'000},
              "cycles after which the number of extra blocks changes by one",
              "Batch-aware unified memory (ASPLOS 2020), section 5.1");
      t.count(
          "threshold", threshold, {0, 100},
          "percent by which the mean lifetime of pages is below that of the period before when the number "
          "shrinks",
          "Batch-aware unified memory (ASPLOS 2020), section 5.1: 20");
      t.choice("mean", mean, {{"running", Mean::running}, {"period", Mean::period}},
               "over which evicted pages the mean lifetime is taken: all so far, or those of the period",
               "Batch-aware unified memory (ASPLOS 2020), section 5.1: the running average");
      t.choice("saved_in", saved_in, {{"memory", SavedIn::memory}, {"shared_memory", SavedIn::shared_memory}},
               "where contexts are saved: in the GPU's memory, or in shared memory of any size, which is "
               "close to ideal",
               "Batch-aware unified memory (ASPLOS 2020), section 6.5");
      t.count("warp_bytes", warp_bytes, {0, 4096},
              "bytes of a warp's state that are saved and restored beside its registers",
              "Batch-aware unified memory (ASPLOS 2020), footnote 5: 5 KB for 64 warps");
    }
  };
  ThreadOversubscription(Params const& p, Setup const& setup)
      : period_(setup.clock.cycles(p.period)),
        most_(p.blocks),
        threshold_(p.threshold),
        warp_bytes_(p.warp_bytes),
        trigger_(p.trigger),
        saved_in_(p.saved_in),
        mean_(p.mean) {}

  LeavesOn leaves_on() const override { return trigger_; }
  std::uint32_t most_extra() const override { return most_; }
  Context context() const override { return {saved_in_, warp_bytes_}; }
  std::uint32_t extra() const override { return static_cast<std::uint32_t>(extra_); }
  Duration period() const override { return period_; }
  bool is_steady() const override { return extra_ == most_; }
  void period_ended(Evictions const& e) override {
    bool shrinks = false;
    if (e.pages != 0) {
      if (mean_ == Mean::period) pages_ = lifetimes_ = 0;
      pages_ += e.pages;
      lifetimes_ += e.lifetime_ps / 1000;
      auto const lifetime = lifetimes_ / pages_;
      shrinks = lifetime * 100 < lifetime_ * (100 - threshold_);
      lifetime_ = lifetime;
    }
    if (shrinks) {
      ++shrunk_;
      if (extra_ != 0) --extra_;
    } else if (extra_ < most_) {
      ++extra_;
    }
  }

  auto members() {
    return std::tie(period_, extra_, pages_, lifetimes_, lifetime_, shrunk_, most_, threshold_, warp_bytes_,
                    trigger_, saved_in_, mean_, unused_);
  }
  static auto stats() {
    using S = ThreadOversubscription const&;
    return std::to_array<Stat<ThreadOversubscription>>(
        {{"extra_blocks", "count", "blocks that an SM may hold beyond those that issue", StatKind::level,
          [](S s) { return s.extra_; }},
         {"shrunk", "count", "periods after which there was to be one less, as pages lived shorter",
          StatKind::counter, [](S s) { return s.shrunk_; }}});
  }

 private:
  Duration period_;
  std::uint64_t extra_ = 1;
  std::uint64_t pages_ = 0;      // over which the mean is taken
  std::uint64_t lifetimes_ = 0;  // of these, summed, in ns
  std::uint64_t lifetime_ = 0;   // the mean when the last period with evictions ended
  std::uint64_t shrunk_ = 0;
  std::uint32_t most_;
  std::uint32_t threshold_;
  std::uint32_t warp_bytes_;
  LeavesOn trigger_;
  SavedIn saved_in_;
  Mean mean_;
  std::uint8_t unused_ = 0;
};

}  // namespace

void thread_oversubscription(PolicyList<ThreadBlocks>& list) {
  list.add<ThreadOversubscription>(
      "thread_oversubscription",
      "some more than can issue; those whose warps all wait for faults give way, and are saved in memory");
}

}  // namespace farfault::thread_blocks
