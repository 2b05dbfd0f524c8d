// SPDX-License-Identifier: Apache-2.0
// Dyadic convolution by fast Walsh transforms, as in the CUDA sample fastWalshTransform: the data and the
// filter are transformed, multiplied element by element, and the product transformed back, all in place. A
// transform runs radix-4 passes through memory, one kernel each with one butterfly per thread, until the
// remaining parts fit into a block's shared memory; a last kernel transforms these parts, a block each.
//
// Counts: LLVM 14's code for gfx803, without the source's division for the size of the grid. Registers: nvcc
// 13.0 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::fwt {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kLog2Shared = 11;  // log2 of the maximum elements that a block transforms

struct Spec {
  std::uint32_t log2_data = 20;
  std::uint32_t log2_filter = 7;

  void describe(ParamTable& t) {
    t.count("log2_data", log2_data, {2, 30},
            "log2 of the number of floats in the data and in the zero-padded filter (published: 23, which "
            "takes 9 times as long)",
            "assumed");
    t.count("log2_filter", log2_filter, {0, 30},
            "log2 of the number of filter floats copied to the GPU; no other effect",
            "CUDA samples, fastWalshTransform");
  }
};

// One butterfly of four elements per thread, `stride` elements apart.
class RadixPass final : public LinearKernel {
 public:
  RadixPass(std::uint64_t elements, std::uint32_t warp_width, std::uint64_t stride, VirtAddr data)
      : LinearKernel({"fwt_pass", elements / (4 * kThreads), kThreads, 22, 0}, warp_width, elements / 4),
        stride_(stride),
        data_(data) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 3);
    auto const t = threads(block, warp);
    // Strides are multiples of the warp width.
    auto const low = t.first & (stride_ - 1);
    auto const first = data_ + 4 * (((t.first - low) << 2) + low);
    if (step == 0) return set_compute(out, {.vector = 20, .scalar = 8}, kWait);  // index, addresses
    if (step <= 4) return set_linear(out, Op::load, 4, first + (step - 1) * 4 * stride_, 4, t.lanes);
    if (step == 5) return set_compute(out, {.vector = 19}, kWait);  // eight sums, addresses
    if (step <= 9) return set_linear(out, Op::store, 4, first + (step - 6) * 4 * stride_, 4, t.lanes);
    set_end(out);
  }

 private:
  std::uint64_t stride_;
  VirtAddr data_;
};

// Transforms of 2^log2 elements in shared memory, four elements per thread.
class SharedPass final : public LinearKernel {
 public:
  SharedPass(std::uint64_t elements, std::uint32_t log2, std::uint32_t warp_width, VirtAddr data)
      : LinearKernel({"fwt_shared", elements >> log2, 1U << (log2 - 2), 15, std::uint64_t{4} << log2},
                     warp_width, elements / 4),
        log2_(log2),
        data_(data) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const stages = log2_ / 2;
    if (step-- == 0) return set_arguments(out, 3);
    // Part of the block, compares (3 vector, 12 scalar); the first address.
    if (step-- == 0) return set_compute(out, {.vector = 8, .scalar = 12}, kWait);
    if (step < 8) {
      if (step % 2 == 0) return elements(out, Op::load, block, t, step / 2);
      return set_compute(out, {.vector = 8, .scalar = 3, .shared = 1}, kWait);  // next address, compare
    }
    step -= 8;
    if (step < 2 * stages) {
      if (step % 2 == 0) return set_barrier(out);
      return set_compute(out, {.vector = 17, .scalar = 8, .shared = 8});  // four addresses, eight sums
    }
    step -= 2 * stages;
    if (log2_ % 2 != 0) {  // a stage of radix 2, two butterflies per thread
      if (step-- == 0) return set_barrier(out);
      if (step-- == 0)
        return set_compute(out, {.vector = 12, .scalar = 14, .shared = 4, .shared_bytes_per_lane = 8});
    }
    if (step-- == 0) return set_barrier(out);
    if (step < 8) {
      if (step % 2 == 0) return set_compute(out, {.vector = 8, .scalar = 3, .shared = 1});
      return elements(out, Op::store, block, t, step / 2);
    }
    set_end(out);
  }

 private:
  // The k-th element of each thread; a block's threads access adjacent elements.
  void elements(WarpInstruction& out, Op op, std::uint64_t block, ThreadRange const& t,
                std::uint64_t k) const {
    auto const in_block = t.first - block * shape().threads_per_block;
    set_linear(out, op, 4, data_ + 4 * ((block << log2_) + k * shape().threads_per_block + in_block), 4,
               t.lanes);
  }

  std::uint32_t log2_;
  VirtAddr data_;
};

// data = data x filter / elements; the grid strides over the elements.
class Modulate final : public Kernel {
 public:
  Modulate(std::uint64_t elements, std::uint32_t warp_width, VirtAddr data, VirtAddr filter)
      : shape_{"fwt_modulate", 128, kThreads, 22, 0},
        warp_width_(warp_width),
        elements_(elements),
        data_(data),
        filter_(filter) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 3);
    auto const first = block * kThreads + warp * warp_width_;
    if (step == 0) {  // index, compare (2 vector, 5 scalar); quotient (10), indices as offsets
      bool const any = first < elements_;
      return set_compute(out, {.vector = any ? 17U : 2U, .special = any ? 1U : 0U, .scalar = any ? 12U : 5U},
                         kWait);
    }
    auto const element = first + (step - 1) / 4 * shape_.blocks * kThreads;
    if (element >= elements_) return set_end(out);
    auto const lanes = static_cast<std::uint32_t>(std::min<std::uint64_t>(warp_width_, elements_ - element));
    switch ((step - 1) % 4) {
      case 0:
        return set_linear(out, Op::load, 4, filter_ + 4 * element, 4, lanes);
      case 1:
        return set_linear(out, Op::load, 4, data_ + 4 * element, 4, lanes);
      case 2:
        return set_compute(out, {.vector = 12, .scalar = 3}, kWait);  // two products; addresses, loop
      default:
        return set_linear(out, Op::store, 4, data_ + 4 * element, 4, lanes);
    }
  }

 private:
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t elements_;
  VirtAddr data_, filter_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.log2_filter > spec.log2_data)
    throw ParameterError("log2_filter", spec.log2_filter,
                         "must be at most log2_data, " + std::to_string(spec.log2_data));
  auto const elements = std::uint64_t{1} << spec.log2_data;
  auto const width = context.warp_width;
  BufferLayout layout(context.buffers);
  auto const filter = layout.add("filter", 4 * elements);
  auto const data = layout.add("data", 4 * elements);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const transform = [&](VirtAddr array) {
    auto log2 = spec.log2_data;
    for (; log2 > kLog2Shared; log2 -= 2)
      kernels.push_back(std::make_unique<RadixPass>(elements, width, std::uint64_t{1} << (log2 - 2), array));
    kernels.push_back(std::make_unique<SharedPass>(elements, log2, width, array));
  };
  transform(data);
  transform(filter);
  kernels.push_back(std::make_unique<Modulate>(elements, width, data, filter));
  transform(data);
  // The zeros after the filter are not copied: the GPU sets them before the simulated time begins.
  std::vector<Operation> operations{Operation::copy_to_gpus(filter, std::uint64_t{4} << spec.log2_filter),
                                    Operation::copy_to_gpus(data, 4 * elements)};
  for (std::uint32_t k = 0; k < kernels.size(); ++k) operations.push_back(Operation::launch(k));
  operations.push_back(Operation::copy_to_host(data, 4 * elements));
  return {"fwt", layout.take(), std::move(kernels), {}, std::move(operations)};
}

}  // namespace

WorkloadInfo info() {
  return {"fwt",
          "Dyadic convolution by fast Walsh transforms, in place (CUDA sample)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"log2_data", "16"}}},
           {kMedium, {}},
           {kPaper,
            {{"log2_data", "23"}},
            "CUDA samples, fastWalshTransform, as in Mosaic (MICRO 2017): 2^23 floats"}}};
}

}  // namespace farfault::workloads::fwt
