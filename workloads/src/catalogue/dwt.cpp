// SPDX-License-Identifier: Apache-2.0
// Two-dimensional discrete wavelet transform, from Rodinia (dwt2d): the reversible 5/3 filter of JPEG 2000 on
// an image of three components. The first kernel reads pixels of three bytes and writes three components. For
// each component, a copy is kept and the levels are computed; each further level processes the low band of
// the previous one, which is copied back.
//
// In `fdwt53` a block has as many columns as threads (192, 128 or 64) and moves down its part of the image in
// windows of 8 rows. Each thread reads its column, the first three threads also one more each (the next
// block's first, the previous block's last two), and filters them vertically in shared memory; then all
// threads filter the rows. Outside the image pixels are mirrored. Low and high coefficients go to separate,
// consecutive bands: columns and rows with even numbers are low. The first half of the block writes the even
// columns, the second half the odd ones.
//
// Copies within the GPU are kernels that read and write 4 bytes per thread, which is assumed. Counts: a
// coefficient is two additions and a shift per direction; other counts, and the registers of the first kernel
// and of copies, are assumed. The registers of `fdwt53` are from nvcc 13.0 -O3 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::dwt {
namespace {

constexpr std::uint32_t kRows = 8;     // rows of a window
constexpr std::uint64_t kBlocks = 15;  // maximum blocks along a column of the image
constexpr std::uint32_t kBlock = 256;  // threads of a block of the other kernels

struct Spec {
  std::uint64_t width = 1024;
  std::uint64_t height = 1024;
  std::uint32_t levels = 3;

  void describe(ParamTable& t) {
    t.count("image_width", width, {33, 1ULL << 15}, "Image columns", "Rodinia, dwt2d: rgb.bmp");
    t.count("image_height", height, {33, 1ULL << 15}, "Image rows", "Rodinia, dwt2d: rgb.bmp");
    t.count("levels", levels, {1, 10}, "Transform levels", "Rodinia, dwt2d");
  }
};

// Pixels of three bytes to three components.
class Components final : public LinearKernel {
 public:
  Components(std::uint32_t warp_width, std::uint64_t pixels, VirtAddr source, VirtAddr const (&to)[3])
      : LinearKernel({"c_CopySrcToComponents", ceil_div(pixels, kBlock), kBlock, 12, 3 * kBlock}, warp_width,
                     pixels),
        source_(source),
        to_{to[0], to[1], to[2]} {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const in_block = warp * warp_width();
    if (take(step, 1)) return set_arguments(out, 3);
    if (take(step, 1)) return set_compute(out, {.vector = 8, .special = 1, .scalar = 4}, kWait);
    // Three quarters of the threads read four bytes each, also beyond the last pixel.
    if (in_block < 3 * kBlock / 4) {
      if (take(step, 1))
        return set_linear(out, Op::load, 4, source_ + block * kBlock * 3 + std::uint64_t{4} * in_block, 4,
                          std::min(warp_width(), 3 * kBlock / 4 - in_block));
      if (take(step, 1)) return set_compute(out, {.shared = 1}, kWait);
    }
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1))
      return set_compute(out, {.vector = 12, .scalar = 2, .shared = 3, .shared_bytes_per_lane = 1});
    if (t.lanes == 0 || step > 2) return set_end(out);
    set_linear(out, Op::store, 4, to_[step] + 4 * t.first, 4, t.lanes);
  }

 private:
  VirtAddr source_;
  VirtAddr to_[3];
};

class Copy final : public LinearKernel {
 public:
  Copy(std::uint32_t warp_width, std::uint64_t elements, VirtAddr from, VirtAddr to)
      : LinearKernel({"copy", ceil_div(elements, kBlock), kBlock, 8, 0}, warp_width, elements),
        from_(from),
        to_(to) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (take(step, 1)) return set_arguments(out, 3);
    if (take(step, 1)) return set_compute(out, {.vector = 8, .special = 1, .scalar = 4}, kWait);
    if (t.lanes == 0 || step > 1) return set_end(out);
    if (step == 0) return set_linear(out, Op::load, 4, from_ + 4 * t.first, 4, t.lanes);
    set_linear(out, Op::store, 4, to_ + 4 * t.first, 4, t.lanes, kWait);
  }

 private:
  VirtAddr from_, to_;
};

std::uint32_t window_width(std::uint64_t width) {
  return width >= 960 ? 192 : width >= 480 ? 128 : 64;
}

class Transform final : public Kernel {
 public:
  Transform(std::uint32_t warp_width, std::uint64_t width, std::uint64_t height, VirtAddr from, VirtAddr to)
      : wide_(window_width(width)),
        windows_(ceil_div(height, kBlocks * kRows)),
        across_(ceil_div(width, wide_)),
        shape_{"fdwt53Kernel", across_ * ceil_div(height, kRows * windows_), wide_, 54,
               wide_ == 192   ? 8728U
               : wide_ == 128 ? 5912U
                              : 3096U},
        warp_width_(warp_width),
        width_(width),
        height_(height),
        from_(from),
        to_(to) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const first = warp * warp_width_;
    auto const lanes = std::min(warp_width_, wide_ - first);
    auto const column = block % across_ * wide_;
    auto const row = static_cast<std::int64_t>(block / across_ * kRows * windows_);
    // All threads of the warp, or the first three, each at its pixel of a row.
    auto const main = [&](std::int64_t y) {
      set_access(out, Op::load, 4, low_lanes(lanes));
      for (std::uint32_t i = 0; i < lanes; ++i)
        out.address[i] = pixel(static_cast<std::int64_t>(column + first + i), y);
    };
    auto const boundary = [&](std::int64_t y) {
      set_access(out, Op::load, 4, low_lanes(3));
      for (std::int64_t i = 0; i < 3; ++i)
        out.address[static_cast<std::size_t>(i)] =
            pixel(static_cast<std::int64_t>(column) + (i == 0 ? std::int64_t{wide_} : i - 3), y);
    };
    // At the upper end rows 0, 1 and 2, mirrored; elsewhere the two rows above and the first row.
    auto const ahead = [row](std::uint64_t i) {
      return row == 0 ? std::int64_t(i) : row - 2 + std::int64_t(i);
    };
    if (take(step, 1)) return set_arguments(out, 3);
    // Ends of the block's part; offsets in shared memory; addresses of the coefficients.
    if (take(step, 1)) return set_compute(out, {.vector = 60, .special = 6, .scalar = 20}, kWait);
    if (take(step, 3)) return main(ahead(step));
    if (warp == 0 && take(step, 3)) return boundary(ahead(step));
    auto const per_window = (warp == 0 ? 2 : 1) * std::uint64_t{kRows + 1} + 5 + kRows + 2;
    if (step >= windows_ * per_window) return set_end(out);
    auto const top = row + static_cast<std::int64_t>(step / per_window * kRows);
    step %= per_window;
    for (int columns = 0; columns < (warp == 0 ? 2 : 1); ++columns) {
      if (take(step, kRows)) {
        auto const y = top + 1 + static_cast<std::int64_t>(step);
        return columns == 0 ? main(y) : boundary(y);
      }
      // Eleven rows into shared memory and three rows out; five and four coefficients.
      if (take(step, 1)) return set_compute(out, {.vector = 27 + 16, .scalar = 8, .shared = 14 + 36}, kWait);
    }
    if (take(step, 5)) {  // barrier, high coefficients of rows, barrier, low coefficients, barrier
      if (step % 2 == 0) return set_barrier(out);
      return set_compute(out, {.vector = 5 * 5, .scalar = 10, .shared = 5 * 4});
    }
    if (take(step, 1)) return set_compute(out, {.vector = 8, .shared = kRows});
    if (take(step, kRows))
      return coefficients(out, column, first, lanes, static_cast<std::uint64_t>(top) + step);
    set_barrier(out);
  }

 private:
  static std::uint64_t mirrored(std::int64_t i, std::uint64_t count) {
    auto const n = static_cast<std::int64_t>(count);
    return static_cast<std::uint64_t>(i < 0 ? -i : i >= n ? 2 * n - 2 - i : i);
  }

  VirtAddr pixel(std::int64_t x, std::int64_t y) const {
    return from_ + 4 * (mirrored(y, height_) * width_ + mirrored(x, width_));
  }

  // Bands: low columns and rows, high columns, high rows, both high.
  void coefficients(WarpInstruction& out, std::uint64_t column, std::uint32_t first, std::uint32_t lanes,
                    std::uint64_t y) const {
    auto const low_columns = ceil_div(width_, 2), low_rows = ceil_div(height_, 2);
    std::uint64_t mask = 0;
    for (std::uint32_t i = 0; i < lanes && y < height_; ++i) {
      auto const thread = first + i;
      auto const x = column + (thread < wide_ / 2 ? 2 * thread : 2 * thread - (wide_ - 1));
      if (x >= width_) continue;
      bool const high_x = x % 2 != 0, high_y = y % 2 != 0;
      auto const band =
          (high_y ? low_rows * width_ : 0) + (high_x ? low_columns * (high_y ? height_ / 2 : low_rows) : 0);
      mask |= std::uint64_t{1} << i;
      out.address[i] = to_ + 4 * (band + y / 2 * (high_x ? width_ / 2 : low_columns) + x / 2);
    }
    if (mask == 0) return set_compute(out, {.scalar = 1});  // the branch around the access
    set_access(out, Op::store, 4, mask);
  }

  std::uint32_t wide_;
  std::uint64_t windows_, across_;
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t width_, height_;
  VirtAddr from_, to_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const pixels = spec.width * spec.height;
  auto const halved = [&](std::uint64_t size, std::uint32_t times) { return ceil_div(size, 1ULL << times); };
  if (std::min(halved(spec.width, spec.levels - 1), halved(spec.height, spec.levels - 1)) < 33)
    throw ParameterError("levels", spec.levels,
                         "the last level of an image of " + std::to_string(spec.width) + " x " +
                             std::to_string(spec.height) +
                             " pixels must have at least 33 pixels per side, for mirroring");
  BufferLayout layout(context.buffers);
  // Rounded up to whole blocks, which read beyond the last pixel.
  auto const source = layout.add("source", ceil_div(pixels, kBlock) * kBlock * 3);
  char const* const names[] = {"red", "green", "blue"};
  VirtAddr in[3], out[3];
  for (int c = 0; c < 3; ++c) {
    in[c] = layout.add_result(names[c], 4 * pixels);
    out[c] = layout.add_result(std::string(names[c]) + "_out", 4 * pixels);
  }
  auto const backup = layout.add_result("backup", 4 * pixels);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const width = context.warp_width;
  kernels.push_back(std::make_unique<Components>(width, pixels, source, in));
  for (int c = 0; c < 3; ++c) {
    kernels.push_back(std::make_unique<Copy>(width, pixels, in[c], backup));
    for (std::uint32_t level = 0; level < spec.levels; ++level) {
      auto const w = halved(spec.width, level), h = halved(spec.height, level);
      if (level > 0) kernels.push_back(std::make_unique<Copy>(width, w * h, out[c], in[c]));
      kernels.push_back(std::make_unique<Transform>(width, w, h, in[c], out[c]));
    }
  }
  return {"dwt", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"dwt",
          "Wavelet transform of an image, 5/3 filter, several levels (Rodinia, dwt2d)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"image_width", "256"}, {"image_height", "256"}}},
           {kMedium, {{"image_width", "512"}, {"image_height", "512"}}},
           {kPaper, {}, "Rodinia, dwt2d, as in TLB compression (PACT 2020): 1024 x 1024"}}};
}

}  // namespace farfault::workloads::dwt
