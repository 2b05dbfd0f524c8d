// SPDX-License-Identifier: Apache-2.0
// Which free frame of one memory a page gets.
//
// Contract: frames are those of base pages, numbered from 0, and all are free at first. allocate() is called
// for a page that comes to this memory, where one is free, and returns a free frame; release() gives one
// back. A frame belongs to one page at a time. allocate_large() is called for a large page that comes, with
// its first base page: it returns the first of 2^size free frames, side by side and aligned to their number,
// which are given back one by one; or nothing, and then it has changed nothing: the page comes as base pages.
// An allocator without large frames leaves it out.
//
// A page number names its address space (kernel.hpp). occupy() takes a free frame for data of nobody, which
// no page asks for: memory that is fragmented from the start. It comes before the first page, in any order,
// for as many frames as there are, so it must not search; later it may come too, and release() gives such a
// frame back like any other. Two allocators of one setup that are asked the same in the same order give the
// same frames.
//
// An allocator that compacts() can say which pages to move so that a large frame becomes free (Mosaic, MICRO
// 2017, section 4.4), where its setup says up to how many: plan_emptying() takes the frames that they go to,
// for these pages; the old ones stay in use until they are released, each when its page has moved. A page
// that does not move after all gives its new frame back. Until end_emptying() no other page gets a frame of
// that large frame, unless there is no other; it says whether the large frame is free now.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "farfault/engine/policy.hpp"
#include "farfault/paging/large_pages.hpp"

namespace farfault {

class FrameAllocator {
 public:
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  using Interface = FrameAllocator;
  struct Setup {
    std::uint64_t frames = kUnbounded;
    unsigned page_bits = 12;   // log2 of a base page's bytes
    std::uint32_t spaces = 1;  // address spaces
    unsigned large_size = 9;   // log2 of the base pages of a large frame
    // The aligned regions, each as large as a large frame, that lie wholly in one buffer.
    LargePages en_masse{};
    // Large frames are emptied that have up to so many frames in use; 0: none are.
    std::uint64_t most_moved = 0;
  };
  static constexpr std::uint64_t kNobodysPage = std::numeric_limits<std::uint64_t>::max();
  struct Move {
    std::uint64_t page;  // or kNobodysPage
    std::uint64_t from;
    std::uint64_t to;
  };
  using MayMove = std::function<bool(std::uint64_t page)>;
  static PolicyList<FrameAllocator> known();

  virtual ~FrameAllocator() = default;
  // Whether large_size and en_masse matter to it.
  virtual bool uses_large_frames() const { return false; }
  bool empty() const { return available() == 0; }
  virtual std::uint64_t available() const = 0;  // frames that are free
  virtual std::uint64_t allocate(std::uint64_t page) = 0;
  virtual std::optional<std::uint64_t> allocate_large(std::uint64_t page, unsigned size) {
    static_cast<void>(page);
    static_cast<void>(size);
    return std::nullopt;
  }
  virtual void release(std::uint64_t frame) = 0;
  virtual void occupy(std::uint64_t frame) = 0;

  virtual bool compacts() const { return false; }
  // Whether the page, if it came now, would begin a large frame, and none is free.
  virtual bool lacks_large_frame(std::uint64_t page) const {
    static_cast<void>(page);
    return false;
  }
  // The moves that empty a large frame, of pages that may all move; false, and nothing has changed, where
  // none can be emptied.
  virtual bool plan_emptying(MayMove const& may_move, std::vector<Move>& moves) {
    static_cast<void>(may_move);
    static_cast<void>(moves);
    return false;
  }
  virtual bool end_emptying() { return false; }
};

extern template class PolicyChoice<FrameAllocator>;

}  // namespace farfault
