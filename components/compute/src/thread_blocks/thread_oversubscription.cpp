// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), section 4.1 and Fig. 6.
//
// Each SM initially holds one block more than can issue; after each period one more or, if the mean lifetime
// of pages has decreased by more than a threshold, one less. The paper calls the compared value the running
// average, taken each 100,000 cycles. It leaves three points open, each with a parameter:
// - mean: over all pages evicted so far, or over the period;
// - reference: its highest value, or the value at the end of the previous period;
// - decrease ("decrementing (and limiting)"): the number is a bound from then on, may grow again, or becomes
//   zero.
// Without evictions the mean is unchanged; without a mean of the period the number grows. A bound on the
// number is assumed.
#include <algorithm>
#include <array>

#include "farfault/compute/thread_blocks.hpp"

namespace farfault::thread_blocks {
namespace {

class ThreadOversubscription final : public ThreadBlocks {
 public:
  enum class Mean : std::uint8_t { running, period };
  enum class Reference : std::uint8_t { highest, previous };
  enum class Decrease : std::uint8_t { limits, one_less, none };
  struct Params {
    SwapTrigger trigger = SwapTrigger::faults;
    std::uint32_t blocks = 2;
    std::uint32_t period = 100'000;
    std::uint32_t threshold = 20;
    Mean mean = Mean::running;
    Reference reference = Reference::highest;
    Decrease decrease = Decrease::limits;
    Saves saves = Saves::always;
    SavedIn saved_in = SavedIn::memory;
    std::uint32_t warp_bytes = 80;
    void describe(ParamTable& t) {
      t.choice("trigger", trigger,
               {{"faults", SwapTrigger::faults, "page faults only"},
                {"long_latency", SwapTrigger::accesses, "memory accesses of any kind"}},
               "Stall of all warps of a block at which the block is swapped out",
               "Batch-aware unified memory (ASPLOS 2020), section 4.1: faults; Fig. 5: long_latency");
      t.count("blocks", blocks, {1, kMaxExtra},
              "Maximum extra blocks of an SM, in addition to issuing blocks", "assumed");
      t.count("period", period, {1000, 1'000'000'000},
              "Cycles between changes of the number of extra blocks, by one",
              "Batch-aware unified memory (ASPLOS 2020), section 5.1");
      t.count("threshold", threshold, {0, 100},
              "Decrease of the mean page lifetime below its reference, in percent, at which the number of "
              "extra blocks shrinks",
              "Batch-aware unified memory (ASPLOS 2020), section 5.1: 20");
      t.choice("mean", mean,
               {{"running", Mean::running, "all pages evicted so far"},
                {"period", Mean::period, "pages evicted in the period"}},
               "Pages in the mean page lifetime",
               "Batch-aware unified memory (ASPLOS 2020), section 5.1: the running average");
      t.choice("reference", reference,
               {{"highest", Reference::highest, "the highest mean so far"},
                {"previous", Reference::previous, "the mean of the previous period"}},
               "Value with which the mean page lifetime is compared",
               "assumed; Batch-aware unified memory (ASPLOS 2020), section 4.1: \"decreased by a certain "
               "threshold\"");
      t.choice("decrease", decrease,
               {{"limits", Decrease::limits, "one less, as the new maximum"},
                {"one_less", Decrease::one_less, "one less, may grow again"},
                {"none", Decrease::none, "zero from then on"}},
               "Extra blocks after a decrease of the mean page lifetime",
               "Batch-aware unified memory (ASPLOS 2020), section 4.1: \"decrementing (and limiting)\"");
      t.choice("saves", saves,
               {{"always", Saves::always, "at every swap"},
                {"as_needed", Saves::as_needed, "only if the next block needs the room"}},
               "Saving of a swapped-out block's registers and shared memory",
               "Batch-aware unified memory (ASPLOS 2020), section 5.1: whenever a context switch occurs");
      t.choice("saved_in", saved_in,
               {{"memory", SavedIn::memory, "the GPU's memory"},
                {"shared_memory", SavedIn::shared_memory, "shared memory of unlimited size, close to ideal"}},
               "Memory for saved contexts", "Batch-aware unified memory (ASPLOS 2020), section 6.5");
      t.count("warp_bytes", warp_bytes, {0, 4096},
              "Bytes of a warp's state saved and restored in addition to its registers",
              "Batch-aware unified memory (ASPLOS 2020), footnote 5: 5 KB for 64 warps");
    }
  };
  static constexpr Facts facts(Params const& p) {
    return {.swap_trigger = p.trigger,
            .max_extra = p.blocks,
            .first_extra = kFirstExtra,
            .context = {p.saved_in, p.warp_bytes, p.saves},
            .adapts = true};
  }

  ThreadOversubscription(Params const& p, Setup const& setup)
      : period_(setup.clock.cycles(p.period)),
        limit_(p.blocks),
        threshold_(p.threshold),
        mean_(p.mean),
        reference_(p.reference),
        decrease_(p.decrease) {}

  std::uint32_t extra() const override { return static_cast<std::uint32_t>(extra_); }
  Duration period() const override { return period_; }
  bool is_steady() const override { return below_ != 0 ? extra_ == 0 : extra_ == limit_; }
  void period_ended(Evictions const& e) override {
    bool below = below_ != 0;
    if (e.pages != 0) {
      if (mean_ == Mean::period) pages_ = lifetimes_ = 0;
      pages_ += e.pages;
      lifetimes_ += e.lifetime_ps / 1000;
      auto const lifetime = lifetimes_ / pages_;
      below = lifetime * 100 < compared_with_ * (100 - threshold_);
      bool const stays = mean_ == Mean::running && reference_ == Reference::highest;
      below_ = below && stays ? 1 : 0;
      compared_with_ = reference_ == Reference::highest ? std::max(compared_with_, lifetime) : lifetime;
    }
    if (!below) {
      if (extra_ < limit_) ++extra_;
    } else if (extra_ != 0) {
      ++shrunk_;
      extra_ = decrease_ == Decrease::none ? 0 : extra_ - 1;
      if (decrease_ != Decrease::one_less) limit_ = static_cast<std::uint32_t>(extra_);
    }
  }

  auto members() {
    return std::tie(period_, extra_, pages_, lifetimes_, compared_with_, shrunk_, limit_, threshold_, mean_,
                    reference_, decrease_, below_, unused_);
  }
  static auto stats() {
    using S = ThreadOversubscription const&;
    return std::to_array<Stat<ThreadOversubscription>>(
        {{"extra_blocks", "count", "Extra blocks that an SM may hold in addition to issuing blocks",
          StatKind::level, [](S s) { return s.extra_; }},
         {"shrunk", "count", "Periods after which the number of extra blocks shrank", StatKind::counter,
          [](S s) { return s.shrunk_; }}});
  }

 private:
  static constexpr std::uint32_t kFirstExtra = 1;

  Duration period_;
  std::uint64_t extra_ = kFirstExtra;
  std::uint64_t pages_ = 0;          // in the mean
  std::uint64_t lifetimes_ = 0;      // of these, summed, in ns
  std::uint64_t compared_with_ = 0;  // reference for the next mean
  std::uint64_t shrunk_ = 0;
  std::uint32_t limit_;  // of extra_, at most max_extra
  std::uint32_t threshold_;
  Mean mean_;
  Reference reference_;
  Decrease decrease_;
  std::uint8_t below_ = 0;  // without evictions the mean is still below its reference
  std::array<std::uint8_t, 4> unused_{};
};

}  // namespace

void thread_oversubscription(PolicyList<ThreadBlocks>& list) {
  list.add<ThreadOversubscription>(
      "thread_oversubscription",
      "extra blocks, swapped in for blocks stalled on page faults (Batch-aware unified memory, ASPLOS 2020)");
}

}  // namespace farfault::thread_blocks
