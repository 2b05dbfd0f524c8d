// SPDX-License-Identifier: Apache-2.0
// Large frames: the pages of a virtual region get the frames of one large frame, each at its own offset, so
// that the region can become a large page. When no large frame is free, a page gets the first free frame.
#include <algorithm>
#include <farfault/paging/frame_allocator.hpp>
#include <farfault/program.hpp>

namespace {

using namespace farfault;

class LargeFrames final : public FrameAllocator {
 public:
  struct Params {
    std::uint64_t pages = 512;
    void describe(ParamTable& t) {
      t.count("pages", pages, {1, 1 << 18}, "Pages per large frame", "x86-64: 512 pages of 4 KiB are 2 MiB");
    }
  };

  LargeFrames(Params const& p, Setup const& memory) : params_{p}, frames_(memory.frames) {}

  std::uint64_t available() const override { return frames_ - used_; }
  std::uint64_t allocate(std::uint64_t page) override {
    auto const own = first_frame(page / params_->pages) + page % params_->pages;
    bool const in_place = own < frames_ && !is_taken(own);
    ++(in_place ? in_place_ : scattered_);
    auto frame = in_place ? own : 0;
    while (is_taken(frame)) ++frame;
    occupy(frame);
    return frame;
  }
  void release(std::uint64_t frame) override {
    taken_[frame] = 0;
    --used_;
  }
  void occupy(std::uint64_t frame) override {
    if (frame >= taken_.size()) taken_.resize(frame + 1);
    taken_[frame] = 1;
    ++used_;
  }

  auto members() { return std::tie(params_, frames_, used_, in_place_, scattered_, regions_, taken_); }
  static auto stats() {
    using A = LargeFrames const&;
    return std::array<Stat<LargeFrames>, 2>{{
        {"in_place", "count", "Pages placed at their offset in a large frame", StatKind::counter,
         [](A a) { return a.in_place_; }},
        {"scattered", "count", "Pages placed in another frame", StatKind::counter,
         [](A a) { return a.scattered_; }},
    }};
  }

 private:
  // First frame of the region's large frame, which is allocated with the region's first page.
  std::uint64_t first_frame(std::uint64_t region) {
    auto const found = std::ranges::find(regions_, region);
    auto const number = static_cast<std::uint64_t>(found - regions_.begin());
    if (number >= frames_ / params_->pages) return frames_;
    if (found == regions_.end()) regions_.push_back(region);
    return number * params_->pages;
  }
  bool is_taken(std::uint64_t frame) const { return frame < taken_.size() && taken_[frame] != 0; }

  Fixed<Params> params_;
  std::uint64_t frames_;
  std::uint64_t used_ = 0;
  std::uint64_t in_place_ = 0;
  std::uint64_t scattered_ = 0;
  std::vector<std::uint64_t> regions_;  // by large frame
  std::vector<std::uint8_t> taken_;     // by frame
};

}  // namespace

void large_frames(Extensions& all) {
  all.policy<LargeFrames>("large_frames", "Pages of a region contiguous in one large frame");
}
