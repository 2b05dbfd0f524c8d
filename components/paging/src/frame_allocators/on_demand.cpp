// SPDX-License-Identifier: Apache-2.0
// Released frames are allocated first, the latest first (a free list, as Linux keeps per CPU), then unused
// frames in order. A large frame is the lowest aligned run whose frames have all been released, otherwise the
// next aligned run with no frame in use; unused frames skipped before it count as released. Frames occupied
// before their first use are skipped.
#include <algorithm>
#include <vector>

#include "farfault/paging/frame_allocator.hpp"

namespace farfault::frame_allocators {
namespace {

class OnDemand final : public FrameAllocator {
 public:
  static constexpr Facts facts() { return {.has_large_frames = true}; }

  explicit OnDemand(Setup const& setup) : limit_(setup.frames) {}

  std::uint64_t available() const override { return released_.size() + (limit_ - next_) - occupied_ahead_; }
  std::uint64_t allocate(std::uint64_t) override {
    FF_CHECK(!empty(), "a frame is allocated but none is free");
    if (released_.empty()) {
      for (; is_occupied(next_); ++next_) --occupied_ahead_;
      return next_++;
    }
    auto const frame = released_.back();
    released_.pop_back();
    return frame;
  }
  std::optional<std::uint64_t> allocate_large(std::uint64_t, unsigned size) override {
    auto const frames = std::uint64_t{1} << size;
    if (auto const first = released_run(frames)) {
      std::erase_if(released_, [&](std::uint64_t f) { return f - *first < frames; });
      return first;
    }
    auto const unused = unused_run(frames);
    if (!unused) return std::nullopt;
    auto const first = *unused;
    std::erase_if(released_, [&](std::uint64_t f) { return f >= first; });
    for (auto f = first; f > next_; --f)
      if (is_occupied(f - 1))
        --occupied_ahead_;
      else
        released_.push_back(f - 1);
    next_ = first + frames;
    return first;
  }
  bool has_large(unsigned size) const override {
    auto const frames = std::uint64_t{1} << size;
    return unused_run(frames).has_value() || released_run(frames).has_value();
  }
  void release(std::uint64_t frame) override {
    if (frame < next_) return released_.push_back(frame);
    FF_CHECK(is_occupied(frame), "a free frame is released");
    occupied_[frame / 64] &= ~bit_of(frame);
    --occupied_ahead_;
  }
  void occupy(std::uint64_t frame) override {
    if (frame < next_) {
      auto const found = std::ranges::find(released_, frame);
      FF_CHECK(found != released_.end(), "a frame to occupy is already in use");
      released_.erase(found);
      return;
    }
    FF_CHECK(frame < limit_ && !is_occupied(frame), "a frame to occupy is not free");
    if (frame / 64 >= occupied_.size()) occupied_.resize(frame / 64 + 1);
    occupied_[frame / 64] |= bit_of(frame);
    ++occupied_ahead_;
  }

  auto members() { return std::tie(next_, limit_, released_, occupied_ahead_, occupied_); }

 private:
  static std::uint64_t bit_of(std::uint64_t frame) { return std::uint64_t{1} << frame % 64; }
  bool is_occupied(std::uint64_t frame) const {
    return frame / 64 < occupied_.size() && (occupied_[frame / 64] & bit_of(frame)) != 0;
  }
  bool has_occupied(std::uint64_t first, std::uint64_t end) const {
    while (first < end && first / 64 < occupied_.size()) {
      bool const whole_word = first % 64 == 0 && end - first >= 64;
      if (whole_word ? occupied_[first / 64] != 0 : is_occupied(first)) return true;
      first += whole_word ? 64 : 1;
    }
    return false;
  }
  // Next aligned run of `frames` frames with no frame in use that ends behind the frames used so far.
  std::optional<std::uint64_t> unused_run(std::uint64_t frames) const {
    auto first = next_ - next_ % frames;
    auto const free = static_cast<std::uint64_t>(
        std::ranges::count_if(released_, [&](std::uint64_t f) { return f >= first; }));
    if (free != next_ - first) first += frames;
    while (has_occupied(std::max(first, next_), first + frames)) first += frames;
    if (first > limit_ || limit_ - first < frames) return std::nullopt;
    return first;
  }
  // Lowest aligned run of `frames` frames that have all been released.
  std::optional<std::uint64_t> released_run(std::uint64_t frames) const {
    if (released_.size() < frames) return std::nullopt;
    auto sorted = released_;
    std::ranges::sort(sorted);
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      bool const follows = i != 0 && sorted[i] == sorted[i - 1] + 1;
      length = sorted[i] % frames == 0 ? 1 : follows && length != 0 ? length + 1 : 0;
      if (length == frames) return sorted[i] + 1 - frames;
    }
    return std::nullopt;
  }

  std::uint64_t next_ = 0;
  std::uint64_t limit_;
  std::vector<std::uint64_t> released_;
  std::uint64_t occupied_ahead_ = 0;     // occupied frames from next_ on
  std::vector<std::uint64_t> occupied_;  // bit f % 64 of word f / 64; frames from next_ on
};

}  // namespace

void on_demand(PolicyList<FrameAllocator>& list) {
  list.add<OnDemand>("on_demand", "most recently released frame, else the next unused frame");
}

}  // namespace farfault::frame_allocators
