// SPDX-License-Identifier: Apache-2.0
// Frames in random order. Released frames are reused first, the latest first. No large frames: large pages
// are allocated as base pages.
//
// The order is a permutation of the frame numbers that needs no memory: a four-round Feistel network over the
// next even number of bits, repeated while the result exceeds the memory (cycle walking: Black and Rogaway,
// CT-RSA 2002). The same seed and memory size give the same order.
#include <array>
#include <bit>

#include "farfault/paging/frame_allocator.hpp"
#include "farfault/parts/split_mix.hpp"
#include "frame_run.hpp"

namespace farfault::frame_allocators {
namespace {

class Random final : public FrameAllocator {
 public:
  struct Params {
    std::uint64_t seed = 1;
    void describe(ParamTable& t) {
      t.count("seed", seed, {0, 1'000'000'000}, "Random seed of the frame order", "simulator setting");
    }
  };

  Random(Params const& p, Setup const& s) : run_(s.frames) {
    auto const last = s.frames == 0 ? 0 : s.frames - 1;
    order_.value.half = (static_cast<unsigned>(std::bit_width(last)) + 1) / 2;
    SplitMix draws(p.seed);
    for (auto& key : order_.value.keys) key = draws.next();
  }

  std::uint64_t available() const override { return run_.available(); }
  std::uint64_t allocate(std::uint64_t) override {
    auto n = run_.allocate();
    do n = permuted(n);
    while (n >= run_.frames());
    return n;
  }
  void release(std::uint64_t frame) override { run_.release(number_of(frame)); }
  void occupy(std::uint64_t frame) override { run_.occupy(number_of(frame)); }

  auto members() { return std::tie(run_, order_); }

 private:
  struct Order {
    std::array<std::uint64_t, 4> keys;
    unsigned half;  // half of the bits
  };

  std::uint64_t low(std::uint64_t n) const { return n & ((std::uint64_t{1} << order_->half) - 1); }
  std::uint64_t round(std::uint64_t key, std::uint64_t half) const {
    return low(SplitMix(key ^ half).next());
  }
  std::uint64_t permuted(std::uint64_t n) const {
    auto left = n >> order_->half, right = low(n);
    for (auto const key : order_->keys) {
      auto const mixed = left ^ round(key, right);
      left = right;
      right = mixed;
    }
    return left << order_->half | right;
  }
  std::uint64_t number_of(std::uint64_t frame) const {
    FF_CHECK(frame < run_.frames(), "frame number beyond the memory");
    auto n = frame;
    do {
      auto left = n >> order_->half, right = low(n);
      for (auto key = order_->keys.rbegin(); key != order_->keys.rend(); ++key) {
        auto const mixed = right ^ round(*key, left);
        right = left;
        left = mixed;
      }
      n = left << order_->half | right;
    } while (n >= run_.frames());
    return n;
  }

  FrameRun run_;
  Fixed<Order> order_{};
};

}  // namespace

void random(PolicyList<FrameAllocator>& list) {
  list.add<Random>("random", "most recently released frame, else a random unused frame");
}

}  // namespace farfault::frame_allocators
