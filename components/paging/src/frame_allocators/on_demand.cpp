// Released frames are allocated first, the latest released first (a free list, as Linux keeps per CPU); then
// frames never used, in order.
#include <vector>

#include "farfault/paging/frame_allocator.hpp"

namespace farfault::frame_allocators {
namespace {

class OnDemand final : public FrameAllocator {
 public:
  explicit OnDemand(Setup const& setup) : limit_(setup.frames) {}

  bool empty() const override { return released_.empty() && next_ == limit_; }
  std::uint64_t allocate(std::uint64_t) override {
    FF_CHECK(!empty(), "a frame is allocated where none is free");
    if (released_.empty()) return next_++;
    auto const frame = released_.back();
    released_.pop_back();
    return frame;
  }
  void release(std::uint64_t frame) override { released_.push_back(frame); }

  auto members() { return std::tie(next_, limit_, released_); }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t limit_;
  std::vector<std::uint64_t> released_;
};

}  // namespace

void on_demand(PolicyList<FrameAllocator>& list) {
  list.add<OnDemand>("on_demand", "the one released last, else the next that was never used");
}

}  // namespace farfault::frame_allocators
