// SPDX-License-Identifier: Apache-2.0
// Thread-block policy: the number of blocks that an SM holds beyond the blocks that can issue, and when a
// block is swapped out.
//
// - Model: the SM's limits (max_warps, max_threads, max_blocks) bound the blocks that issue at a time; its
//   registers and shared memory bound the blocks whose contents it keeps (capacity). A block beyond either
//   waits, fresh or swapped out. A swapped-out block leaves its slots; its context is saved, and restored
//   before it issues again.
// - extra() and running_sms() may change only in period_ended().
// - Each GPU has its own object. An SM knows the facts, and later changes of extra() from its GPU.
// - Sources: Yoon et al., "Virtual Thread", ISCA 2016, as described in Batch-aware unified memory (ASPLOS
//   2020), section 4.1.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

class ThreadBlocks {
 public:
  static constexpr std::uint32_t kMaxExtra = 32;

  using Interface = ThreadBlocks;
  struct Setup {
    Clock clock{1'000'000'000};
    std::uint32_t sms = 1;
  };
  static PolicyList<ThreadBlocks> known();

  // When a block is swapped out: when all of its warps that are not at a barrier wait only for faults, or for
  // accesses of any kind; or never.
  enum class SwapTrigger : std::uint8_t { none, faults, accesses };
  // The place of saved contexts: the GPU's memory, as requests of the SM, or the SM's shared memory, at
  // its rate and regardless of its size.
  enum class SavedIn : std::uint8_t { memory, shared_memory };
  // When a swapped-out block's registers and shared memory are saved: if the next block needs the room, or
  // always.
  enum class Saves : std::uint8_t { as_needed, always };
  // The context of a swapped-out block: the state of its warps and, as Saves selects, its registers and
  // shared memory.
  struct Context {
    SavedIn saved_in = SavedIn::memory;
    std::uint32_t warp_bytes = 0;  // state of a warp, without its registers
    Saves saves = Saves::as_needed;
  };
  struct Facts {
    SwapTrigger swap_trigger = SwapTrigger::none;
    std::uint32_t max_extra = 0;
    std::uint32_t first_extra = 0;
    Context context{};
    bool stops_sms = false;  // running_sms() may be fewer than all
    bool adapts = false;     // to evictions; false: period_ended() is never called, and they are not counted
  };
  // Evictions of the GPU in the period that has ended.
  struct Evictions {
    std::uint64_t pages = 0;
    std::uint64_t premature = 0;    // pages that were faulted on again after an eviction
    std::uint64_t lifetime_ps = 0;  // from a page's arrival to its eviction, summed
  };

  virtual ~ThreadBlocks() = default;
  // True if an SM that holds `held` extra blocks, fewer than max_extra, accepts one more, with or without
  // free registers and shared memory for it. Called before a block is assigned to an SM on which it cannot
  // issue immediately.
  virtual bool takes(std::uint32_t held, bool has_capacity) const {
    static_cast<void>(has_capacity);
    return held < extra();
  }
  // Maximum number of begun blocks per SM that wait; first_extra at the start.
  virtual std::uint32_t extra() const { return 0; }
  // SMs from this number on issue nothing and get no blocks.
  virtual std::uint32_t running_sms() const { return ~0U; }
  // Above zero if `adapts`, else zero.
  virtual Duration period() const { return Duration::zero(); }
  // Called after each period() of simulated time while blocks run.
  virtual void period_ended(Evictions const& of_period) { static_cast<void>(of_period); }
  // If true, the call for periods without evictions may be delayed until a page is evicted; extra(),
  // running_sms() and is_steady() must not change at the end of these periods.
  virtual bool is_steady() const { return false; }
};

extern template class PolicyChoice<ThreadBlocks>;

}  // namespace farfault
