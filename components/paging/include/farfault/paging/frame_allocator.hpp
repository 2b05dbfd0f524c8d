// Which free frame of one memory a page gets.
//
// Contract: frames are numbered from 0, and all are free at first. allocate() is called for a page that comes
// to this memory, where empty() is false, and returns a free frame; release() gives one back. A frame belongs
// to one page at a time.
#pragma once

#include <cstdint>
#include <limits>

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
  virtual bool empty() const = 0;
  virtual std::uint64_t allocate(std::uint64_t page) = 0;
  virtual void release(std::uint64_t frame) = 0;
};

}  // namespace farfault
