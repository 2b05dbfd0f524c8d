// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/warp_contexts.hpp"

namespace farfault {

void WarpContexts::swap_out(std::uint32_t block_context) {
  auto& b = blocks_[block_context];
  for (auto c = b.first; c != kNone; c = warps_[c].next) {
    auto& w = warps_[c];
    if (w.ended != 0) continue;
    FF_CHECK(w.slot != kNone, "a block releases slots that it does not hold");
    w.at_barrier = (b.barrier >> w.slot & 1) != 0 ? 1 : 0;
    remove(c);
  }
  b.barrier = 0;
}

SmActivity WarpContexts::dominant_stall(std::uint64_t mask) const {
  auto const accesses = mask & ~(idle_ | load_store_wait_ | scalar_wait_ | barrier_wait_ | fetch_wait_);
  int most = 0;
  auto what = SmActivity::idle;
  auto const consider = [&](int warps, SmActivity it) {
    if (warps <= most) return;
    most = warps;
    what = it;
  };
  // Usually no warp waits there.
  auto const consider_slots = [&](std::uint64_t slots, SmActivity it) {
    if (slots != 0) consider(std::popcount(slots), it);
  };
  int faulted = 0;
  for (auto rest = faulted_ == 0 ? 0 : accesses; rest != 0; rest &= rest - 1)
    faulted += waits_for_faults(in_slot_[lowest(rest)]) ? 1 : 0;
  if (accesses != 0) consider(std::popcount(accesses) - faulted, SmActivity::memory_stall);
  consider(faulted, SmActivity::fault_stall);
  consider_slots(load_store_wait_ & mask, SmActivity::load_store_stall);
  consider_slots(scalar_wait_ & mask, SmActivity::scalar_stall);
  consider_slots(barrier_wait_ & mask, SmActivity::barrier_stall);
  consider_slots(fetch_wait_ & mask, SmActivity::fetch_stall);
  return what;
}

WarpContexts::Waiting WarpContexts::waiting() const {
  Waiting all;
  all.for_instructions = static_cast<std::uint32_t>(std::popcount(fetch_wait_));
  for (auto const& b : blocks_) {
    all.live += b.live;
    all.at_barrier += static_cast<std::uint32_t>(std::popcount(b.barrier));
    if (b.live == 0) continue;
    for (auto c = b.first; c != kNone; c = warps_[c].next) {
      all.accesses += warps_[c].loads + warps_[c].stores;
      all.at_barrier += warps_[c].at_barrier;
    }
  }
  return all;
}

template <class Waits>
bool WarpContexts::block_waits(std::uint32_t block_context, Waits&& waits) const {
  auto const& b = blocks_[block_context];
  if (b.live == 0) return false;
  bool some = false;
  for (auto c = b.first; c != kNone; c = warps_[c].next) {
    auto const& w = warps_[c];
    bool const at_barrier = w.at_barrier != 0 || (w.slot != kNone && (b.barrier >> w.slot & 1) != 0);
    if (w.ended != 0 || at_barrier) continue;
    if (!waits(c)) return false;
    some = true;
  }
  return some;
}

bool WarpContexts::block_waits_for_faults(std::uint32_t block_context) const {
  return faulted_ != 0 && block_waits(block_context, [this](std::uint32_t c) { return waits_for_faults(c); });
}

bool WarpContexts::block_waits_for_accesses(std::uint32_t block_context) const {
  return block_waits(block_context, [this](std::uint32_t c) { return warps_[c].waits_for_loads != 0; });
}

WarpContexts::FaultWaiting WarpContexts::waiting_for_faults() const {
  FaultWaiting all;
  if (faulted_ == 0) return all;
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b].live == 0) continue;
    for (auto c = blocks_[b].first; c != kNone; c = warps_[c].next) all.warps += waits_for_faults(c) ? 1 : 0;
    all.blocks += block_waits_for_faults(b) ? 1 : 0;
  }
  return all;
}

}  // namespace farfault
