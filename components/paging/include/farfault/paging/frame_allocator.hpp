// Which free frame of one memory a page gets.
//
// Contract: frames are those of base pages, numbered from 0, and all are free at first. allocate() is called
// for a page that comes to this memory, where one is free, and returns a free frame; release() gives one
// back. A frame belongs to one page at a time. allocate_large() is called for a large page that comes, with
// its first base page: it returns the first of 2^size free frames, side by side and aligned to their number,
// which are given back one by one; or nothing, and then it has changed nothing: the page comes as base pages.
// An allocator without large frames leaves it out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "farfault/engine/policy.hpp"

namespace farfault {

class FrameAllocator {
 public:
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  using Interface = FrameAllocator;
  struct Setup {
    std::uint64_t frames = kUnbounded;
  };
  static PolicyList<FrameAllocator> known();

  virtual ~FrameAllocator() = default;
  bool empty() const { return available() == 0; }
  virtual std::uint64_t available() const = 0;  // frames that are free
  virtual std::uint64_t allocate(std::uint64_t page) = 0;
  virtual std::optional<std::uint64_t> allocate_large(std::uint64_t page, unsigned size) {
    static_cast<void>(page);
    static_cast<void>(size);
    return std::nullopt;
  }
  virtual void release(std::uint64_t frame) = 0;
};

}  // namespace farfault
