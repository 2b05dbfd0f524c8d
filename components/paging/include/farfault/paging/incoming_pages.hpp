// SPDX-License-Identifier: Apache-2.0
// The pages that a batch migrates to its GPU, in migration order, and their progress.
//
// - A page is planned, then begun (its transition has a number), then passed (it has a frame or needs none),
//   then mapped. Pages are begun and passed in order, and mapped in any order.
// - A local page or its copy is on the GPU already, or the GPU maps it remotely: it needs no frame.
// - A large page is one page, named by its first base page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/engine/time.hpp"
#include "farfault/paging/page_decision.hpp"

namespace farfault {

struct IncomingPage {
  enum class Stage : std::uint8_t { planned, unmapping, ready, transferring, mapping, mapped };
  std::uint64_t page = 0;
  std::uint32_t block = 0;  // block number in the batch
  Stage stage = Stage::planned;
  std::uint8_t application = 0;
  std::uint8_t faulted = 0;   // otherwise prefetched
  std::uint8_t writes = 0;    // one of its faults is a write
  std::uint8_t is_local = 0;  // set by IncomingPages::set_local()
  std::uint8_t size = 0;
  // Planned: another GPU has it or a copy, and accesses to it are replayed there first. `decided`: the action
  // after that.
  std::uint8_t waits_for_replay = 0;
  PageAction decided = PageAction::stay;
  std::uint8_t unused[4] = {};
};

// A VA block of the batch. Its work is planned by lock_blocks().
struct IncomingBlock {
  std::uint64_t first = 0;    // page
  Duration takes{};           // the driver's work on it
  Time worked = Time::max();  // end of that work; max: not planned
  std::uint64_t left = 0;     // pages not mapped yet

  Time begins() const { return worked - takes; }
};

class IncomingPages {
 public:
  void clear() {
    pages_.clear();
    blocks_.clear();
    begun_ = passed_ = mapped_ = local_ = arriving_ = in_transfer_ = 0;
  }

  // Planning: the pages of a block in address order, then the block.
  void add(IncomingPage page) {
    page.block = static_cast<std::uint32_t>(blocks_.size());
    pages_.push_back(page);
  }
  void end_block(IncomingBlock const& block) { blocks_.push_back(block); }

  std::vector<IncomingPage> const& all() const { return pages_; }
  IncomingPage& operator[](std::uint64_t i) { return pages_[i]; }
  std::uint64_t size() const { return pages_.size(); }
  // In address order.
  std::vector<IncomingBlock>& blocks() { return blocks_; }
  std::vector<IncomingBlock> const& blocks() const { return blocks_; }
  // End of the driver's work on the page's block.
  Time worked(IncomingPage const& page) const { return blocks_[page.block].worked; }
  void set_local(IncomingPage& page, bool is_local) {
    local_ -= page.is_local;
    page.is_local = is_local ? 1 : 0;
    local_ += page.is_local;
  }

  // Progress. The next page to be begun or passed; null: none.
  IncomingPage* to_begin() { return begun_ < pages_.size() ? &pages_[begun_] : nullptr; }
  IncomingPage const* to_begin() const { return begun_ < pages_.size() ? &pages_[begun_] : nullptr; }
  std::uint32_t begin_next() { return static_cast<std::uint32_t>(begun_++); }
  IncomingPage* to_pass() { return passed_ < begun_ ? &pages_[passed_] : nullptr; }
  IncomingPage const* to_pass() const { return passed_ < begun_ ? &pages_[passed_] : nullptr; }
  void pass_next() { ++passed_; }
  // Calls f(page) for all pages that are begun and not passed.
  template <class F>
  void each_to_pass(F&& f) {
    for (auto i = passed_; i < begun_; ++i) f(pages_[i]);
  }
  // The page gets its frame, or needs none.
  void admit(IncomingPage& page) {
    ++arriving_;
    page.stage = IncomingPage::Stage::transferring;
    local_ -= page.is_local;
  }
  void transfer_begins() { ++in_transfer_; }
  void transfer_ends() { --in_transfer_; }
  void arrived(IncomingPage const& page) {
    if (page.stage != IncomingPage::Stage::mapped) --arriving_;
  }
  // True: it was the last page of its block.
  bool mapped(IncomingPage& page) {
    page.stage = IncomingPage::Stage::mapped;
    ++mapped_;
    return --blocks_[page.block].left == 0;
  }

  std::uint64_t mapped_pages() const { return mapped_; }
  std::uint64_t in_transfer() const { return in_transfer_; }
  std::uint64_t arriving() const { return arriving_; }
  // Frames for the pages that are not passed, without and with large pages.
  std::uint64_t needed_frames() const { return pages_.size() - passed_ - local_; }
  std::uint64_t needed_base_frames() const { return frames_of(pages_.size()); }
  // Likewise for the begun ones only.
  std::uint64_t frames_for_begun() const { return frames_of(begun_); }
  bool all_mapped() const { return mapped_ == pages_.size(); }
  // End of the driver's work on the next page to be passed; Time{}: all are passed.
  Time next_worked() const { return passed_ < pages_.size() ? worked(pages_[passed_]) : Time{}; }
  // End of the work on a block after this time; Time{}: none.
  Time next_worked_after(Time now) const {
    auto const next = std::ranges::upper_bound(blocks_, now, {}, &IncomingBlock::worked);
    return next != blocks_.end() ? next->worked : Time{};
  }
  bool only_prefetched_left() const {
    auto const first = pages_.begin() + static_cast<std::ptrdiff_t>(passed_);
    return std::none_of(first, pages_.end(), [](IncomingPage const& p) { return p.faulted != 0; });
  }
  // One of the `count` pages from `first` on.
  bool has_page_in(std::uint64_t first, std::uint64_t count) const {
    auto const p = std::ranges::lower_bound(pages_, first, {}, &IncomingPage::page);
    return p != pages_.end() && p->page - first < count;
  }

  auto members() {
    return std::tie(pages_, blocks_, begun_, passed_, mapped_, local_, arriving_, in_transfer_);
  }

 private:
  // Linear in the pages that are not passed.
  std::uint64_t frames_of(std::uint64_t last) const {
    std::uint64_t frames = 0;
    for (auto i = passed_; i < last; ++i)
      if (pages_[i].stage <= IncomingPage::Stage::ready && pages_[i].is_local == 0)
        frames += std::uint64_t{1} << pages_[i].size;
    return frames;
  }

  std::vector<IncomingPage> pages_;
  std::vector<IncomingBlock> blocks_;
  std::uint64_t begun_ = 0;
  std::uint64_t passed_ = 0;  // of the begun ones
  std::uint64_t mapped_ = 0;
  std::uint64_t local_ = 0;        // local pages that are not passed
  std::uint64_t arriving_ = 0;     // pages with a frame, not mapped yet
  std::uint64_t in_transfer_ = 0;  // to the GPU
};

}  // namespace farfault
