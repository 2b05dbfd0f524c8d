// SPDX-License-Identifier: Apache-2.0
// How many thread blocks an SM holds beyond those that can issue, and when one gives way to another.
//
// What an SM has for its warps bounds the blocks that issue at a time (max_warps, max_threads, max_blocks);
// its registers and shared memory, those whose contents it keeps (capacity). A block beyond either waits: it
// is fresh, or it has begun and given way. A block that gives way leaves its slots; its context, which is the
// state of its warps and, always or if the other needs the room, its registers and shared memory, is saved,
// and restored before it issues again.
//
// Contract: leaves_on(), most_extra() and context() are functions of the parameters alone. takes() is asked
// before a block goes to an SM on which it cannot issue at once; an SM has no more than most_extra() of
// these. extra() and running_sms() may change with period_ended() only, which is called after each period()
// of simulated time while blocks run; with zero it is never called, and nobody counts evictions. It is called
// late, when a page has left, for periods in which none did and is_steady() was true: neither of the two may
// change at the end of such a period, nor is_steady(). SMs from number running_sms() on issue nothing and get
// no blocks. Each GPU has an object of its own; its SMs make one for what depends on parameters alone.
//
// Sources: Yoon et al., "Virtual Thread", ISCA 2016, as described in Batch-aware unified memory (ASPLOS
// 2020), section 4.1.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

class ThreadBlocks {
 public:
  static constexpr std::uint32_t kMostExtra = 32;

  using Interface = ThreadBlocks;
  struct Setup {
    Clock clock{1'000'000'000};
    std::uint32_t sms = 1;
  };
  static PolicyList<ThreadBlocks> known();

  // A block gives way when all of its warps that are not at a barrier wait for nothing but faults, or for
  // accesses of any kind; or never.
  enum class LeavesOn : std::uint8_t { nothing, faults, accesses };
  // Where contexts are saved: in the GPU's memory, as requests of the SM, or in the SM's shared memory, at
  // its rate and whatever its size.
  enum class SavedIn : std::uint8_t { memory, shared_memory };
  // When a swapped-out block's registers and shared memory are saved: if the next block needs the room, or
  // always.
  enum class Saves : std::uint8_t { as_needed, always };
  struct Context {
    SavedIn saved_in = SavedIn::memory;
    std::uint32_t warp_bytes = 0;  // state of a warp beside its registers
    Saves saves = Saves::as_needed;
  };
  // Of the GPU, in the period that has ended.
  struct Evictions {
    std::uint64_t pages = 0;
    std::uint64_t premature = 0;    // faulted pages that came again after an eviction
    std::uint64_t lifetime_ps = 0;  // from a page's arrival to its eviction, summed
  };

  virtual ~ThreadBlocks() = default;
  virtual LeavesOn leaves_on() const { return LeavesOn::nothing; }
  virtual std::uint32_t most_extra() const { return 0; }
  virtual Context context() const { return {}; }
  // Whether an SM that holds `held` extra blocks gets one more, of which registers and shared memory are free
  // or not.
  virtual bool takes(std::uint32_t held, bool has_capacity) const {
    static_cast<void>(has_capacity);
    return held < extra();
  }
  // How many blocks of an SM may have begun and wait.
  virtual std::uint32_t extra() const { return 0; }
  virtual std::uint32_t running_sms() const { return ~0U; }
  virtual Duration period() const { return Duration::zero(); }
  virtual void period_ended(Evictions const& of_period) { static_cast<void>(of_period); }
  virtual bool is_steady() const { return false; }
};

extern template class PolicyChoice<ThreadBlocks>;

}  // namespace farfault
