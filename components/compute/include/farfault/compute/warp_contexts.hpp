// SPDX-License-Identifier: Apache-2.0
// The warp contexts of an SM; some of them are in its slots.
//
// - A warp has a context from the start of its block to the block's end; its outstanding accesses name the
//   context. Only a warp in a slot can issue. A block can leave its slots at any time, also with outstanding
//   accesses, and enter others later; responses in between update its contexts.
// - Limits: 64 slots and 65,536 contexts, so that a context number takes 16 bits.
// - A warp in a slot may issue (ready), may issue at a time (timed), or waits: for its accesses, the
//   load/store unit, the scalar cache, its next instruction, or at a barrier of its block, which opens when
//   all warps of the block that have not ended have arrived.
// - Faults: a faulted access is stalled until the replay of its page. A warp waits for faults only if it
//   waits for its accesses and all of these are faulted; a block, if each of its live warps waits for
//   faults only or is at a barrier that only warps waiting for faults have not reached. Accesses in the
//   load/store unit or in front of it do not count as faulted, though they may wait behind faults.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/compute/sm_stats.hpp"
#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/parts/free_numbers.hpp"

namespace farfault {

struct Warp {
  std::uint64_t block = 0;
  std::uint64_t step = 0;
  Time ready_at{};                  // earliest time of the next issue
  Time loads_done{};                // when the latest of its returned loads is usable
  Time stores_done{};               // the same for its acknowledged stores
  std::uint32_t index = 0;          // within the block
  std::uint32_t block_context = 0;  // of its block
  std::uint32_t slot = 0;
  std::uint32_t next = 0;   // context of the block's next warp
  std::uint32_t loads = 0;  // outstanding transactions
  std::uint32_t stores = 0;
  std::uint8_t waits_for_loads = 0;
  std::uint8_t waits_for_stores = 0;
  std::uint8_t at_barrier = 0;  // of a block that has left its slots
  std::uint8_t ended = 0;
  std::uint32_t faulted_loads = 0;  // among the outstanding ones
  std::uint32_t faulted_stores = 0;
  std::uint32_t kernel = 0;
  // Sum over its unacknowledged stores: acknowledgement times so far minus departure times, in ps, modulo
  // 2^64. Once all are acknowledged it is their total time, to this GPU's memory and to other devices'
  // memories.
  std::uint64_t store_time = 0;
  std::uint64_t remote_store_time = 0;
};

class WarpContexts {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  WarpContexts() = default;
  WarpContexts(std::uint32_t slots, std::uint32_t contexts, std::uint32_t blocks)
      : idle_(slots == 64 ? ~std::uint64_t{0} : bit(slots) - 1),
        in_slot_(slots, kNone),
        free_(contexts),
        blocks_(blocks) {}

  Warp& operator[](std::uint32_t context) { return warps_[context]; }
  Warp const& operator[](std::uint32_t context) const { return warps_[context]; }
  std::uint32_t in_slot(std::uint32_t slot) const { return in_slot_[slot]; }

  // Starts a block of a kernel with this many warps, which may issue from `now` on. Calls placed(slot) for
  // each warp. Returns the block's context.
  template <class F>
  std::uint32_t start(std::uint64_t block, std::uint32_t kernel, std::uint32_t warps, Time now, F&& placed) {
    auto const b = start_swapped_out(block, kernel, warps);
    swap_in(b, now, placed);
    return b;
  }
  // As start(), but outside the slots, as if the block had left them.
  std::uint32_t start_swapped_out(std::uint64_t block, std::uint32_t kernel, std::uint32_t warps) {
    std::uint32_t b = 0;
    while (b < blocks_.size() && blocks_[b].live != 0) ++b;
    FF_CHECK(b < blocks_.size() && warps <= free_.size(), "no free context for a block");
    blocks_[b] = Block{};
    blocks_[b].live = warps;
    auto last = kNone;
    for (std::uint32_t i = 0; i < warps; ++i) {
      auto const c = free_.take(warps_);
      auto& w = warps_[c];
      w = Warp{};
      w.block = block;
      w.kernel = kernel;
      w.index = i;
      w.block_context = b;
      w.next = kNone;
      w.slot = kNone;
      (last == kNone ? blocks_[b].first : warps_[last].next) = c;
      last = c;
    }
    return b;
  }

  // The warp has issued its last instruction; returns true if its block has ended.
  bool end(std::uint32_t context, Time now) {
    auto const b = warps_[context].block_context;
    warps_[context].ended = 1;
    remove(context);
    if (--blocks_[b].live != 0) {
      open_barrier(b, now);
      return false;
    }
    for (auto c = blocks_[b].first; c != kNone; c = warps_[c].next) free_.give_back(c);
    return true;
  }

  // The block's warps leave their slots.
  void swap_out(std::uint32_t block_context);
  // The warps of a block outside the slots enter slots; there must be live() free ones. Warps that
  // wait for nothing may issue from `now` on. Calls placed(slot) for each.
  template <class F>
  void swap_in(std::uint32_t block_context, Time now, F&& placed) {
    auto& b = blocks_[block_context];
    for (auto c = b.first; c != kNone; c = warps_[c].next) {
      auto& w = warps_[c];
      if (w.ended != 0) continue;
      FF_CHECK(w.slot == kNone, "a block is swapped in that was not swapped out");
      place(c);
      placed(w.slot);
      if (w.at_barrier != 0)
        wait_at_barrier(b, w.slot);
      else if (w.waits_for_loads == 0)
        wake(c, std::max(w.ready_at, now));
      w.at_barrier = 0;
    }
  }
  std::uint32_t free_slots() const { return static_cast<std::uint32_t>(std::popcount(idle_)); }
  // Warps of the block that have not ended.
  std::uint32_t live(std::uint32_t block_context) const { return blocks_[block_context].live; }

  // A warp that waits for its accesses may issue from `at` on.
  void wake(std::uint32_t context, Time at) {
    auto& w = warps_[context];
    bool const moves = w.slot != kNone && (timed_ & bit(w.slot)) != 0 && w.ready_at == first_timed_;
    w.ready_at = at;
    if (w.slot == kNone) return;
    timed_ |= bit(w.slot);
    first_timed_ = moves ? find_first_timed() : std::min(first_timed_, at);
  }
  // The slots that may issue at `now`.
  std::uint64_t ready(Time now) {
    if (first_timed_ > now) return ready_;
    first_timed_ = Time::max();
    for (auto rest = timed_; rest != 0; rest &= rest - 1) {
      auto const slot = lowest(rest);
      auto const at = warps_[in_slot_[slot]].ready_at;
      if (at > now) {
        first_timed_ = std::min(first_timed_, at);
      } else {
        timed_ &= ~bit(slot);
        ready_ |= bit(slot);
      }
    }
    return ready_;
  }
  // Removes the slot from the ready ones, as its warp is about to issue.
  std::uint64_t take(std::uint32_t slot) { return ready_ &= ~bit(slot); }
  // The earliest time at which a warp may issue; Time::max() if none may without a further event.
  Time earliest(Time now) const { return ready_ != 0 ? std::min(now, first_timed_) : first_timed_; }

  void wait_for_load_store(std::uint32_t slot) { load_store_wait_ |= bit(slot); }
  void wait_for_scalar(std::uint32_t slot) { scalar_wait_ |= bit(slot); }
  void wait_for_fetch(std::uint32_t slot) { fetch_wait_ |= bit(slot); }
  bool waits_for_fetch(std::uint32_t context) const {
    auto const slot = warps_[context].slot;
    return slot != kNone && (fetch_wait_ & bit(slot)) != 0;
  }
  // The next instruction of a warp that waits for it has arrived: the warp may issue from `at` on.
  void fetched(std::uint32_t context, Time at) {
    fetch_wait_ &= ~bit(warps_[context].slot);
    wake(context, at);
  }
  void load_store_free(Time at) { wake_all(load_store_wait_, at); }
  void scalar_free(Time at) { wake_all(scalar_wait_, at); }
  void wait_at_barrier(std::uint32_t context, Time now) {
    auto const& w = warps_[context];
    wait_at_barrier(blocks_[w.block_context], w.slot);
    open_barrier(w.block_context, now);
  }

  // An outstanding access of the warp is faulted; its fault is resolved, and it is in flight again.
  void fault(std::uint32_t context, bool store) {
    ++(store ? warps_[context].faulted_stores : warps_[context].faulted_loads);
    ++faulted_;
  }
  void replay(std::uint32_t context, bool store) {
    auto& n = store ? warps_[context].faulted_stores : warps_[context].faulted_loads;
    FF_CHECK(n != 0, "replay of an access without a fault");
    --n;
    --faulted_;
  }
  bool any_faulted() const { return faulted_ != 0; }
  bool waits_for_faults(std::uint32_t context) const {
    auto const& w = warps_[context];
    auto const stores = w.waits_for_stores != 0 ? w.stores : 0;
    auto const faulted = w.faulted_loads + (w.waits_for_stores != 0 ? w.faulted_stores : 0);
    return w.ended == 0 && w.waits_for_loads != 0 && faulted != 0 && faulted == w.loads + stores;
  }
  bool block_waits_for_faults(std::uint32_t block_context) const;
  // As block_waits_for_faults(), for accesses of any kind.
  bool block_waits_for_accesses(std::uint32_t block_context) const;
  // The first warp of a block, for properties common to all its warps.
  Warp const& first_of_block(std::uint32_t block_context) const {
    return warps_[blocks_[block_context].first];
  }
  // The number of warps and blocks that wait for faults, over all contexts.
  struct FaultWaiting {
    std::uint32_t warps = 0;
    std::uint32_t blocks = 0;
  };
  FaultWaiting waiting_for_faults() const;

  // The SM's state, as determined by the warps in its slots.
  SmActivity activity() {
    if ((ready_ | timed_) != 0) return SmActivity::active;
    if (faulted_ != 0) return dominant_stall(slots());
    Masks const waits{.idle = idle_,
                      .load_store = load_store_wait_,
                      .scalar = scalar_wait_,
                      .barrier = barrier_wait_,
                      .fetch = fetch_wait_};
    auto& cached = cached_.value;
    if (waits != cached.of) cached = {waits, dominant_stall(slots())};
    return cached.what;
  }
  // The same, for the given slots only.
  SmActivity activity(std::uint64_t mask) const {
    return ((ready_ | timed_) & mask) != 0 ? SmActivity::active : dominant_stall(mask);
  }

  // Over all contexts.
  struct Waiting {
    std::uint32_t live = 0;
    std::uint32_t accesses = 0;
    std::uint32_t at_barrier = 0;
    std::uint32_t for_instructions = 0;
  };
  Waiting waiting() const;

  auto members() {
    return std::tie(idle_, ready_, timed_, first_timed_, load_store_wait_, scalar_wait_, barrier_wait_,
                    in_slot_, warps_, free_, blocks_, faulted_, cached_, fetch_wait_);
  }

 private:
  SmActivity dominant_stall(std::uint64_t mask) const;
  std::uint64_t slots() const {
    return in_slot_.size() == 64 ? ~std::uint64_t{0} : bit(static_cast<std::uint32_t>(in_slot_.size())) - 1;
  }
  template <class Waits>
  bool block_waits(std::uint32_t block_context, Waits&& waits) const;
  struct Block {
    std::uint32_t live = 0;       // warps that have not ended
    std::uint32_t first = kNone;  // context of its first warp
    std::uint64_t barrier = 0;    // slots of warps that wait there
  };

  struct Masks {  // over slots
    std::uint64_t idle;
    std::uint64_t load_store;
    std::uint64_t scalar;
    std::uint64_t barrier;
    std::uint64_t fetch;
    bool operator==(Masks const&) const = default;
  };
  struct CachedActivity {
    Masks of{.idle = ~std::uint64_t{0},
             .load_store = ~std::uint64_t{0},
             .scalar = 0,
             .barrier = 0,
             .fetch = 0};  // impossible: idle slots that wait
    SmActivity what = SmActivity::idle;
  };

  void wait_at_barrier(Block& b, std::uint32_t slot) {
    b.barrier |= bit(slot);
    barrier_wait_ |= bit(slot);
  }

  static constexpr std::uint64_t bit(std::uint32_t slot) { return std::uint64_t{1} << slot; }
  static std::uint32_t lowest(std::uint64_t mask) {
    return static_cast<std::uint32_t>(std::countr_zero(mask));
  }

  void place(std::uint32_t context) {
    FF_CHECK(idle_ != 0, "no free slot for a warp");
    auto const slot = lowest(idle_);
    idle_ &= idle_ - 1;
    in_slot_[slot] = context;
    warps_[context].slot = slot;
  }
  void remove(std::uint32_t context) {
    auto const slot = warps_[context].slot;
    bool const was_timed = (timed_ & bit(slot)) != 0;
    for (auto* mask : {&ready_, &timed_, &load_store_wait_, &scalar_wait_, &barrier_wait_, &fetch_wait_})
      *mask &= ~bit(slot);
    if (was_timed) first_timed_ = find_first_timed();
    idle_ |= bit(slot);
    in_slot_[slot] = kNone;
    warps_[context].slot = kNone;
  }
  Time find_first_timed() const {
    auto first = Time::max();
    for (auto rest = timed_; rest != 0; rest &= rest - 1)
      first = std::min(first, warps_[in_slot_[lowest(rest)]].ready_at);
    return first;
  }
  void open_barrier(std::uint32_t block_context, Time now) {
    auto& b = blocks_[block_context];
    auto const there = static_cast<std::uint32_t>(std::popcount(b.barrier));
    if (there == 0 || there < b.live) return;
    barrier_wait_ &= ~b.barrier;
    wake_all(b.barrier, now + Duration{1});
  }
  void wake_all(std::uint64_t& slots, Time at) {
    for (auto rest = slots; rest != 0; rest &= rest - 1) wake(in_slot_[lowest(rest)], at);
    slots = 0;
  }

  std::uint64_t idle_ = 0;  // masks over slots
  std::uint64_t ready_ = 0;
  std::uint64_t timed_ = 0;
  std::uint64_t load_store_wait_ = 0;
  std::uint64_t scalar_wait_ = 0;
  std::uint64_t barrier_wait_ = 0;
  std::uint64_t fetch_wait_ = 0;
  Time first_timed_ = Time::max();      // earliest issue time of the timed warps
  std::vector<std::uint32_t> in_slot_;  // context
  std::vector<Warp> warps_;             // by context
  FreeNumbers free_;                    // contexts
  std::vector<Block> blocks_;           // by block context
  std::uint64_t faulted_ = 0;           // accesses, of all contexts
  Remembered<CachedActivity> cached_;   // the last result, which is usually still valid
};

}  // namespace farfault
