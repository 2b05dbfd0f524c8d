// SPDX-License-Identifier: Apache-2.0
// Contiguity-conserving allocation: CoCoA of Mosaic (MICRO 2017, sections 4.2 and 4.4).
//
// Each large frame holds pages of one address space if possible (soft guarantee). A page of a region that is
// allocated en masse gets its own offset in the region's large frame, which is assigned at the region's first
// page and kept until none of its frames is in use. Any other page, and a page whose offset is taken or whose
// region cannot get a large frame, gets the first available frame of
//   1. the free base pages of its space: in large frames begun for pages without a region's frame;
//   2. a large frame of the free frame list, which then belongs to its space;
//   3. the free offsets of regions of its space;
//   4. any large frame, against the soft guarantee: with data of no application or of several spaces, else
//      with base pages of another space, else with a region of another space.
//
// Lists are FIFO queues; within a large frame the lowest free frame is taken. The free frame list holds large
// frames that were used before, then frames never used, the lowest first. A large frame with data of several
// spaces or of no application remains shared until none of its frames is in use. A remainder at the end of
// memory, smaller than a large frame, serves base pages only.
//
// Compaction empties the large frame with the fewest pages, the lowest first, among the large frames below
// the threshold whose pages fit elsewhere. Data of no application and of several spaces moves to frames with
// data of the same kind. Pages of one space move between frames with base pages of the space and regions that
// have lost pages. The fullest frames are filled first. Steps 3 and 4 are the emergency frame list: used if
// no large frame is free and none can be emptied, or before the first kernel, when compaction does not run.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "farfault/paging/frame_allocator.hpp"
#include "farfault/paging/page_records.hpp"
#include "farfault/protocols/kernel.hpp"

namespace farfault::frame_allocators {
namespace {

class ContiguityConserving final : public FrameAllocator {
 public:
  static constexpr Facts facts() {
    return {.uses_large_frames = true, .has_large_frames = true, .compacts = true};
  }

  explicit ContiguityConserving(Setup const& setup)
      : setup_{setup},
        regions_(setup.page_bits + setup.large_size, setup.spaces),
        lists_(kOfSpaces + std::size_t{2} * setup.spaces) {}

  std::uint64_t available() const override { return setup_->frames - used_; }

  std::uint64_t allocate(std::uint64_t page) override {
    FF_CHECK(!empty(), "a frame is allocated but none is free");
    auto const space = space_of(page);
    if (setup_->large_regions.size_of(page) != 0)
      if (auto const frame = own_place(page, space)) return *frame;
    return any_place(page, space);
  }

  std::optional<std::uint64_t> allocate_large(std::uint64_t page, unsigned size) override {
    if (size != setup_->large_size) return std::nullopt;
    auto const number = free_whole();
    if (!number) return std::nullopt;
    if (large_frame_of(region_of(page)) == kNone) assign(*number, region_of(page));
    ++assigned_;
    take(*number, frames_of_large(), space_of(page));
    auto const first = first_of(page, size);
    for (std::uint64_t i = 0; i < frames_of_large(); ++i) mark(*number, i, first + i);
    return *number << size;
  }
  bool has_large(unsigned size) const override { return size == setup_->large_size && has_free_whole(); }

  void release(std::uint64_t frame) override {
    auto const number = frame >> setup_->large_size;
    auto const offset = frame & (frames_of_large() - 1);
    FF_CHECK(number < large_.size() && is_used(number, offset), "a free frame is released");
    word_of(number, offset) &= ~bit_of(offset);
    --used_;
    none_to_empty_ = 0;
    change(number, [&](LargeFrame& l) {
      l.shrunk = 1;
      if (--l.used != 0) return;
      l.shrunk = 0;
      --in_use_;
      if (l.region != kNone) regions_.forget(l.region);
      l.region = kNone;
      l.owner = kNoOwner;
    });
  }

  void occupy(std::uint64_t frame) override {
    auto const number = frame >> setup_->large_size;
    auto const offset = frame & (frames_of_large() - 1);
    FF_CHECK(frame < setup_->frames, "a frame to occupy is beyond the memory");
    while (large_.size() <= number) add_large();
    FF_CHECK(!is_used(number, offset), "a frame to occupy is already in use");
    give(number, offset, kUnownedPage, kNoOwner);
  }

  bool lacks_large_frame(std::uint64_t page) const override {
    if (setup_->max_moved == 0 || has_free_whole()) return false;
    if (setup_->large_regions.size_of(page) != 0) {
      auto const number = large_frame_of(region_of(page));
      if (number == kNone) return true;
      if (has_own_place(page, number)) return false;
    }
    return lists_[base_pages_of(space_of(page))].first == kNone && !has_free_for_base_pages();
  }
  bool plan_emptying(MayMove const& may_move, std::vector<Move>& moves) override {
    if (none_to_empty_ != 0) return false;
    auto const all = to_empty();
    none_to_empty_ = all.empty() ? 1 : 0;
    for (auto const& [used, number, group] : all) {
      if (!may_be_emptied(number, may_move)) continue;
      plan_moves(number, group, moves);
      change(number, [](LargeFrame& l) { l.emptying = 1; });
      emptying_ = number;
      return true;
    }
    return false;
  }
  bool end_emptying() override {
    auto const number = emptying_;
    emptying_ = kNone;
    change(number, [](LargeFrame& l) { l.emptying = 0; });
    return large_[number].used == 0;
  }

  auto members() {
    return std::tie(setup_, regions_, lists_, large_, bits_, pages_, used_, in_use_, against_, emergency_,
                    assigned_, none_to_empty_, emptying_);
  }
  static auto stats() {
    using A = ContiguityConserving const&;
    return std::array<Stat<ContiguityConserving>, 5>{{
        {"large_frames_in_use", "count", "Large frames with at least one base frame in use", StatKind::level,
         [](A a) { return a.in_use_; }},
        {"large_frames_assigned", "count", "Large frames assigned to one aligned region of a buffer",
         StatKind::counter, [](A a) { return a.assigned_; }},
        {"shared_allocations", "count",
         "Frames allocated in a large frame with data of another address space or of no application "
         "(Mosaic's soft guarantee not kept)",
         StatKind::counter, [](A a) { return a.against_; }},
        {"emergency_allocations", "count",
         "Frames allocated from Mosaic's emergency frame list: no large frame was free, and none could be "
         "emptied by compaction",
         StatKind::counter, [](A a) { return a.emergency_; }},
        {"kept_frames", "count",
         "Free base frames in large frames that belong to one address space (memory bloat)", StatKind::level,
         [](A a) { return a.kept(); }},
    }};
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  // Owners in addition to the spaces. A free large frame has owner kNoOwner, too.
  static constexpr std::uint32_t kNoOwner = ~std::uint32_t{0};
  static constexpr std::uint32_t kSeveral = kNoOwner - 1;
  // Lists: each large frame with a free frame is in one list.
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::uint64_t kShared = 1;
  static constexpr std::uint64_t kOfSpaces = 2;  // from here on two per space: of base pages, and of regions

  struct LargeFrame {
    std::uint64_t region = kNone;  // region whose pages have their own offsets here
    std::uint64_t next = kNone;    // links of its list
    std::uint64_t previous = kNone;
    std::uint32_t owner = kNoOwner;
    std::uint32_t used = 0;      // frames in use
    std::uint32_t shrunk = 0;    // has lost pages and holds others
    std::uint32_t emptying = 0;  // its pages are being moved out
  };
  struct List {
    std::uint64_t first = kNone;
    std::uint64_t last = kNone;
  };
  struct Assigned {
    std::uint64_t large_frame = 0;  // number plus one; 0: none
  };

  std::uint64_t frames_of_large() const { return std::uint64_t{1} << setup_->large_size; }
  std::uint64_t whole_frames() const { return setup_->frames >> setup_->large_size; }
  std::uint64_t frames_in(std::uint64_t number) const {
    return std::min(frames_of_large(), setup_->frames - (number << setup_->large_size));
  }
  std::uint32_t space_of(std::uint64_t page) const {
    auto const space = space_of_page(page, setup_->page_bits);
    FF_CHECK(space < setup_->spaces, "a frame is allocated for an unknown address space");
    return space;
  }
  std::uint64_t region_of(std::uint64_t page) const { return page >> setup_->large_size; }
  std::uint64_t large_frame_of(std::uint64_t region) const {
    auto const* assigned = regions_.find(region);
    return assigned == nullptr ? kNone : assigned->large_frame - 1;
  }

  // Bitmap of frames in use.
  std::uint64_t words_of_large() const { return std::max<std::uint64_t>(frames_of_large() / 64, 1); }
  std::uint64_t& word_of(std::uint64_t number, std::uint64_t offset) {
    return bits_[number * words_of_large() + offset / 64];
  }
  static std::uint64_t bit_of(std::uint64_t offset) { return std::uint64_t{1} << offset % 64; }
  bool is_used(std::uint64_t number, std::uint64_t offset) const {
    return (bits_[number * words_of_large() + offset / 64] & bit_of(offset)) != 0;
  }
  std::uint64_t at(std::uint64_t number, std::uint64_t offset) const {
    return (number << setup_->large_size) + offset;
  }
  void mark(std::uint64_t number, std::uint64_t offset, std::uint64_t page) {
    word_of(number, offset) |= bit_of(offset);
    if (setup_->max_moved != 0) pages_[at(number, offset)] = page;
  }
  // The large frame must have a free frame.
  std::uint64_t lowest_free(std::uint64_t number) const {
    auto const* word = &bits_[number * words_of_large()];
    std::uint64_t offset = 0;
    for (; *word == kNone; ++word) offset += 64;
    return offset + static_cast<std::uint64_t>(std::countr_one(*word));
  }

  // Lists of large frames.
  static std::uint64_t base_pages_of(std::uint32_t space) { return kOfSpaces + std::uint64_t{2} * space; }
  static std::uint64_t regions_of(std::uint32_t space) { return base_pages_of(space) + 1; }
  std::uint64_t list_of(std::uint64_t number) const {
    auto const& l = large_[number];
    if (l.used == 0) return l.emptying != 0 ? kNone : kFree;
    if (l.used == frames_in(number) || l.emptying != 0) return kNone;
    if (l.owner == kNoOwner || l.owner == kSeveral) return kShared;
    return l.region == kNone ? base_pages_of(l.owner) : regions_of(l.owner);
  }
  void append(std::uint64_t number, std::uint64_t list) {
    auto& ends = lists_[list];
    large_[number].previous = ends.last;
    large_[number].next = kNone;
    (ends.last == kNone ? ends.first : large_[ends.last].next) = number;
    ends.last = number;
  }
  void remove(std::uint64_t number, std::uint64_t list) {
    auto const& l = large_[number];
    (l.previous == kNone ? lists_[list].first : large_[l.previous].next) = l.next;
    (l.next == kNone ? lists_[list].last : large_[l.next].previous) = l.previous;
  }
  // Changes a large frame by f(LargeFrame&) and moves it to the list that it then belongs to.
  template <class F>
  void change(std::uint64_t number, F&& f) {
    auto const before = list_of(number);
    f(large_[number]);
    auto const after = list_of(number);
    if (after == before) return;
    if (before != kNone) remove(number, before);
    if (after != kNone) append(number, after);
  }
  // Adds the next large frame that was never used.
  std::uint64_t add_large() {
    auto const number = large_.size();
    large_.emplace_back();
    bits_.resize(bits_.size() + words_of_large());
    if (setup_->max_moved != 0) pages_.resize(pages_.size() + frames_of_large());
    append(number, kFree);
    return number;
  }

  // The free frame list.
  std::uint64_t first_whole() const {
    auto const first = lists_[kFree].first;
    return first != kNone && first == whole_frames() ? large_[first].next
                                                     : first;  // skips the remainder at the end of memory
  }
  bool has_free_whole() const { return first_whole() != kNone || large_.size() < whole_frames(); }
  std::optional<std::uint64_t> free_whole() {
    if (!has_free_whole()) return std::nullopt;
    auto const first = first_whole();
    return first != kNone ? first : add_large();
  }
  bool has_free_for_base_pages() const {
    return lists_[kFree].first != kNone || large_.size() << setup_->large_size < setup_->frames;
  }
  std::optional<std::uint64_t> free_for_base_pages() {
    if (!has_free_for_base_pages()) return std::nullopt;
    auto const first = lists_[kFree].first;
    return first != kNone ? first : add_large();
  }

  // Marks `frames` more frames as used by `taker`.
  void take(std::uint64_t number, std::uint64_t frames, std::uint32_t taker) {
    used_ += frames;
    change(number, [&](LargeFrame& l) {
      if (l.used == 0) {
        ++in_use_;
        l.owner = taker;
        none_to_empty_ = 0;
      }
      if (l.owner != taker && l.owner != kSeveral) {
        l.owner = kSeveral;
        none_to_empty_ = 0;
      }
      l.used += static_cast<std::uint32_t>(frames);
    });
  }
  std::uint64_t give(std::uint64_t number, std::uint64_t offset, std::uint64_t page, std::uint32_t taker) {
    mark(number, offset, page);
    take(number, 1, taker);
    return at(number, offset);
  }
  // Assigns a free large frame to a region whose pages are about to use it.
  void assign(std::uint64_t number, std::uint64_t region) {
    large_[number].region = region;
    regions_.of(region).large_frame = number + 1;
  }

  bool has_own_place(std::uint64_t page, std::uint64_t number) const {
    return !is_used(number, page & (frames_of_large() - 1)) && large_[number].emptying == 0;
  }
  std::optional<std::uint64_t> own_place(std::uint64_t page, std::uint32_t space) {
    auto number = large_frame_of(region_of(page));
    if (number == kNone) {
      auto const fresh = free_whole();
      if (!fresh) return std::nullopt;
      number = *fresh;
      assign(number, region_of(page));
      ++assigned_;
    }
    if (!has_own_place(page, number)) return std::nullopt;
    return give(number, page & (frames_of_large() - 1), page, space);
  }
  std::uint64_t any_place(std::uint64_t page, std::uint32_t space) {
    auto number = lists_[base_pages_of(space)].first;
    if (number == kNone) number = free_for_base_pages().value_or(kNone);
    emergency_ += number == kNone ? 1 : 0;
    if (number == kNone) number = lists_[regions_of(space)].first;
    if (number == kNone) {
      ++against_;
      number = lists_[kShared].first;
      for (auto s = base_pages_of(0); number == kNone && s < lists_.size(); s += 2) number = lists_[s].first;
      for (auto s = regions_of(0); number == kNone && s < lists_.size(); s += 2) number = lists_[s].first;
      if (number == kNone) number = emptying_;
    }
    return give(number, lowest_free(number), page, space);
  }

  // Compaction. Large frames of a group may take each other's pages: group 0 holds data of no application or
  // of several spaces, group 1 + s pages of space s.
  template <class F>
  void each_of(std::uint64_t list, F&& f) const {
    for (auto n = lists_[list].first; n != kNone; n = large_[n].next) f(n);
  }
  std::vector<std::uint64_t> group_of(std::uint32_t group) const {
    std::vector<std::uint64_t> all;
    if (group == 0) {
      each_of(kShared, [&](std::uint64_t n) { all.push_back(n); });
      return all;
    }
    each_of(base_pages_of(group - 1), [&](std::uint64_t n) { all.push_back(n); });
    each_of(regions_of(group - 1), [&](std::uint64_t n) {
      if (large_[n].shrunk != 0) all.push_back(n);
    });
    return all;
  }
  std::uint64_t free_in(std::uint64_t number) const { return frames_in(number) - large_[number].used; }
  struct Emptied {
    std::uint32_t used;
    std::uint64_t number;
    std::uint32_t group;
    auto operator<=>(Emptied const&) const = default;
  };
  // Candidates whose pages fit elsewhere, in the order in which they are tried.
  std::vector<Emptied> to_empty() const {
    std::vector<Emptied> found;
    for (std::uint32_t group = 0; group <= setup_->spaces; ++group) {
      auto const all = group_of(group);
      std::uint64_t room = 0;
      for (auto const n : all) room += free_in(n);
      for (auto const n : all) {
        auto const used = large_[n].used;
        bool const may_be = n < whole_frames() && used <= setup_->max_moved;
        if (may_be && used <= room - free_in(n)) found.push_back({used, n, group});
      }
    }
    std::ranges::sort(found);
    return found;
  }
  bool may_be_emptied(std::uint64_t number, MayMove const& may_move) const {
    for (std::uint64_t i = 0; i < frames_of_large(); ++i)
      if (is_used(number, i) && pages_[at(number, i)] != kUnownedPage && !may_move(pages_[at(number, i)]))
        return false;
    return true;
  }
  void plan_moves(std::uint64_t number, std::uint32_t group, std::vector<Move>& moves) {
    auto to = group_of(group);
    std::erase(to, number);
    std::ranges::sort(to, [&](std::uint64_t a, std::uint64_t b) {
      return free_in(a) != free_in(b) ? free_in(a) < free_in(b) : a < b;
    });
    auto next = to.begin();
    for (std::uint64_t i = 0; i < frames_of_large(); ++i) {
      if (!is_used(number, i)) continue;
      if (free_in(*next) == 0) ++next;
      auto const page = pages_[at(number, i)];
      auto const owner = page == kUnownedPage ? kNoOwner : space_of(page);
      moves.push_back({page, at(number, i), give(*next, lowest_free(*next), page, owner)});
    }
  }
  std::uint64_t kept() const {
    std::uint64_t frames = 0;
    for (auto list = kOfSpaces; list < lists_.size(); ++list)
      each_of(list, [&](std::uint64_t n) { frames += free_in(n); });
    return frames;
  }

  Fixed<Setup> setup_;
  PageRecords<Assigned> regions_;  // indexed by region, which acts as a page of the region's size
  std::vector<List> lists_;
  std::vector<LargeFrame> large_;  // up to the last one ever used
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> pages_;  // indexed by frame; only with compaction
  std::uint64_t used_ = 0;            // frames
  std::uint64_t in_use_ = 0;          // large frames
  std::uint64_t against_ = 0;
  std::uint64_t emergency_ = 0;
  std::uint64_t assigned_ = 0;
  std::uint64_t emptying_ = kNone;   // number of a large frame
  std::uint64_t none_to_empty_ = 0;  // 1: no candidate was found, and nothing has changed since
};

}  // namespace

void contiguity_conserving(PolicyList<FrameAllocator>& list) {
  list.add<ContiguityConserving>(
      "contiguity_conserving",
      "offset in the large frame of the page's region, else a large frame of its address space (CoCoA)");
}

}  // namespace farfault::frame_allocators
