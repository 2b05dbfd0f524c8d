// SPDX-License-Identifier: Apache-2.0
// Sums of absolute differences of two video frames (Parboil, benchmarks/sad/src/cuda): the full search of
// H.264's motion estimation at 33x33 positions, for blocks of 4x4 pixels and from these for all larger blocks
// up to 16x16.
//
// Three kernels. The first has a block of 61 threads per 4x4 pixels: 16 threads read the pixels into shared
// memory. Each thread then computes 18 positions, three at a time, for which it reads four rows of six pixels
// of the reference, clamped to the frame's border like a texture. After a barrier 32 threads write the 1096
// sums (1089 and padding), 8 bytes each. The second, of 32x4 threads per 16x16 pixels, adds these to sums of
// 8x4, 4x8 and 8x8, two sums per word; the third, of 32 threads, computes the sums of 16x8, 8x16 and 16x16.
//
// The reference is a texture; here it is an array row by row, read through the L1 cache, because the layout
// of textures in a GPU is not published. Pixel values do not affect any address.
//
// Counts: a difference, its absolute value and a sum per pixel and position; the compiler reads the 16 pixels
// from shared memory once, before the loop. The 24 reads of a turn are assumed to be outstanding together.
// Registers are from nvcc 13.0 -O3 for sm_75, with a texture object instead of the texture reference.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::sad {
namespace {

constexpr std::uint32_t kRange = 16;  // search range in pixels to each side
constexpr std::uint32_t kSide = 2 * kRange + 1;
constexpr std::uint32_t kPositions = kSide * kSide;
constexpr std::uint32_t kRow = 1096;      // sums of a block of pixels, with padding, of 2 bytes
constexpr std::uint32_t kPerThread = 18;  // positions
constexpr std::uint32_t kAtOnce = 3;      // positions computed at once
constexpr std::uint32_t kThreads = (kPositions + kPerThread - 1) / kPerThread;
constexpr std::uint32_t kWords = (kPositions + 1) / 2;  // words of two sums, which the later kernels read
constexpr std::uint32_t kBlocksOfPixels = 41;           // blocks of all sizes in a macroblock

struct Spec {
  std::uint64_t width = 176;
  std::uint64_t height = 144;

  void describe(ParamTable& t) {
    t.count("width", width, {16, 1ULL << 14}, "Pixels per row, a multiple of 16",
            "Parboil, sad, default data set");
    t.count("height", height, {16, 1ULL << 14}, "Frame rows, a multiple of 16",
            "Parboil, sad, default data set");
  }
};

struct Frames {
  std::uint64_t width, height;  // in pixels
  VirtAddr current, reference, sums;

  std::uint64_t macroblocks() const { return width / 16 * (height / 16); }
  // The sums of a block of pixels. The `count` blocks of one size of a macroblock are adjacent; `before` is
  // the number of blocks of larger sizes per macroblock, whose sums precede them.
  VirtAddr row(std::uint64_t before, std::uint64_t macroblock, std::uint64_t count,
               std::uint64_t block) const {
    return sums + 2 * kRow * (macroblocks() * before + macroblock * count + block);
  }
};

class Sad4 final : public Kernel {
 public:
  Sad4(Frames const& frames, std::uint32_t warp_width)
      : shape_{"mb_sad_calc", frames.width / 4 * (frames.height / 4), kThreads, 63, 2 * (kRow + 16)},
        warp_width_(warp_width),
        frames_(frames) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const x = block % (frames_.width / 4), y = block / (frames_.width / 4);
    auto const thread = warp * warp_width_;
    auto const lanes = std::min(warp_width_, kThreads - std::min(thread, kThreads));
    if (lanes == 0) return set_end(out);
    if (step-- == 0) return set_arguments(out, 4);
    // The block of pixels, by shifts; the threads that copy (a division by the block's width).
    if (step-- == 0) return set_compute(out, {.vector = 24, .special = 2, .scalar = 9}, kWait);
    if (thread == 0) {
      if (step == 0) return pixels(out, x, y);
      if (step == 1) return set_compute(out, {.shared = 1, .shared_bytes_per_lane = 2}, kWait);
      step -= 2;
    }
    if (step-- == 0) return set_barrier(out);
    // First position of the thread, a division by 33, the range's end; the 16 pixels.
    if (step-- == 0)
      return set_compute(out,
                         {.vector = 12, .special = 4, .scalar = 2, .shared = 16, .shared_bytes_per_lane = 2});
    if (step < kRounds * kStepsOfRound) {
      auto const round = static_cast<std::uint32_t>(step / kStepsOfRound);
      auto const in_round = static_cast<std::uint32_t>(step % kStepsOfRound);
      if (in_round < kReads) return reference(out, x, y, thread, lanes, round, in_round / 6, in_round % 6);
      // 48 differences; coordinates of 6 columns and 4 rows, the next position and its row; the loop.
      return set_compute(
          out,
          {.vector = 3 * 16 * kAtOnce + 10 + 5, .scalar = 2, .shared = kAtOnce, .shared_bytes_per_lane = 2},
          kWait);
    }
    step -= kRounds * kStepsOfRound;
    if (step-- == 0) return set_barrier(out);
    if (thread >= kCopying) return set_end(out);
    if (step-- == 0)  // addresses of the sums (24-bit products)
      return set_compute(out, {.vector = 14, .scalar = 4});
    auto const first = static_cast<std::uint32_t>(step / 2) * kCopying;
    if (first >= kUnits) return set_end(out);
    if (step % 2 == 0)
      return set_compute(out, {.vector = 3, .scalar = 2, .shared = 1, .shared_bytes_per_lane = kUnit});
    auto const mb = y / 4 * (frames_.width / 16) + x / 4;
    set_linear(out, Op::store, kUnit, frames_.row(25, mb, 16, y % 4 * 4 + x % 4) + kUnit * first, kUnit,
               std::min(kCopying, kUnits - first));
  }

 private:
  static constexpr std::uint32_t kRounds = kPerThread / kAtOnce;
  static constexpr std::uint32_t kReads = 24;
  static constexpr std::uint32_t kStepsOfRound = kReads + 1;
  static constexpr std::uint32_t kCopying = 32;  // threads
  static constexpr std::uint32_t kUnit = 8;      // bytes
  static constexpr std::uint32_t kUnits = 2 * kRow / kUnit;

  void pixels(WarpInstruction& out, std::uint64_t x, std::uint64_t y) const {
    set_access(out, Op::load, 2, low_lanes(16));
    for (std::uint32_t t = 0; t < 16; ++t)
      out.address[t] = frames_.current + 2 * ((4 * y + t / 4) * frames_.width + 4 * x + t % 4);
  }

  // Pixel (dx, dy) of the window that three adjacent positions need.
  void reference(WarpInstruction& out, std::uint64_t x, std::uint64_t y, std::uint32_t thread,
                 std::uint32_t lanes, std::uint32_t round, std::uint32_t dy, std::uint32_t dx) const {
    std::uint64_t active = 0;
    auto const cut = [](std::uint64_t at, std::uint64_t size) {  // `at` is the pixel's coordinate plus kRange
      return std::min(at < kRange ? 0 : at - kRange, size - 1);
    };
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      auto const position = (thread + lane) * kPerThread + round * kAtOnce;
      if (position >= kPositions) continue;
      active |= std::uint64_t{1} << lane;
      auto const column = cut(4 * x + position % kSide + dx, frames_.width);
      auto const row = cut(4 * y + position / kSide + dy, frames_.height);
      out.address[lane] = frames_.reference + 2 * (row * frames_.width + column);
    }
    set_access(out, Op::load, 2, active);
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  Frames frames_;
};

// The rows of sums that a thread adds, two above two, and the addresses of its results.
struct Four {
  std::array<VirtAddr, 4> read;
  std::array<VirtAddr, 5> write;
};

// 32 adjacent threads process the words of four rows of sums.
class LargerSad : public Kernel {
 public:
  LargerSad(KernelShape shape, Frames const& frames, std::uint32_t warp_width)
      : frames_(frames), shape_(std::move(shape)), warp_width_(warp_width) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 3);
    if (step-- == 0)  // the blocks of pixels; the addresses of four inputs and five outputs
      return set_compute(out, {.vector = 34, .scalar = 8}, kWait);
    auto const first = static_cast<std::uint32_t>(step / kSteps) * kAlong;
    if (first >= kWords) return set_end(out);
    auto const in_round = step % kSteps;
    if (in_round == 4)  // six sums, the loop's index and addresses
      return set_compute(out, {.vector = 6 + 4, .scalar = 2}, kWait);
    set_access(out, in_round < 4 ? Op::load : Op::store, 4, 0);
    auto const words = std::min(kAlong, kWords - first);
    for (std::uint32_t half = 0; half < std::min(warp_width_, shape_.threads_per_block); half += kAlong) {
      auto const four = rows(block, (warp * warp_width_ + half) / kAlong);
      auto const at = (in_round < 4 ? four.read[in_round] : four.write[in_round - 5]) + 4 * first;
      out.lanes |= low_lanes(words) << half;
      for (std::uint32_t lane = 0; lane < words; ++lane)
        out.address[half + lane] = at + std::uint64_t{4} * lane;
    }
  }

 protected:
  virtual Four rows(std::uint64_t macroblock, std::uint32_t group) const = 0;

  Frames frames_;

 private:
  static constexpr std::uint32_t kAlong = 32;
  static constexpr std::uint32_t kSteps = 4 + 1 + 5;

  KernelShape shape_;
  std::uint32_t warp_width_;
};

class Sad8 final : public LargerSad {
 public:
  Sad8(Frames const& frames, std::uint32_t warp_width)
      : LargerSad({"larger_sad_calc_8", frames.macroblocks(), 128, 32, 0}, frames, warp_width) {}

 private:
  // The four quarters of a macroblock.
  Four rows(std::uint64_t mb, std::uint32_t quarter) const override {
    auto const x = quarter % 2, y = quarter / 2;
    auto const in = frames_.row(25, mb, 16, 8 * y + 2 * x);
    auto const tall = frames_.row(17, mb, 8, 4 * y + 2 * x), wide = frames_.row(9, mb, 8, 4 * y + x);
    return {
        .read = std::array{in, in + 2 * kRow, in + 8 * kRow, in + 10 * kRow},
        .write = std::array{tall, tall + 2 * kRow, wide, wide + 4 * kRow, frames_.row(5, mb, 4, 2 * y + x)}};
  }
};

class Sad16 final : public LargerSad {
 public:
  Sad16(Frames const& frames, std::uint32_t warp_width)
      : LargerSad({"larger_sad_calc_16", frames.macroblocks(), 32, 26, 0}, frames, warp_width) {}

 private:
  Four rows(std::uint64_t mb, std::uint32_t) const override {
    auto const in = frames_.row(5, mb, 4, 0);
    auto const tall = frames_.row(3, mb, 2, 0), wide = frames_.row(1, mb, 2, 0);
    return {.read = std::array{in, in + 2 * kRow, in + 4 * kRow, in + 6 * kRow},
            .write = std::array{tall, tall + 2 * kRow, wide, wide + 2 * kRow, frames_.row(0, mb, 1, 0)}};
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  for (auto const& [name, value] : {std::pair{"width", spec.width}, {"height", spec.height}})
    if (value % 16 != 0)
      throw ParameterError(name, value, "must be a multiple of 16, the side of a macroblock");
  BufferLayout layout(context.buffers);
  Frames frames{.width = spec.width, .height = spec.height, .current = 0, .reference = 0, .sums = 0};
  frames.current = layout.add("current", 2 * spec.width * spec.height);
  frames.reference = layout.add("reference", 2 * spec.width * spec.height);
  frames.sums = layout.add_result("sums", 2 * kRow * kBlocksOfPixels * frames.macroblocks());
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Sad4>(frames, context.warp_width));
  kernels.push_back(std::make_unique<Sad8>(frames, context.warp_width));
  kernels.push_back(std::make_unique<Sad16>(frames, context.warp_width));
  return {"sad", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"sad",
          "Sums of absolute differences between blocks of two video frames (Parboil)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"width", "32"}, {"height", "16"}}},
           {kMedium, {{"width", "96"}, {"height", "64"}}},
           {kPaper, {}, "Parboil, sad, as in Mosaic (MICRO 2017): 176 x 144"}}};
}

}  // namespace farfault::workloads::sad
