// SPDX-License-Identifier: Apache-2.0
// Histogram of bytes from the CUDA samples (histogram256), four to a word; the histogram of Mosaic's
// published code. Threads stride over the words and add their bytes to counters in shared memory; each 32
// threads of a block share a set of counters. The block sums these sets and writes a partial histogram. A
// second kernel, one block per counter, sums the partial histograms with reads 1 KiB apart.
//
// Shared memory without atomics, as published: threads that add to the same counter write it one after the
// other, each with its own tag, and retry until they read their tag. The number of tries depends on the data:
// uniform bytes from the seed, as in the sample.
//
// Counts: a byte is extracted (2), its counter's address (1); a try reads, masks, counts, tags, writes and
// reads again (3 shared, 4 vector). Index computation is assumed. Registers per thread are from nvcc 13.0 -O3
// for sm_75.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "random.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::histogram256 {
namespace {

constexpr std::uint32_t kBins = 256;
constexpr std::uint32_t kBlock = 192;   // block of `histogram256`
constexpr std::uint32_t kSharers = 32;  // threads that share counters
constexpr std::uint32_t kMergeBlock = 256;

struct Spec {
  std::uint64_t words = 1920 * 1080;
  std::uint32_t partial_histograms = 240;

  void describe(ParamTable& t) {
    t.count("words", words, {1, 1ULL << 32}, "Four-byte words of input",
            "Mosaic, published code: 1920 x 1080");
    t.count("partial_histograms", partial_histograms, {1, 65'535},
            "Blocks of the first kernel, each with one partial histogram", "CUDA samples, histogram");
  }
};

class Count final : public LinearKernel {
 public:
  Count(std::uint32_t warp_width, Spec const& spec, std::uint64_t seed, VirtAddr data, VirtAddr partial)
      : LinearKernel({"histogram256", spec.partial_histograms, kBlock, 30,
                      std::uint64_t{4} * kBins * (kBlock / kSharers)},
                     warp_width, spec.words),
        stride_(std::uint64_t{spec.partial_histograms} * kBlock),
        seed_(seed),
        data_(data),
        partial_(partial) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (take(step, 1)) return set_arguments(out, 3);
    // Index, set of counters; their words set to zero.
    if (take(step, 1))
      return set_compute(out, {.vector = 8, .special = 1, .scalar = 4, .shared = kBins * 4 / 128}, kWait);
    if (take(step, 1)) return set_barrier(out);
    auto const first = block * kBlock + std::uint64_t{warp} * warp_width();
    auto const rounds = first < items() ? ceil_div(items() - first, stride_) : 0;
    if (take(step, 2 * rounds)) {
      auto const word = first + step / 2 * stride_;
      auto const lanes = static_cast<std::uint32_t>(std::min<std::uint64_t>(warp_width(), items() - word));
      if (step % 2 == 0) return set_linear(out, Op::load, 4, data_ + 4 * word, 4, lanes);
      auto const tries = tries_of(word, lanes);
      return set_compute(out, {.vector = 4 * 3 + 4 * tries, .scalar = 2 + tries, .shared = 3 * tries}, kWait);
    }
    if (take(step, 1)) return set_barrier(out);
    // Each thread has one or two of the counters.
    for (std::uint32_t done = 0; done < kBins; done += kBlock) {
      auto const bin = done + warp * warp_width();
      if (bin >= kBins) break;
      if (take(step, 1))
        return set_compute(out,
                           {.vector = 2 * kBlock / kSharers + 3, .scalar = 2, .shared = kBlock / kSharers});
      if (take(step, 1))
        return set_linear(out, Op::store, 4, partial_ + 4 * (block * kBins + bin), 4, warp_width());
    }
    set_end(out);
  }

 private:
  // Tries for all four bytes of the words: the maximum number of sharers with the same byte.
  std::uint32_t tries_of(std::uint64_t word, std::uint32_t lanes) const {
    std::uint32_t sum = 0;
    std::array<std::uint32_t, kMaxLanes> values;
    for (std::uint32_t i = 0; i < lanes; ++i)
      values[i] = static_cast<std::uint32_t>(Random::at(seed_, word + i).next());
    for (std::uint32_t shift = 0; shift < 32; shift += 8) {
      std::uint8_t most = 0;
      for (std::uint32_t from = 0; from < lanes; from += kSharers) {
        std::array<std::uint8_t, kBins> count{};
        for (auto i = from; i < std::min(lanes, from + kSharers); ++i)
          most = std::max(most, ++count[values[i] >> shift & 0xff]);
      }
      sum += most;
    }
    return sum;
  }

  std::uint64_t stride_, seed_;
  VirtAddr data_, partial_;
};

class Merge final : public Kernel {
 public:
  Merge(std::uint32_t warp_width, Spec const& spec, VirtAddr partial, VirtAddr histogram)
      : shape_{"merge_histogram256", kBins, kMergeBlock, 16, 4 * kMergeBlock},
        warp_width_(warp_width),
        partials_(spec.partial_histograms),
        partial_(partial),
        histogram_(histogram) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const first = warp * warp_width_;
    if (take(step, 1)) return set_arguments(out, 3);
    if (take(step, 1)) return set_compute(out, {.vector = 4, .scalar = 3}, kWait);
    auto const rounds = first < partials_ ? ceil_div(partials_ - first, kMergeBlock) : 0;
    if (take(step, 2 * rounds)) {
      auto const number = first + step / 2 * kMergeBlock;
      if (step % 2 != 0) return set_compute(out, {.vector = 3, .scalar = 2}, kWait);  // sum, address, loop
      return set_linear(out, Op::load, 4, partial_ + 4 * (number * kBins + block), 4 * kBins,
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(warp_width_, partials_ - number)));
    }
    if (take(step, 1)) return set_compute(out, {.shared = 1});
    if (take(step, 2 * kHalvings)) {
      if (step % 2 == 0) return set_barrier(out);
      bool const adds = first < kMergeBlock >> (step / 2 + 1);
      return set_compute(out, {.vector = adds ? 3U : 1U, .scalar = 3, .shared = adds ? 3U : 0U});
    }
    if (warp != 0) return set_end(out);
    if (take(step, 1)) return set_compute(out, {.vector = 2, .shared = 1});
    if (take(step, 1)) return set_uniform(out, Op::store, 4, histogram_ + 4 * block);
    set_end(out);
  }

 private:
  static constexpr std::uint32_t kHalvings = 8;  // halvings of the 256 sums

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t partials_;
  VirtAddr partial_, histogram_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const data = layout.add("data", 4 * spec.words);
  auto const partial =
      layout.add_result("partial_histograms", std::uint64_t{4} * kBins * spec.partial_histograms);
  auto const histogram = layout.add_result("histogram", std::uint64_t{4} * kBins);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Count>(context.warp_width, spec, context.seed, data, partial));
  kernels.push_back(std::make_unique<Merge>(context.warp_width, spec, partial, histogram));
  return {"histogram256", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"histogram256",
          "Histogram of bytes in shared memory, partial histograms merged (CUDA sample)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"words", "524288"}}},
           {kMedium, {}},
           {kPaper, {}, "Mosaic (MICRO 2017), published code: 1920 x 1080"}}};
}

}  // namespace farfault::workloads::histogram256
