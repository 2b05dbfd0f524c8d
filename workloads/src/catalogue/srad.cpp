// SPDX-License-Identifier: Apache-2.0
// Speckle-reducing anisotropic diffusion, srad_v1 of Rodinia, on an image stored column by column. One thread
// per pixel, 512 per block. `extract` and `compress` change the scale at the beginning and the end. Kernels
// of an iteration:
//   prepare   writes each pixel and its square to two arrays of sums
//   reduce    sums 512 elements per block in shared memory; repeated on the blocks' sums until one is left
//   srad      reads a pixel and its neighbours, whose rows and columns are in four arrays, and writes
//             the four derivatives and the diffusion coefficient
//   srad2     reads the coefficients of the pixel, south and east, and the derivatives, and updates the pixel
// The host computes the statistics of the speckle from the sums between `reduce` and `srad`.
//
// In a block of `reduce` that is not full, the last thread of its largest power of two adds the remainder
// from the array of sums. It indexes these sums by their number, without the distance between sums in the
// second and later reductions: a mistake of the published code, whose accesses are reproduced here.
//
// Counts: the terms of the source; a division or a modulo of integers takes 20 vector and 2 special
// instructions, a division of floats 9 and 1. Address computation is assumed. Registers and repeated reads
// are from nvcc 13.0 -O3 for sm_75.
#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::srad {
namespace {

constexpr std::uint32_t kBlock = 512;
constexpr std::uint64_t kMaxPixels = (1ULL << 31) - kBlock;  // the kernels' indices are ints

struct Spec {
  std::uint64_t rows = 502;
  std::uint64_t cols = 458;
  std::uint32_t iterations = 2;

  void describe(ParamTable& t) {
    t.count("rows", rows, {1, 1ULL << 20}, "Image rows", "Rodinia, srad_v1; Mosaic, published code");
    t.count("cols", cols, {1, 1ULL << 20}, "Image columns", "Rodinia, srad_v1; Mosaic, published code");
    t.count("iterations", iterations, {1, 10'000},
            "Diffusion iterations of four or more kernels each (published: 100)",
            "assumed, smaller than published to shorten runs");
  }
};

struct Image {
  std::uint64_t rows, cols;
  VirtAddr pixels, sums, squares, north, south, west, east;  // the last four: rows or columns of neighbours
  VirtAddr derivatives[4], coefficients;

  std::uint64_t count() const { return rows * cols; }
};

// Index and compare; a warp beyond the last pixel then ends. Returns true if the step is one of these.
bool begin(std::uint64_t& step, std::uint32_t arguments, std::uint32_t lanes, WarpInstruction& out) {
  if (take(step, 1)) {
    set_arguments(out, arguments);
    return true;
  }
  if (take(step, 1)) {
    set_compute(out, {.vector = lanes != 0 ? 6U : 3U, .special = 1, .scalar = 4}, kWait);
    return true;
  }
  if (lanes != 0) return false;
  set_end(out);
  return true;
}

KernelShape shape_of(char const* name, std::uint64_t items, std::uint32_t registers,
                     std::uint64_t shared = 0) {
  return {.name = name,
          .blocks = ceil_div(items, kBlock),
          .threads_per_block = kBlock,
          .registers_per_thread = registers,
          .shared_bytes_per_block = shared};
}

// `extract` and `compress`: each pixel in place.
class Rescale final : public LinearKernel {
 public:
  Rescale(char const* name, std::uint32_t registers, std::uint32_t warp_width, Image const& image)
      : LinearKernel(shape_of(name, image.count(), registers), warp_width, image.count()),
        pixels_(image.pixels) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (begin(step, 2, t.lanes, out)) return;
    auto const at = pixels_ + 4 * t.first;
    switch (step) {
      case 0:
        return set_linear(out, Op::load, 4, at, 4, t.lanes);
      case 1:  // the division or product, the exponential or logarithm
        return set_compute(out, {.vector = 8, .special = 2}, kWait);
      case 2:
        return set_linear(out, Op::store, 4, at, 4, t.lanes);
      default:
        return set_end(out);
    }
  }

 private:
  VirtAddr pixels_;
};

class Prepare final : public LinearKernel {
 public:
  Prepare(std::uint32_t warp_width, Image const& image)
      : LinearKernel(shape_of("prepare", image.count(), 10), warp_width, image.count()), image_(image) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (begin(step, 3, t.lanes, out)) return;
    auto const at = [&](VirtAddr base) { return base + 4 * t.first; };
    switch (step) {
      // The pixel is read again after the first store, because the compiler must assume that the store
      // changed it.
      case 0:
      case 2:
        return set_linear(out, Op::load, 4, at(image_.pixels), 4, t.lanes);
      case 1:
        return set_linear(out, Op::store, 4, at(image_.sums), 4, t.lanes, kWait);
      case 3:  // the square; an address
        return set_compute(out, {.vector = 3}, kWait);
      case 4:
        return set_linear(out, Op::store, 4, at(image_.squares), 4, t.lanes);
      default:
        return set_end(out);
    }
  }

 private:
  Image image_;
};

class Reduce final : public LinearKernel {
 public:
  // Reduces `count` sums that are `distance` elements apart.
  Reduce(std::uint32_t warp_width, Image const& image, std::uint64_t count, std::uint64_t distance)
      : LinearKernel(shape_of("reduce", count, 61, 2 * kBlock * 4), warp_width, count),
        image_(image),
        distance_(distance) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const in_block = std::min<std::uint64_t>(items() - block * kBlock, kBlock);
    auto const power = std::bit_floor(in_block);  // threads of the tree
    auto const first_thread = std::uint64_t{warp} * warp_width();
    if (take(step, 1)) return set_arguments(out, 3);
    // Index, the sums of the last block, the address of the first sum. All threads reach the barriers.
    if (take(step, 1)) return set_compute(out, {.vector = 9, .special = 3, .scalar = 8}, kWait);
    if (t.lanes != 0) {
      if (take(step, 1)) return sums(out, image_.sums, t);
      if (take(step, 1)) return sums(out, image_.squares, t);
      if (take(step, 1)) return set_compute(out, {.shared = 2}, kWait);
    }
    auto const levels = static_cast<std::uint64_t>(std::bit_width(power)) - 1;
    if (take(step, 2 * levels)) {
      if (step % 2 != 0) return set_barrier(out);
      // True if a thread of this warp is the last of a group of 2^(level + 1) within the tree.
      auto const group = std::uint64_t{2} << (step / 2);
      auto const end = std::min(first_thread + warp_width(), power);
      bool const adds = first_thread < end && end / group != first_thread / group;
      return set_compute(out, {.vector = adds ? 6U : 4U, .scalar = 3, .shared = adds ? 6U : 0U});
    }
    auto const last = power - 1;
    if (power < 2 || last < first_thread || last >= first_thread + warp_width()) return set_end(out);
    auto const lane = static_cast<std::uint32_t>(last - first_thread);
    auto const rest = in_block - power;
    if (take(step, 3 * rest)) {
      auto const sum = 4 * (block * kBlock + power + step / 3);
      if (step % 3 == 0) return one(out, Op::load, image_.sums + sum, lane);
      if (step % 3 == 1) return one(out, Op::load, image_.squares + sum, lane);
      return set_compute(out, {.vector = 5, .scalar = 2, .shared = 4}, kWait);  // both sums, loop
    }
    if (take(step, 1)) return set_compute(out, {.vector = 4, .special = 2, .scalar = 1, .shared = 2});
    auto const to = 4 * block * kBlock * distance_;
    if (take(step, 1)) return one(out, Op::store, image_.sums + to, lane);
    if (take(step, 1)) return one(out, Op::store, image_.squares + to, lane);
    set_end(out);
  }

 private:
  void sums(WarpInstruction& out, VirtAddr base, ThreadRange const& t) const {
    set_linear(out, Op::load, 4, base + 4 * t.first * distance_, 4 * distance_, t.lanes);
  }

  static void one(WarpInstruction& out, Op op, VirtAddr address, std::uint32_t lane) {
    set_access(out, op, 4, std::uint64_t{1} << lane);
    out.address[lane] = address;
  }

  Image image_;
  std::uint64_t distance_;
};

// Code shared by `srad` and `srad2`: a thread's row and column, and its neighbours.
class PixelKernel : public LinearKernel {
 protected:
  PixelKernel(char const* name, std::uint32_t registers, std::uint32_t warp_width, Image const& image)
      : LinearKernel(shape_of(name, image.count(), registers), warp_width, image.count()), image_(image) {}

  Image const& image() const { return image_; }

  // Each lane at address(row, column).
  template <class Address>
  void pixels(WarpInstruction& out, Op op, ThreadRange const& t, Address address) const {
    set_access(out, op, 4, low_lanes(t.lanes));
    auto row = t.first % image_.rows;
    auto column = t.first / image_.rows;
    for (std::uint32_t lane = 0; lane < t.lanes; ++lane) {
      out.address[lane] = address(row, column);
      if (++row == image_.rows) {
        row = 0;
        ++column;
      }
    }
  }

  VirtAddr in(VirtAddr base, std::uint64_t row, std::uint64_t column) const {
    return base + 4 * (column * image_.rows + row);
  }
  std::uint64_t after(std::uint64_t i, std::uint64_t count) const { return std::min(i + 1, count - 1); }
  std::uint64_t before(std::uint64_t i) const { return i - (i != 0); }

 private:
  Image image_;
};

class Srad final : public PixelKernel {
 public:
  Srad(std::uint32_t warp_width, Image const& image) : PixelKernel("srad", 22, warp_width, image) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const& i = image();
    if (begin(step, 5, t.lanes, out)) return;
    auto const at = [&](VirtAddr base) { return base + 4 * t.first; };
    auto const load = [&](auto address) { return pixels(out, Op::load, t, address); };
    switch (step) {
      case 0:  // row and column; addresses of the pixel and of four numbers
        return set_compute(out, {.vector = 34, .special = 2, .scalar = 2});
      case 1:
        return set_linear(out, Op::load, 4, at(i.pixels), 4, t.lanes);
      case 2:
        return load([&](auto row, auto) { return i.north + 4 * row; });
      case 3:
        return load([&](auto row, auto) { return i.south + 4 * row; });
      case 4:
        return load([&](auto, auto column) { return i.west + 4 * column; });
      case 5:
        return load([&](auto, auto column) { return i.east + 4 * column; });
      case 6:  // four addresses, two with a product
        return set_compute(out, {.vector = 14, .special = 3}, kWait);
      case 7:
        return load([&](auto row, auto column) { return in(i.pixels, before(row), column); });
      case 8:
        return load([&](auto row, auto column) { return in(i.pixels, after(row, i.rows), column); });
      case 9:
        return load([&](auto row, auto column) { return in(i.pixels, row, before(column)); });
      case 10:
        return load([&](auto row, auto column) { return in(i.pixels, row, after(column, i.cols)); });
      case 11:  // 4 differences, gradient and Laplacian (13), coefficient (11), 5 divisions, bounds (4)
        return set_compute(out, {.vector = 32 + 5 * 9, .special = 5, .scalar = 2}, kWait);
      case 12:
      case 13:
      case 14:
      case 15:
        return set_linear(out, Op::store, 4, at(i.derivatives[step - 12]), 4, t.lanes);
      case 16:
        return set_linear(out, Op::store, 4, at(i.coefficients), 4, t.lanes);
      default:
        return set_end(out);
    }
  }
};

class Srad2 final : public PixelKernel {
 public:
  Srad2(std::uint32_t warp_width, Image const& image) : PixelKernel("srad2", 17, warp_width, image) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const& i = image();
    if (begin(step, 5, t.lanes, out)) return;
    auto const at = [&](VirtAddr base) { return base + 4 * t.first; };
    auto const load = [&](auto address) { return pixels(out, Op::load, t, address); };
    switch (step) {
      case 0:  // row and column; addresses of two numbers, the coefficient and four derivatives
        return set_compute(out, {.vector = 38, .special = 2, .scalar = 2});
      case 1:
        return load([&](auto row, auto) { return i.south + 4 * row; });
      case 2:
        return load([&](auto, auto column) { return i.east + 4 * column; });
      case 3:
        return set_linear(out, Op::load, 4, at(i.coefficients), 4, t.lanes);
      case 4:
        return set_compute(out, {.vector = 7, .special = 2}, kWait);  // two addresses
      case 5:
        return load([&](auto row, auto column) { return in(i.coefficients, after(row, i.rows), column); });
      case 6:
        return load([&](auto row, auto column) { return in(i.coefficients, row, after(column, i.cols)); });
      case 7:
      case 8:
      case 9:
      case 10:
        return set_linear(out, Op::load, 4, at(i.derivatives[step - 7]), 4, t.lanes);
      case 11:
        return set_linear(out, Op::load, 4, at(i.pixels), 4, t.lanes);
      case 12:  // divergence (4), step (2)
        return set_compute(out, {.vector = 6}, kWait);
      case 13:
        return set_linear(out, Op::store, 4, at(i.pixels), 4, t.lanes);
      default:
        return set_end(out);
    }
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  Image image{};
  image.rows = spec.rows;
  image.cols = spec.cols;
  if (image.count() > kMaxPixels)
    throw UserError("srad: " + std::to_string(spec.rows) + " x " + std::to_string(spec.cols) +
                    " pixels exceed " + std::to_string(kMaxPixels) +
                    ", the maximum that the kernels can index; lower rows or cols");
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * image.count();
  image.pixels = layout.add("image", bytes);
  image.north = layout.add("row_north", 4 * image.rows);
  image.south = layout.add("row_south", 4 * image.rows);
  image.east = layout.add("column_east", 4 * image.cols);
  image.west = layout.add("column_west", 4 * image.cols);
  image.sums = layout.add_result("sums", bytes);
  image.squares = layout.add_result("sums_of_squares", bytes);
  auto derivative = image.derivatives;
  for (auto const* name : {"north", "south", "west", "east"})
    *derivative++ = layout.add_result(std::string("derivative_") + name, bytes);
  image.coefficients = layout.add_result("coefficients", bytes);

  auto const width = context.warp_width;
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Rescale>("extract", 14, width, image));
  for (std::uint32_t i = 0; i < spec.iterations; ++i) {
    kernels.push_back(std::make_unique<Prepare>(width, image));
    for (std::uint64_t count = image.count(), distance = 1;; distance *= kBlock) {
      kernels.push_back(std::make_unique<Reduce>(width, image, count, distance));
      count = ceil_div(count, kBlock);
      if (count == 1) break;
    }
    kernels.push_back(std::make_unique<Srad>(width, image));
    kernels.push_back(std::make_unique<Srad2>(width, image));
  }
  kernels.push_back(std::make_unique<Rescale>("compress", 12, width, image));
  return {"srad", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"srad",
          "Speckle-reducing anisotropic diffusion of an image (Rodinia, srad_v1)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rows", "128"}, {"cols", "128"}}},
           {kMedium, {}},
           {kPaper,
            {{"iterations", "100"}},
            "Rodinia, srad_v1, as in Mosaic (MICRO 2017): 502 x 458, 100 iterations"}}};
}

}  // namespace farfault::workloads::srad
