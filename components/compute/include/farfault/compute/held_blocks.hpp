// SPDX-License-Identifier: Apache-2.0
// The thread blocks that an SM holds: issuing blocks, and waiting blocks, fresh or swapped out.
//
// Blocks are named by their contexts (warp_contexts.hpp). Issuing blocks keep within the SM's warps, threads
// and blocks; blocks whose contents are in its registers and shared memory (kept), within these. A saved
// block has its own area until it is restored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/compute/sm_use.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/parts/free_numbers.hpp"

namespace farfault {

struct HeldBlock {
  // Issuing; waiting, kept or not; being saved; being restored.
  enum class Place : std::uint8_t { none, issues, resident, nonresident, saving, restoring };
  SmUse need{};
  std::uint64_t since = 0;  // orders blocks in the same place
  Place place = Place::none;
  std::uint8_t begun = 0;  // it has issued
  std::uint8_t saved = 0;  // in its area
  std::uint8_t unused = 0;
  std::uint32_t area = 0;
};

class HeldBlocks {
 public:
  using Place = HeldBlock::Place;
  static constexpr std::uint32_t kNone = ~0U;

  HeldBlocks() = default;
  HeldBlocks(std::uint32_t blocks, std::uint32_t areas) : blocks_(blocks), areas_(areas) {}

  HeldBlock const& operator[](std::uint32_t block) const { return blocks_[block]; }
  std::uint32_t waiting() const { return static_cast<std::uint32_t>(waiting_); }

  // True if a new block can issue immediately.
  bool has_room(SmUse const& need, SmParams const& sm) const {
    return (issuing_ + need).can_issue(sm) && (resident_ + need).has_capacity(sm);
  }
  void add(std::uint32_t block, SmUse const& need, bool issues) {
    auto& b = blocks_[block];
    b = {};
    b.need = need;
    b.since = ++clock_;
    if (issues) {
      b.place = Place::issues;
      b.begun = 1;
      issuing_ += need;
      resident_ += need;
    } else {
      b.place = Place::nonresident;
      ++waiting_;
    }
  }
  void end(std::uint32_t block) {
    auto& b = blocks_[block];
    FF_CHECK(b.place == Place::issues, "a block ended that was not issuing");
    issuing_ -= b.need;
    resident_ -= b.need;
    b = {};
  }

  // The waiting block to swap in, among blocks with ready(block): without `instead`, a block that has room;
  // otherwise a block that has room once `instead` is swapped out, with at most `extra` begun blocks waiting.
  // Begun blocks take precedence; among equals, the longest-waiting one.
  template <class Ready>
  std::optional<std::uint32_t> next(SmParams const& sm, std::uint32_t instead, std::uint32_t extra,
                                    Ready&& ready) const {
    std::optional<std::uint32_t> best;
    auto const issuing = instead == kNone ? issuing_ : issuing_ - blocks_[instead].need;
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      auto const& b = blocks_[i];
      if (b.place != Place::resident && b.place != Place::nonresident) continue;
      if (best && std::tuple(b.begun == 0, b.since) > key(*best)) continue;
      if (instead != kNone && begun_swapped_out_ + 1 - b.begun > extra) continue;
      if (!(issuing + b.need).can_issue(sm)) continue;
      if (b.place == Place::nonresident) {
        auto const resident = instead == kNone ? resident_ : resident_ - blocks_[instead].need;
        if (!(resident + b.need).has_capacity(sm)) continue;
      }
      if (ready(i)) best = i;
    }
    return best;
  }
  // True if a swapped-out block must be saved to make room for the other.
  bool must_save_for(std::uint32_t other, SmParams const& sm) const {
    auto const& b = blocks_[other];
    return b.place == Place::nonresident && !(resident_ + b.need).has_capacity(sm);
  }
  // The issuing blocks, in order of arrival.
  std::vector<std::uint32_t> issuing() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < blocks_.size(); ++i)
      if (blocks_[i].place == Place::issues) all.push_back(i);
    std::ranges::sort(all, {}, [this](std::uint32_t i) { return blocks_[i].since; });
    return all;
  }

  // A block is swapped out: its context is being saved, with its registers and shared memory if `saved`,
  // which takes an area; then it waits.
  void swap_out(std::uint32_t block, bool saved) {
    auto& b = blocks_[block];
    FF_CHECK(b.place == Place::issues, "a block is swapped out that was not issuing");
    issuing_ -= b.need;
    b.place = Place::saving;
    b.saved = saved ? 1 : 0;
    if (saved) b.area = areas_.take(areas_taken_);
    ++waiting_;
    ++begun_swapped_out_;
  }
  void end_swap_out(std::uint32_t block) {
    auto& b = blocks_[block];
    b.place = b.saved != 0 ? Place::nonresident : Place::resident;
    if (b.saved != 0) resident_ -= b.need;
    b.since = ++clock_;
  }
  // A waiting block is swapped in: it is being restored; then it issues.
  void begin_swap_in(std::uint32_t block) {
    auto& b = blocks_[block];
    issuing_ += b.need;
    if (b.place == Place::nonresident) resident_ += b.need;
    b.place = Place::restoring;
    --waiting_;
    if (b.begun != 0) --begun_swapped_out_;
  }
  void end_swap_in(std::uint32_t block) {
    auto& b = blocks_[block];
    if (b.saved != 0) areas_.give_back(b.area);
    b.place = Place::issues;
    b.saved = 0;
    b.begun = 1;
    b.since = ++clock_;
  }

  auto members() {
    return std::tie(blocks_, areas_, areas_taken_, issuing_, resident_, clock_, waiting_, begun_swapped_out_);
  }

 private:
  std::tuple<bool, std::uint64_t> key(std::uint32_t block) const {
    return {blocks_[block].begun == 0, blocks_[block].since};
  }

  std::vector<HeldBlock> blocks_;  // by context
  FreeNumbers areas_;
  std::vector<std::uint8_t> areas_taken_;  // grown by FreeNumbers
  SmUse issuing_{};
  SmUse resident_{};
  std::uint64_t clock_ = 0;
  std::uint64_t waiting_ = 0;
  std::uint64_t begun_swapped_out_ = 0;
};

}  // namespace farfault
