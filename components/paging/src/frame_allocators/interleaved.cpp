// SPDX-License-Identifier: Apache-2.0
// Consecutive pages go to consecutive parts of the memory, in order within each part. Released frames are
// reused first, the latest first. No large frames: large pages are allocated as base pages.
#include <algorithm>

#include "farfault/paging/frame_allocator.hpp"
#include "frame_run.hpp"

namespace farfault::frame_allocators {
namespace {

class Interleaved final : public FrameAllocator {
 public:
  struct Params {
    std::uint32_t parts = 8;
    void describe(ParamTable& t) {
      t.count("parts", parts, {1, 65536}, "Parts of memory that serve new frames round-robin",
              "assumed: 8, the banks of a memory channel");
    }
  };

  Interleaved(Params const& p, Setup const& s)
      : parts_{std::clamp<std::uint64_t>(s.frames, 1, p.parts)}, run_(s.frames) {}

  std::uint64_t available() const override { return run_.available(); }
  std::uint64_t allocate(std::uint64_t) override {
    auto const n = run_.allocate();
    return n < in_turn() ? n % parts_.value * of_part() + n / parts_.value : n;
  }
  void release(std::uint64_t frame) override { run_.release(number_of(frame)); }
  void occupy(std::uint64_t frame) override { run_.occupy(number_of(frame)); }

  auto members() { return std::tie(parts_, run_); }

 private:
  std::uint64_t of_part() const { return run_.frames() / parts_.value; }
  // Frames beyond the last full round are allocated last, in order.
  std::uint64_t in_turn() const { return of_part() * parts_.value; }
  std::uint64_t number_of(std::uint64_t frame) const {
    return frame < in_turn() ? frame % of_part() * parts_.value + frame / of_part() : frame;
  }

  Fixed<std::uint64_t> parts_;
  FrameRun run_;
};

}  // namespace

void interleaved(PolicyList<FrameAllocator>& list) {
  list.add<Interleaved>("interleaved", "most recently released frame, else round-robin over parts of memory");
}

}  // namespace farfault::frame_allocators
