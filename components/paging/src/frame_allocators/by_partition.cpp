// SPDX-License-Identifier: Apache-2.0
// Frames in the partitions of a GPU's memory (chiplets): each buffer in equal contiguous parts, one per
// partition, as LASP places data that static analysis finds to be local (Khairy et al., MICRO 2020; MGvm,
// MICRO 2022). A page of a full partition goes to the next one with room. Within a partition, frames are
// allocated in order, and released ones first. No large frames: large pages are allocated as base pages.
#include <algorithm>

#include "farfault/paging/frame_allocator.hpp"
#include "frame_run.hpp"

namespace farfault::frame_allocators {
namespace {

class ByPartition final : public FrameAllocator {
 public:
  static constexpr Facts facts() { return {.uses_partitions = true}; }

  explicit ByPartition(Setup const& s) : count_{s.parts.count}, block_{s.parts.block}, buffers_{s.buffers} {
    std::ranges::sort(buffers_.value, {}, &PageRange::first);
    for (std::uint64_t p = 0; p < s.parts.count; ++p) runs_.emplace_back(s.parts.bytes_of(p, s.frames));
  }

  std::uint64_t available() const override {
    std::uint64_t all = 0;
    for (auto const& run : runs_) all += run.available();
    return all;
  }
  std::uint64_t allocate(std::uint64_t page) override {
    auto part = part_of(page);
    while (runs_[part].available() == 0) part = part + 1 == runs_.size() ? 0 : part + 1;
    return parts().offset(part, runs_[part].allocate());
  }
  void release(std::uint64_t frame) override { runs_[parts().part_of(frame)].release(parts().local(frame)); }
  void occupy(std::uint64_t frame) override { runs_[parts().part_of(frame)].occupy(parts().local(frame)); }

  auto members() { return std::tie(count_, block_, buffers_, runs_); }

 private:
  MemoryParts parts() const { return {static_cast<std::uint32_t>(count_.value), block_.value}; }
  // Pages outside all buffers are in the first partition.
  std::uint32_t part_of(std::uint64_t page) const {
    auto const after = std::ranges::upper_bound(buffers_.value, page, {}, &PageRange::first);
    if (after == buffers_.value.begin()) return 0;
    auto const& buffer = *std::prev(after);
    if (page - buffer.first >= buffer.count) return 0;
    auto const each = (buffer.count + count_.value - 1) / count_.value;
    return static_cast<std::uint32_t>((page - buffer.first) / each);
  }

  Fixed<std::uint64_t> count_;
  Fixed<std::uint64_t> block_;
  Fixed<std::vector<PageRange>> buffers_;
  std::vector<FrameRun> runs_;  // by partition
};

}  // namespace

void by_partition(PolicyList<FrameAllocator>& list) {
  list.add<ByPartition>("by_partition",
                        "equal contiguous parts of each buffer, one in each partition of a GPU's memory");
}

}  // namespace farfault::frame_allocators
