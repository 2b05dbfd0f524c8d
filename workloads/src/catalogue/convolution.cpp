// SPDX-License-Identifier: Apache-2.0
// Convolution of an image with a separable filter of 17 x 17, as in the CUDA sample convolutionSeparable: one
// kernel for rows, one for columns. A block reads its part of the image and a halo of a block's width on both
// sides into shared memory, with zeros beyond the image. After a barrier each thread writes four results, a
// block's width apart. The 17 coefficients are in constant memory: scalar loads.
//
// Counts: a float in shared memory that several of a thread's windows share is read once, as in nvcc 13.0's
// code; otherwise LLVM 14's code for gfx803. Registers: nvcc 13.0 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::convolution {
namespace {

constexpr std::uint32_t kColumns = 16;  // threads of a block along a row
constexpr std::uint32_t kResults = 4;   // results of a thread
constexpr std::uint32_t kTaps = 17;

struct Spec {
  std::uint64_t width = 3072;
  std::uint64_t height = 1536;
  std::uint32_t iterations = 1;

  void describe(ParamTable& t) {
    t.count("width", width, {64, 1 << 20}, "Image columns, a multiple of 64",
            "Mosaic's published code; CUDA samples: 3072");
    t.count("height", height, {32, 1 << 20}, "Image rows, a multiple of 32",
            "Mosaic's published code; CUDA samples: 3072");
    t.count("iterations", iterations, {1, 10'000},
            "Convolutions of the same image, two kernels each (published: 10)", "assumed");
  }
};

struct Image {
  std::uint64_t width, height;
  VirtAddr filter, from, to;
};

// Along rows, or along columns.
class Pass final : public Kernel {
 public:
  Pass(bool along_rows, std::uint32_t warp_width, Image const& image)
      : along_rows_(along_rows),
        rows_(along_rows ? 4 : 8),
        across_(along_rows ? kColumns : rows_),
        shape_{.name = along_rows ? "convolution_rows" : "convolution_columns",
               .blocks = image.width * image.height / (kResults * kColumns * rows_),
               .threads_per_block = kColumns * rows_,
               .registers_per_thread = along_rows ? 59U : 43U,
               // One extra float per column avoids bank conflicts.
               .shared_bytes_per_block = along_rows
                                             ? std::uint64_t{4} * rows_ * kColumns * (kResults + 2)
                                             : std::uint64_t{4} * kColumns * (rows_ * (kResults + 2) + 1)},
        warp_width_(warp_width),
        blocks_x_(image.width / (along_rows ? kResults * kColumns : kColumns)),
        image_(image) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const x = block % blocks_x_;
    auto const y = block / blocks_x_;
    if (step-- == 0) return set_arguments(out, 5);
    if (step-- == 0)  // position, five addresses
      return set_compute(out, {.vector = 21, .special = 1, .scalar = along_rows_ ? 7U : 14U}, kWait);
    if (step < kResults) return part(out, Op::load, image_.from, x, y, warp, static_cast<int>(step));
    step -= kResults;
    auto const along = along_rows_ ? x : y;
    auto const last = (along_rows_ ? blocks_x_ : image_.height / (kResults * rows_)) - 1;
    if (along != 0 && step-- == 0) return part(out, Op::load, image_.from, x, y, warp, -1);
    if (along != last && step-- == 0) return part(out, Op::load, image_.from, x, y, warp, kResults);
    if (step-- == 0)  // addresses, compares with both ends of the image
      return set_compute(out, {.vector = 10, .scalar = 8, .shared = kResults + 2}, kWait);
    if (step-- == 0) return set_barrier(out);
    if (step-- == 0) return set_scalar_load(out, image_.filter, 64);
    if (step-- == 0) return set_scalar_load(out, image_.filter + 64, 4 * kTaps - 64);
    if (step < 2 * kResults) {
      if (step % 2 == 0)  // products and sums, the address; floats that the previous window did not read
        return set_compute(
            out, {.vector = kTaps + 3, .scalar = 1, .shared = step == 0 ? kTaps : std::min(across_, kTaps)},
            step == 0);
      return part(out, Op::store, image_.to, x, y, warp, static_cast<int>(step / 2));
    }
    set_end(out);
  }

 private:
  // The block's k-th part; -1 and 4 are the halo.
  void part(WarpInstruction& out, Op op, VirtAddr image, std::uint64_t x, std::uint64_t y, std::uint32_t warp,
            int k) const {
    // k = -1 wraps around in unsigned arithmetic and yields the part before the block's first result.
    auto const steps = static_cast<std::uint64_t>(std::int64_t{k});
    auto column = x * kColumns;
    auto row = y * rows_ + warp * warp_width_ / kColumns;
    if (along_rows_)
      column = (x * kResults + steps) * kColumns;
    else
      row += (y * (kResults - 1) + steps) * rows_;
    auto address = image + 4 * (row * image_.width + column);
    set_access(out, op, 4, low_lanes(warp_width_));
    for (std::uint32_t lane = 0; lane < warp_width_; lane += kColumns, address += 4 * image_.width)
      for (std::uint32_t i = 0; i < kColumns; ++i) out.address[lane + i] = address + std::uint64_t{4} * i;
  }

  bool along_rows_;
  std::uint32_t rows_;    // threads of a block along a column
  std::uint32_t across_;  // threads of a block in the direction of the filter
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t blocks_x_;
  Image image_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.width % 64 != 0) throw ParameterError("width", spec.width, "must be a multiple of 64");
  if (spec.height % 32 != 0) throw ParameterError("height", spec.height, "must be a multiple of 32");
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * spec.width * spec.height;
  auto const input = layout.add("input", bytes);
  auto const output = layout.add_result("output", bytes);
  auto const between = layout.add_result("buffer", bytes);
  auto const filter = layout.add("filter", 4 * kTaps);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.iterations; ++i) {
    kernels.push_back(std::make_unique<Pass>(
        true, context.warp_width,
        Image{.width = spec.width, .height = spec.height, .filter = filter, .from = input, .to = between}));
    kernels.push_back(std::make_unique<Pass>(
        false, context.warp_width,
        Image{.width = spec.width, .height = spec.height, .filter = filter, .from = between, .to = output}));
  }
  std::vector<Operation> operations{Operation::copy_to_gpus(filter, 4 * kTaps),
                                    Operation::copy_to_gpus(input, bytes)};
  for (std::uint32_t k = 0; k < kernels.size(); ++k) operations.push_back(Operation::launch(k));
  operations.push_back(Operation::copy_to_host(output, bytes));
  return {"convolution", layout.take(), std::move(kernels), {}, std::move(operations)};
}

}  // namespace

WorkloadInfo info() {
  return {"convolution",
          "Separable convolution of an image, rows then columns (CUDA sample)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"width", "768"}, {"height", "384"}}},
           {kMedium, {}},
           {kPaper, {{"iterations", "10"}}, "Mosaic (MICRO 2017), published code: 3072 x 1536, 10 times"}}};
}

}  // namespace farfault::workloads::convolution
