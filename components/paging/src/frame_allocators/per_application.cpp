// SPDX-License-Identifier: Apache-2.0
// Each address space has an equal part of the memory and allocates its frames in order. Released frames are
// reused first, the latest first. If a part is full, the next part with a free frame is used. No large
// frames: large pages are allocated as base pages.
#include <numeric>
#include <vector>

#include "farfault/paging/frame_allocator.hpp"
#include "farfault/protocols/kernel.hpp"
#include "frame_run.hpp"

namespace farfault::frame_allocators {
namespace {

class PerApplication final : public FrameAllocator {
 public:
  explicit PerApplication(Setup const& s) : page_bits_{s.page_bits}, of_part_{s.frames / s.spaces} {
    for (std::uint32_t space = 1; space < s.spaces; ++space) parts_.emplace_back(of_part_.value);
    parts_.emplace_back(s.frames - of_part_.value * (s.spaces - 1));  // includes the remainder
  }

  std::uint64_t available() const override {
    return std::accumulate(parts_.begin(), parts_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, FrameRun const& part) { return sum + part.available(); });
  }
  std::uint64_t allocate(std::uint64_t page) override {
    FF_CHECK(!empty(), "a frame is allocated but none is free");
    std::uint64_t part = space_of_page(page, static_cast<unsigned>(page_bits_.value));
    while (parts_[part].available() == 0) part = (part + 1) % parts_.size();
    return part * of_part_.value + parts_[part].allocate();
  }
  void release(std::uint64_t frame) override {
    auto const part = part_of(frame);
    parts_[part].release(frame - part * of_part_.value);
  }
  void occupy(std::uint64_t frame) override {
    auto const part = part_of(frame);
    parts_[part].occupy(frame - part * of_part_.value);
  }

  auto members() { return std::tie(page_bits_, of_part_, parts_); }

 private:
  std::uint64_t part_of(std::uint64_t frame) const {
    auto const last = parts_.size() - 1;
    return of_part_.value == 0 ? last : std::min<std::uint64_t>(frame / of_part_.value, last);
  }

  Fixed<std::uint64_t> page_bits_;
  Fixed<std::uint64_t> of_part_;
  std::vector<FrameRun> parts_;  // indexed by address space
};

}  // namespace

void per_application(PolicyList<FrameAllocator>& list) {
  list.add<PerApplication>("per_application",
                           "most recently released frame, else the next unused frame, in the address space's "
                           "equal share of memory");
}

}  // namespace farfault::frame_allocators
