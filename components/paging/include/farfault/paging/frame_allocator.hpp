// SPDX-License-Identifier: Apache-2.0
// Policy that selects a free frame of one memory for a page.
//
// - Frames are base-page frames, numbered from 0; all are free at first. A frame holds at most one page. A
//   page number includes its address space (kernel.hpp).
// - Deterministic: allocators of equal setup return equal frames for equal calls.
// - Compaction (Mosaic, MICRO 2017, section 4.4), if `compacts` and Setup::max_moved is not 0:
//   plan_emptying() plans moves that empty a large frame; the owner makes them, then calls end_emptying().
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "farfault/engine/policy.hpp"
#include "farfault/paging/large_pages.hpp"
#include "farfault/parts/address_map.hpp"

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
    // Aligned regions of the size of a large frame that are wholly in one buffer.
    LargePages large_regions{};
    // Partitions of the memory, in blocks of frames, and the buffers whose pages it may hold.
    MemoryParts parts{};
    std::vector<PageRange> buffers{};
    // Maximum frames in use of a large frame that is emptied; 0: no compaction.
    std::uint64_t max_moved = 0;
  };
  static constexpr std::uint64_t kUnownedPage = std::numeric_limits<std::uint64_t>::max();
  struct Move {
    std::uint64_t page;  // or kUnownedPage
    std::uint64_t from;
    std::uint64_t to;
  };
  using MayMove = std::function<bool(std::uint64_t page)>;
  struct Facts {
    bool uses_large_frames = false;  // the allocator uses Setup::large_size and large_regions
    bool has_large_frames = false;   // allocate_large() may return a frame
    bool compacts = false;
    bool uses_partitions = false;  // Setup::parts, each of whole frames
  };
  static PolicyList<FrameAllocator> known();

  virtual ~FrameAllocator() = default;
  bool empty() const { return available() == 0; }
  virtual std::uint64_t available() const = 0;  // free frames
  // A free frame for a page; one must be free.
  virtual std::uint64_t allocate(std::uint64_t page) = 0;
  // First of 2^size free frames, contiguous and aligned to their number, for a large page given by its first
  // base page. The frames are released one by one. Nothing: no change; the page is allocated as base pages.
  virtual std::optional<std::uint64_t> allocate_large(std::uint64_t page, unsigned size) {
    static_cast<void>(page);
    static_cast<void>(size);
    return std::nullopt;
  }
  // allocate_large() would return a frame now.
  virtual bool has_large(unsigned size) const {
    static_cast<void>(size);
    return false;
  }
  virtual void release(std::uint64_t frame) = 0;
  // Takes a given free frame for data of no application (fragmentation), until release(). Called before the
  // first allocation, in any order, for up to all frames, and must not search; it may also be called later.
  virtual void occupy(std::uint64_t frame) = 0;

  // True if the page would begin a large frame now, and none is free.
  virtual bool lacks_large_frame(std::uint64_t page) const {
    static_cast<void>(page);
    return false;
  }
  // Moves that empty a large frame whose pages may all move; their destinations are allocated. Sources stay
  // in use until released, after each move; if a page does not move, its destination is released. False: none
  // can be emptied, and nothing has changed.
  virtual bool plan_emptying(MayMove const& may_move, std::vector<Move>& moves) {
    static_cast<void>(may_move);
    static_cast<void>(moves);
    return false;
  }
  // Returns whether the large frame is free. Until this call, its frames are allocated only if no other is
  // free.
  virtual bool end_emptying() { return false; }
};

// Partitions in blocks of bytes, as partitions of frames; a block smaller than a page is in every partition.
inline MemoryParts parts_of_frames(MemoryParts const& bytes, unsigned page_bits) {
  if (bytes.block >> page_bits == 0) return {};
  return {bytes.count, bytes.block >> page_bits};
}

extern template class PolicyChoice<FrameAllocator>;

}  // namespace farfault
