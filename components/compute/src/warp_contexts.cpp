#include "farfault/compute/warp_contexts.hpp"

namespace farfault {

void WarpContexts::leave(std::uint32_t block_context) {
  auto& b = blocks_[block_context];
  for (auto c = b.first; c != kNone; c = warps_[c].next) {
    auto& w = warps_[c];
    if (w.ended != 0) continue;
    FF_CHECK(w.slot != kNone, "a block leaves slots that it does not have");
    w.at_barrier = (b.barrier >> w.slot & 1) != 0 ? 1 : 0;
    remove(c);
  }
  b.barrier = 0;
}

WarpContexts::Waiting WarpContexts::waiting() const {
  Waiting all;
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

}  // namespace farfault
