// SPDX-License-Identifier: Apache-2.0
// Histogram of Parboil (histo, version `cuda`): many bins; most pixels fall into few of them. Kernels:
//   prescan        64 blocks sample an eighth of the image, and find the ranges of 24,576 bins that contain
//                  pixels, by two atomics each
//   intermediates  rewrites each pixel's bin as its place in a range, even columns of a row before odd ones
//   main           14 blocks per range read all pixels. Pixels of the block's range are counted in shared
//                  memory, in bytes; an overflow takes atomics on counters in global memory. The blocks of
//                  the first range also count pixels outside all ranges in global memory. Each block writes
//                  its counters
//   final          sums the 14 counters and the overflow of each bin of the ranges, reads the other bins
//                  from global memory, and sets the counters there to zero
// The host computes the data that depends on the pixels (histogram_pixels.hpp).
//
// Buffers hold what the kernels access. The published code allocates more for the bins, by the image's width,
// and less for the rewritten pixels, which its last block of rows overruns.
//
// Counts: a bin is split by two divisions (a product each), shifts and masks; a main step extracts the four
// bytes, compares and adds. Address computation is assumed. Registers and the order of accesses are from nvcc
// 13.0 -O3 for sm_75.
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "histogram_pixels.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::histogram {
namespace {

constexpr std::uint32_t kRows = 16;  // rows of a block of `intermediates`
constexpr std::uint32_t kRangeWords = kRangeBins / 4;
constexpr std::uint32_t kFinalBlocks = 3 * kImageParts;
constexpr std::uint32_t kFinalThreads = 512;

struct Spec {
  std::uint64_t cols = 1920;
  std::uint64_t rows = 1080;
  std::uint64_t bins = 1ULL << 20;
  std::uint64_t spread = 4096;
  double scattered = 0.001;
  std::uint32_t iterations = 1;

  void describe(ParamTable& t) {
    t.count("cols", cols, {64, 2048}, "Image columns, an even number",
            "Mosaic, published code, which processes a 1920 x 1080 image with histogram256");
    t.count("rows", rows, {1, 1U << 15}, "Image rows",
            "Mosaic, published code, which processes a 1920 x 1080 image with histogram256");
    t.count("bins", bins, {kRangeBins, 256 * kRangeBins}, "Histogram bins, a multiple of 4",
            "assumed: about one per pixel, as Parboil states for its image");
    t.count("spread", spread, {0, 1U << 22},
            "Standard deviation of the pixels' bins around the middle bin, in bins", "assumed");
    t.number("scattered", scattered, {0.0, 1.0}, "Fraction of pixels with a uniformly random bin", "assumed");
    t.count("iterations", iterations, {1, 10'000}, "Histograms of the same image", "assumed");
  }
};

struct Image {
  HistogramInput input;
  HistogramPixels pixels;
  VirtAddr data = 0, ranges = 0, mappings = 0, counters = 0, global = 0, overflow = 0, histogram = 0;
};
using SharedImage = std::shared_ptr<Image const>;

class HistogramKernel : public Kernel {
 public:
  KernelShape const& shape() const override { return shape_; }

 protected:
  HistogramKernel(KernelShape shape, std::uint32_t warp_width, SharedImage image)
      : shape_(std::move(shape)), warp_width_(warp_width), image_(std::move(image)) {}

  Image const& image() const { return *image_; }
  std::uint32_t warp_width() const { return warp_width_; }

  // Number of items of a thread that starts at `first` and advances by `stride`.
  static std::uint64_t rounds(std::uint64_t first, std::uint64_t items, std::uint64_t stride) {
    return first < items ? ceil_div(items - first, stride) : 0;
  }
  std::uint32_t lanes(std::uint64_t first, std::uint64_t items) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(warp_width_, items - first));
  }

 private:
  KernelShape shape_;
  std::uint32_t warp_width_;
  SharedImage image_;
};

class Prescan final : public HistogramKernel {
 public:
  Prescan(std::uint32_t warp_width, SharedImage image)
      : HistogramKernel({"histo_prescan", kScanBlocks, kScanThreads, 18, 2 * 4 * kScanThreads}, warp_width,
                        std::move(image)) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const stride = image().input.pixels() / kScanBlocks;
    auto const sampled = stride / 8;
    auto const first = warp * warp_width();
    auto const loop = rounds(first, sampled, kScanThreads);
    if (take(step, 1)) return set_arguments(out, 3);
    if (take(step, 1)) return set_compute(out, {.vector = 6, .special = 1, .scalar = 6}, kWait);
    for (int pass = 0; pass < 2; ++pass) {
      if (take(step, 2 * loop)) {
        auto const i = first + step / 2 * kScanThreads;
        if (step % 2 == 0)
          return set_linear(out, Op::load, 4, image().data + 4 * (block * stride + i), 4, lanes(i, sampled));
        // Conversion, sum or square of the difference, loop.
        return set_compute(out, {.vector = pass == 0 ? 5U : 6U, .scalar = 2}, kWait);
      }
      // A division; in the second pass also a root.
      if (take(step, 1))
        return set_compute(out,
                           {.vector = pass == 0 ? 10U : 18U, .special = pass == 0 ? 1U : 2U, .shared = 1});
    }
    // With barriers down to 32 threads, then within a warp.
    if (take(step, 8)) {
      if (step % 2 == 0) return set_barrier(out);
      return halve(out, first, kScanThreads >> (step / 2 + 1));
    }
    if (first >= kScanThreads / 32) return set_end(out);
    if (take(step, 4)) return halve(out, first, 16U >> step);
    // The last sum, both ends.
    if (take(step, 1)) return set_compute(out, {.vector = 22, .special = 4, .shared = 4});
    if (take(step, 2)) return set_uniform(out, Op::store, 4, image().ranges + 4 * step);
    set_end(out);
  }

 private:
  static void halve(WarpInstruction& out, std::uint32_t first, std::uint32_t threads) {
    bool const adds = first < threads;
    set_compute(out, {.vector = adds ? 3U : 1U, .scalar = 2, .shared = adds ? 6U : 0U});
  }
};

class Intermediates final : public HistogramKernel {
 public:
  Intermediates(std::uint32_t warp_width, SharedImage const& image)
      : HistogramKernel({"histo_intermediates", ceil_div(image->input.rows, kRows),
                         static_cast<std::uint32_t>(image->input.cols / 2), 26, 0},
                        warp_width, image) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const half = image().input.cols / 2;
    auto const first = std::uint64_t{warp} * warp_width();
    if (take(step, 1)) return set_arguments(out, 4);
    if (take(step, 1)) return set_compute(out, {.vector = 10, .special = 2, .scalar = 4}, kWait);
    if (!take(step, 4 * kRows)) return set_end(out);
    auto const row = (block * kRows + step / 4) * half + first;
    auto const n = lanes(first, half);
    auto const to = image().mappings + 4 * (2 * row - first);
    switch (step % 4) {
      case 0:
        return set_linear(out, Op::load, 8, image().data + 8 * row, 8, n);
      case 1:
        return set_compute(out, {.vector = 24, .special = 4}, kWait);
      case 2:
        return set_linear(out, Op::store, 4, to, 4, n);
      default:
        return set_linear(out, Op::store, 4, to + 4 * half, 4, n);
    }
  }
};

class Main final : public HistogramKernel {
 public:
  Main(std::uint32_t warp_width, SharedImage const& image)
      : HistogramKernel(
            {"histo_main", kImageParts * (image->pixels.ranges.last - image->pixels.ranges.first + 1),
             kPartThreads, 24, kRangeBins},
            warp_width, image),
        overflows_(static_cast<std::uint32_t>(
            std::bit_width(static_cast<std::uint32_t>(image->pixels.any & HistogramPixels::kOverflows)))),
        outside_((image->pixels.any & HistogramPixels::kOutside) != 0) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const part = block % kImageParts;
    auto const range = image().pixels.ranges.first + block / kImageParts;
    bool const first_range = block < kImageParts;
    auto const first = part * kPartThreads + std::uint64_t{warp} * warp_width();
    auto const pixels = image().input.pixels();
    if (take(step, 1)) return set_arguments(out, 4);
    // Index; zeroing of the counters.
    if (take(step, 1))
      return set_compute(out, {.vector = 8, .special = 1, .scalar = 6, .shared = kWordsOfThread}, kWait);
    if (take(step, 1)) return set_barrier(out);
    // A branch that no pixel of the image takes is part of the preceding computation.
    auto const steps = 2 + overflows_ + (first_range && outside_ ? 3U : 0U);
    constexpr std::uint64_t kStride = std::uint64_t{kImageParts} * kPartThreads;
    if (take(step, rounds(first, pixels, kStride) * steps))
      return pixel(out, first + step / steps * kStride, step % steps, range);
    if (take(step, 1)) return set_compute(out, {.vector = 4, .special = 2, .scalar = 2});
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 2 * kWordsOfThread)) {
      if (step % 2 == 0) return set_compute(out, {.vector = 3, .scalar = 2, .shared = 1});
      auto const word = part * (image().input.bins / 4) + range * kRangeWords + step / 2 * kPartThreads +
                        std::uint64_t{warp} * warp_width();
      return set_linear(out, Op::store, 4, image().counters + 4 * word, 4, warp_width());
    }
    set_end(out);
  }

 private:
  static constexpr std::uint32_t kWordsOfThread = kRangeWords / kPartThreads;

  // The warp's pixels from the n-th on.
  void pixel(WarpInstruction& out, std::uint64_t n, std::uint64_t step, std::uint64_t range) const {
    auto const count = lanes(n, image().input.pixels());
    auto const* const bin = image().pixels.bin.data() + n;
    auto const* const does = image().pixels.does.data() + n;
    auto const here = [&](std::uint32_t lane) { return bin[lane] / kRangeBins == range; };
    if (take(step, 1)) return set_linear(out, Op::load, 4, image().mappings + 4 * n, 4, count);
    if (take(step, 1)) {
      bool adds = false;
      for (std::uint32_t lane = 0; lane < count && !adds; ++lane) adds = here(lane);
      return set_compute(out, {.vector = adds ? 16U : 8U, .scalar = 5, .shared = adds ? 1U : 0U}, kWait);
    }
    if (take(step, overflows_))
      return some(
          out, Op::store, count, [&](auto lane) { return here(lane) && (does[lane] >> step & 1) != 0; },
          [&](auto lane) { return image().overflow + 4 * (bin[lane] + step); });
    auto const word = [&](auto lane) { return image().global + std::uint64_t{4} * (bin[lane] / 2); };
    if (step == 0)
      return some(
          out, Op::load, count, [&](auto lane) { return (does[lane] & HistogramPixels::kOutside) != 0; },
          word);
    if (step == 1) return set_compute(out, {.vector = 6, .scalar = 1}, kWait);
    some(
        out, Op::store, count, [&](auto lane) { return (does[lane] & HistogramPixels::kAdds) != 0; }, word);
  }

  // An access by the chosen lanes among the first `count`; the branch around the access if none is.
  template <class Chosen, class Address>
  static void some(WarpInstruction& out, Op op, std::uint32_t count, Chosen chosen, Address address) {
    std::uint64_t mask = 0;
    for (std::uint32_t lane = 0; lane < count; ++lane) {
      if (!chosen(lane)) continue;
      mask |= std::uint64_t{1} << lane;
      out.address[lane] = address(lane);
    }
    if (mask == 0) return set_compute(out, {.scalar = 1});
    set_access(out, op, 4, mask);
  }

  std::uint32_t overflows_;
  bool outside_;
};

class Final final : public HistogramKernel {
 public:
  Final(std::uint32_t warp_width, SharedImage image)
      : HistogramKernel({"histo_final", kFinalBlocks, kFinalThreads, 48, 0}, warp_width, std::move(image)) {}

  // An item is four bins.
  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const all = image().input.bins / 4;
    auto const begin = image().pixels.ranges.first * kRangeWords;
    auto const end = (image().pixels.ranges.last + 1) * kRangeWords;
    auto const thread = block * kFinalThreads + std::uint64_t{warp} * warp_width();
    if (take(step, 1)) return set_arguments(out, 4);
    if (take(step, 1)) return set_compute(out, {.vector = 8, .special = 3, .scalar = 8}, kWait);
    std::uint64_t item = 0;
    std::uint32_t n = 0;
    auto const in = [&](std::uint64_t from, std::uint64_t to, std::uint64_t steps) {
      constexpr std::uint64_t kStride = std::uint64_t{kFinalBlocks} * kFinalThreads;
      if (!take(step, steps * rounds(from + thread, to, kStride))) return false;
      item = from + thread + step / steps * kStride;
      n = lanes(item, to);
      step %= steps;
      return true;
    };
    if (in(0, begin, kOuterSteps)) return outer(out, item, n, step);
    if (in(begin, end, kInnerSteps)) return inner(out, item, n, step);
    if (in(end, all, kOuterSteps)) return outer(out, item, n, step);
    set_end(out);
  }

 private:
  static constexpr std::uint64_t kOuterSteps = 4;
  static constexpr std::uint64_t kInnerSteps = 4 + kImageParts;

  // Bins outside all ranges: 16 bits each in global memory.
  void outer(WarpInstruction& out, std::uint64_t item, std::uint32_t n, std::uint64_t step) const {
    if (step < 2)
      return set_linear(out, step == 0 ? Op::load : Op::store, 8, image().global + 8 * item, 8, n);
    if (step == 2) return set_compute(out, {.vector = 14, .scalar = 2}, kWait);  // four minima, packed
    write(out, item, n);
  }

  void inner(WarpInstruction& out, std::uint64_t item, std::uint32_t n, std::uint64_t step) const {
    if (step < 2)
      return set_linear(out, step == 0 ? Op::load : Op::store, 16, image().overflow + 16 * item, 16, n);
    if (step < 2 + kImageParts)
      return set_linear(out, Op::load, 4,
                        image().counters + 4 * (item + (step - 2) * (image().input.bins / 4)), 4, n);
    // Four bytes of each word extracted and added; four minima, packed.
    if (step == 2 + kImageParts)
      return set_compute(out, {.vector = 8 * kImageParts + 12, .scalar = 2}, kWait);
    write(out, item, n);
  }

  void write(WarpInstruction& out, std::uint64_t item, std::uint32_t n) const {
    set_linear(out, Op::store, 4, image().histogram + 4 * item, 4, n);
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.cols % 2 != 0) throw ParameterError("cols", spec.cols, "must be even");
  if (spec.bins % 4 != 0) throw ParameterError("bins", spec.bins, "must be a multiple of 4");
  auto image = std::make_shared<Image>();
  image->input = {.rows = spec.rows,
                  .cols = spec.cols,
                  .bins = spec.bins,
                  .spread = spec.spread,
                  .scattered = static_cast<std::uint64_t>(spec.scattered * 4294967296.0),
                  .seed = context.seed};
  image->pixels = histogram_pixels(image->input);
  BufferLayout layout(context.buffers);
  auto const pixels = ceil_div(spec.rows, kRows) * kRows * spec.cols;
  auto const ranges = std::max(image->pixels.ranges.last + 1, ceil_div(spec.bins, kRangeBins));
  image->data = layout.add("pixels", 4 * pixels);
  image->ranges = layout.add("ranges", 8);
  image->mappings = layout.add_result("mappings", 4 * pixels);
  image->counters = layout.add_result("counters", (kImageParts - 1) * spec.bins + ranges * kRangeBins);
  image->global = layout.add("global_counters", 2 * spec.bins);
  image->overflow = layout.add("overflow", 4 * ranges * kRangeBins);
  image->histogram = layout.add_result("histogram", ranges * kRangeBins);
  auto const width = context.warp_width;
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.iterations; ++i) {
    kernels.push_back(std::make_unique<Prescan>(width, image));
    kernels.push_back(std::make_unique<Intermediates>(width, image));
    kernels.push_back(std::make_unique<Main>(width, image));
    kernels.push_back(std::make_unique<Final>(width, image));
  }
  return {"histogram", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"histogram",
          "Histogram with many bins, by ranges in shared memory (Parboil, histo)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"cols", "512"}, {"rows", "128"}, {"bins", "65536"}, {"spread", "1024"}}},
           {kMedium, {}},
           {kPaper,
            {{"bins", "2097152"}, {"iterations", "20"}},
            "Parboil, histo: 256 x 8,192 bins; default input: 20 histograms; assumed: the image of Mosaic's "
            "published code"}}};
}

}  // namespace farfault::workloads::histogram
