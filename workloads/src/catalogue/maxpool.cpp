// SPDX-License-Identifier: Apache-2.0
// Maximum pooling of a deep-learning layer, one thread per output, as in the DNN suite of MGPUSim: each
// thread reads its window of the input plane and writes the maximum and its position.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::maxpool {
namespace {

struct Spec {
  ByteSize size{64ULL << 20};
  std::uint32_t height = 128;
  std::uint32_t width = 128;
  std::uint32_t window = 2;
  std::uint32_t stride = 2;
  std::uint32_t pad = 0;
  std::uint32_t block = 64;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{64}, ByteSize{1ULL << 40}},
            "Total size of input, output and mask; determines the number of planes (batch x channels)",
            "GMMU Bypass (NPC 2020), Table 2");
    t.count("height", height, {1, 16384}, "Input-plane rows", "assumed");
    t.count("width", width, {1, 16384}, "Input-plane columns", "assumed");
    t.count("window", window, {1, 64}, "Pooling-window rows and columns", "assumed");
    t.count("stride", stride, {1, 64}, "Distance between neighbouring windows, in elements", "assumed");
    t.count("pad", pad, {0, 63}, "Rows and columns of padding on each side of a plane", "assumed");
    t.count("block", block, {1, 1024}, "Threads per block", "MGPUSim, DNN suite, maxpooling");
  }
};

class MaxPool final : public LinearKernel {
 public:
  MaxPool(KernelShape shape, std::uint32_t warp_width, std::uint64_t outputs, Spec const& spec,
          std::uint32_t out_height, std::uint32_t out_width, VirtAddr in, VirtAddr top, VirtAddr mask)
      : LinearKernel(std::move(shape), warp_width, outputs),
        spec_(spec),
        out_height_(out_height),
        out_width_(out_width),
        in_(in),
        top_(top),
        mask_(mask) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 7);
    auto const t = threads(block, warp);
    if (step == 0) {
      if (t.lanes == 0) return set_compute(out, {.vector = 7, .scalar = 6}, kWait);  // index and compare
      // Plane, row and column by three divisions (14 vector, 5 special each), the window's bounds.
      return set_compute(out, {.vector = 77, .special = 21, .scalar = 34}, kWait);
    }
    if (t.lanes == 0) return set_end(out);
    auto const body = step - 1;
    auto const reads = std::uint64_t{spec_.window} * spec_.window;
    if (body < 2 * reads) {
      auto const k = static_cast<std::uint32_t>(body / 2);
      if (body % 2 == 1) return set_compute(out, element_work(k + 1), kWait);
      return read(out, t, k / spec_.window, k % spec_.window);
    }
    if (body == 2 * reads) return set_linear(out, Op::store, 4, top_ + 4 * t.first, 4, t.lanes);
    if (body == 2 * reads + 1) return set_linear(out, Op::store, 4, mask_ + 4 * t.first, 4, t.lanes);
    set_end(out);
  }

 private:
  // After `done` elements: address, compare, two selects and the loop; the ends of rows; after the last
  // element the addresses of the results.
  Work element_work(std::uint32_t done) const {
    Work work{.vector = 10, .scalar = 3};
    if (done % spec_.window == 0) {
      work.vector += 3;
      work.special += 1;
      work.scalar += 9;
    }
    if (done == spec_.window * spec_.window) {
      work.vector += 8;
      work.scalar += 2;
    }
    return work;
  }

  // Element (dy, dx) of every lane's window; lanes whose element is in the padding are inactive.
  void read(WarpInstruction& out, ThreadRange t, std::uint32_t dy, std::uint32_t dx) const {
    auto x = static_cast<std::uint32_t>(t.first % out_width_);
    auto const row = t.first / out_width_;
    auto y = static_cast<std::uint32_t>(row % out_height_);
    auto const plane_bytes = std::uint64_t{4} * spec_.height * spec_.width;
    auto plane = in_ + row / out_height_ * plane_bytes;
    std::uint64_t lanes = 0;
    for (std::uint32_t i = 0; i < t.lanes; ++i) {
      // Coordinates below zero wrap around to large numbers, and fail the same test.
      auto const h = y * spec_.stride + dy - spec_.pad;
      auto const w = x * spec_.stride + dx - spec_.pad;
      if (h < spec_.height && w < spec_.width) {
        lanes |= std::uint64_t{1} << i;
        out.address[i] = plane + 4 * (std::uint64_t{h} * spec_.width + w);
      }
      if (++x == out_width_) {
        x = 0;
        if (++y == out_height_) {
          y = 0;
          plane += plane_bytes;
        }
      }
    }
    if (lanes == 0) return set_compute(out, {.scalar = 2});  // all windows are in the padding here
    set_access(out, Op::load, 4, lanes);
  }

  Spec spec_;
  std::uint32_t out_height_, out_width_;
  VirtAddr in_, top_, mask_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.height + 2 * spec.pad < spec.window || spec.width + 2 * spec.pad < spec.window)
    throw ParameterError("window", spec.window,
                         "must not exceed the padded plane, " + std::to_string(spec.height + 2 * spec.pad) +
                             " x " + std::to_string(spec.width + 2 * spec.pad));
  if (spec.pad >= spec.window)
    throw ParameterError(
        "pad", spec.pad,
        "must be below window, " + std::to_string(spec.window) + "; otherwise some windows are empty");
  auto const out_height = (spec.height + 2 * spec.pad - spec.window) / spec.stride + 1;
  auto const out_width = (spec.width + 2 * spec.pad - spec.window) / spec.stride + 1;
  auto const in_plane = std::uint64_t{spec.height} * spec.width;
  auto const out_plane = std::uint64_t{out_height} * out_width;
  auto const planes = spec.size.bytes / (4 * (in_plane + 2 * out_plane));
  if (planes == 0)
    throw ParameterError("size", spec.size,
                         "must be at least one plane with its output and mask, " +
                             to_text(ByteSize{4 * (in_plane + 2 * out_plane)}));
  BufferLayout layout(context.buffers);
  auto const in = layout.add("bottom", 4 * in_plane * planes);
  auto const top = layout.add_result("top", 4 * out_plane * planes);
  auto const mask = layout.add_result("mask", 4 * out_plane * planes);
  auto const outputs = out_plane * planes;
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<MaxPool>(
      KernelShape{"max_pool_forward", ceil_div(outputs, spec.block), spec.block, 24, 0}, context.warp_width,
      outputs, spec, out_height, out_width, in, top, mask));
  return {"maxpool", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"maxpool",
          "Maximum pooling over planes, one thread per output (DNN)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "4MiB"}}},
           {kMedium, {{"size", "16MiB"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB"}}};
}

}  // namespace farfault::workloads::maxpool
