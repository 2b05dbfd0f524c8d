// SPDX-License-Identifier: Apache-2.0
// Prefix sums of an array, as in SHOC's Scan: each of 64 blocks sums a range of the array; one block scans
// these sums; then each block scans its range, starting from the sum of all earlier ranges. In this last
// kernel each thread processes four adjacent elements, in consecutive windows of 256 threads.
//
// A block scans one value per thread in shared memory: one warp of 32 threads rakes over the values, eight
// each, and scans its sums without barriers. In a wider warp only 32 of the 64 lanes are needed.
//
// Counts: from the source; accesses to shared memory and registers (for sm_75) as in nvcc 13.0's code, which
// also loads four elements at a time in the loop that sums.
#include <memory>
#include <string>
#include <vector>

#include "block_sum.hpp"
#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::scan {
namespace {

constexpr std::uint32_t kVector = 4;  // elements of a thread in a window
constexpr std::uint32_t kUnrolled = 4;

struct Spec {
  ByteSize size{1ULL << 20};
  std::uint32_t passes = 1;
  std::uint32_t iterations = 16;
  Precision precision = Precision::both;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{2048}, ByteSize{1ULL << 34}},
            "Size of the array for each precision, a multiple of 32 bytes", "SHOC, Scan, size 1");
    t.count("passes", passes, {1, 1000}, "Passes; each copies the result back (published: 10)", "assumed");
    t.count("iterations", iterations, {1, 100'000}, "Scans per pass, three kernels each (published: 256)",
            "assumed");
    describe_precision(t, precision, "SHOC, Scan, on a GPU with double precision");
  }
};

struct Arrays {
  std::uint64_t elements;
  std::uint32_t element_bytes;
  VirtAddr in, out, sums;
};

class ScanKernel : public Kernel {
 public:
  KernelShape const& shape() const override { return shape_; }

 protected:
  ScanKernel(KernelShape shape, std::uint32_t warp_width, Arrays const& arrays)
      : arrays_(arrays), shape_(std::move(shape)), warp_width_(warp_width) {}

  std::uint32_t first_thread(std::uint32_t warp) const { return warp * warp_width_; }

  // Number of lanes of a warp that begins at `first` with a position below `end`.
  std::uint32_t lanes(std::uint64_t first, std::uint64_t end) const {
    return first >= end ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(warp_width_, end - first));
  }

  // A block's range in vectors of four elements; the last block also has the remainder.
  struct Stretch {
    std::uint64_t first, end;
  };
  Stretch stretch(std::uint64_t block) const {
    auto const vectors = arrays_.elements / kVector;
    auto const each = vectors / kSumBlocks;
    return {block * each, block == kSumBlocks - 1 ? vectors : (block + 1) * each};
  }

  static constexpr std::uint64_t kScanSteps = 9;
  // Scan of one value per thread, in shared memory.
  void scan(WarpInstruction& out, std::uint32_t first_thread, std::uint64_t step) const {
    auto const bytes = arrays_.element_bytes;
    switch (step) {
      case 0:  // zeroes the upper half; in bottom_scan also sums of the four elements
        return set_compute(out, {.vector = 4, .shared = 1, .shared_bytes_per_lane = bytes}, kWait);
      case 2:  // the value
        return set_compute(out, {.vector = 2, .shared = 1, .shared_bytes_per_lane = bytes});
      case 4:  // seven sums, then five; the results are read back in the first loop
        if (first_thread >= 32) return set_compute(out, {.scalar = 2});
        return set_compute(
            out, {.vector = 20, .scalar = 4, .shared = 7 * 4 + 1 + 5 * 3, .shared_bytes_per_lane = bytes});
      case 6:  // the sum of all earlier values
        return set_compute(out, {.vector = 2, .shared = 3, .shared_bytes_per_lane = bytes});
      case 8:
        return set_compute(out, {.vector = 2, .scalar = 2, .shared = 1, .shared_bytes_per_lane = bytes});
      default:
        return set_barrier(out);
    }
  }

  Arrays arrays_;

 private:
  KernelShape shape_;
  std::uint32_t warp_width_;
};

class Reduce final : public ScanKernel {
 public:
  Reduce(std::uint32_t warp_width, Arrays const& arrays)
      : ScanKernel({"scan_reduce", kSumBlocks, kSumThreads, arrays.element_bytes == 4 ? 42U : 44U,
                    std::uint64_t{arrays.element_bytes} * kSumThreads},
                   warp_width, arrays) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const bytes = arrays_.element_bytes;
    auto const end = stretch(block).end * kVector;
    auto const first = stretch(block).first * kVector + first_thread(warp);
    if (step-- == 0) return set_arguments(out, 3);
    if (step-- == 0)  // a quotient, the block's range, index, compare
      return set_compute(out, {.vector = 8, .special = 1, .scalar = 20}, kWait);
    // Counts of the first lane. The remainder is last.
    auto const elements = first < end ? ceil_div(end - first, kSumThreads) : 0;
    auto const groups = ceil_div(elements, kUnrolled);
    if (step < elements + groups) {
      auto const group = step / (kUnrolled + 1);
      auto const in_group = step % (kUnrolled + 1);
      auto const count = std::min<std::uint64_t>(kUnrolled, elements - group * kUnrolled);
      if (in_group == count)  // sums, the address, compare
        return set_compute(out, {.vector = static_cast<std::uint32_t>(count) + 4, .scalar = 3}, kWait);
      auto const element = first + (group * kUnrolled + in_group) * kSumThreads;
      return set_linear(out, Op::load, bytes, arrays_.in + bytes * element, bytes, lanes(element, end));
    }
    step -= elements + groups;
    if (step-- == 0) return set_compute(out, {.vector = 1, .shared = 1, .shared_bytes_per_lane = bytes});
    set_block_sum(out, first_thread(warp), bytes, arrays_.sums + bytes * block, step);
  }
};

// One block scans the blocks' sums in place.
class ScanSums final : public ScanKernel {
 public:
  ScanSums(std::uint32_t warp_width, Arrays const& arrays)
      : ScanKernel({"scan_single_block", 1, kSumThreads, arrays.element_bytes == 4 ? 20U : 26U,
                    std::uint64_t{arrays.element_bytes} * 2 * kSumThreads},
                   warp_width, arrays) {}

  void instruction(std::uint64_t, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const bytes = arrays_.element_bytes;
    auto const first = first_thread(warp);
    auto const active = lanes(first, kSumBlocks);
    auto const sums = arrays_.sums + bytes * first;
    if (step-- == 0) return set_arguments(out, 2);
    if (step-- == 0) return set_compute(out, {.vector = 5, .scalar = 3}, kWait);  // address, compare
    if (active != 0 && step-- == 0) return set_linear(out, Op::load, bytes, sums, bytes, active);
    if (step < kScanSteps) return scan(out, first, step);
    step -= kScanSteps;
    if (active != 0 && step == 0) return set_linear(out, Op::store, bytes, sums, bytes, active);
    set_end(out);
  }
};

class BottomScan final : public ScanKernel {
 public:
  BottomScan(std::uint32_t warp_width, Arrays const& arrays)
      : ScanKernel({"bottom_scan", kSumBlocks, kSumThreads, arrays.element_bytes == 4 ? 34U : 44U,
                    std::uint64_t{arrays.element_bytes} * (2 * kSumThreads + 1)},
                   warp_width, arrays) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const bytes = arrays_.element_bytes;
    auto const accesses = kVector * bytes / kAccess;  // accesses per vector
    auto const [begin, end] = stretch(block);
    auto const first = first_thread(warp);
    if (step-- == 0) return set_arguments(out, 4);
    if (step-- == 0)  // a quotient, the block's range; addresses in shared memory
      return set_compute(out, {.vector = 20, .special = 2, .scalar = 24}, kWait);
    if (step-- == 0) return set_uniform(out, Op::load, bytes, arrays_.sums + bytes * block);
    // Only the last window may have threads without a vector.
    auto const windows = ceil_div(end - begin, kSumThreads);
    auto const steps = 2 * accesses + kScanSteps + 5;
    auto const window = std::min<std::uint64_t>(step / steps, windows - 1);
    step -= window * steps;
    auto const vector = begin + window * kSumThreads + first;
    auto const active = lanes(vector, end);
    auto const access = [&](Op op, std::uint64_t n) {
      auto const array = op == Op::load ? arrays_.in : arrays_.out;
      set_linear(out, op, kAccess, array + kVector * bytes * vector + kAccess * n,
                 std::uint64_t{kVector} * bytes, active);
    };
    if (active != 0) {
      if (step < accesses) return access(Op::load, step);
      step -= accesses;
    }
    if (step < kScanSteps) return scan(out, first, step);
    step -= kScanSteps;
    if (step-- == 0) return set_barrier(out);
    if (step-- == 0) return set_compute(out, {.vector = 8, .scalar = 2});  // five sums, the address
    if (active != 0) {
      if (step < accesses) return access(Op::store, step);
      step -= accesses;
    }
    if (step-- == 0) {  // the last thread's sum is the start of the next window
      bool const last = first_thread(warp + 1) == kSumThreads;
      return set_compute(
          out, {.scalar = 2, .shared = last ? 1U : 0U, .shared_bytes_per_lane = arrays_.element_bytes});
    }
    if (step-- == 0) return set_barrier(out);
    if (step == 0)  // read by all threads; index, loop
      return set_compute(out, {.vector = 2, .scalar = 3, .shared = 1, .shared_bytes_per_lane = bytes});
    set_end(out);
  }

 private:
  static constexpr std::uint32_t kAccess = 16;  // maximum bytes of a lane's access
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.size.bytes % 32 != 0)
    throw ParameterError("size", spec.size, "must be a multiple of 32 B, four doubles");
  BufferLayout layout(context.buffers);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  std::vector<Operation> operations;
  auto const width = context.warp_width;
  for (auto const& element : element_sizes(spec.precision)) {
    Arrays arrays{.elements = spec.size.bytes / element.bytes,
                  .element_bytes = element.bytes,
                  .in = 0,
                  .out = 0,
                  .sums = 0};
    arrays.in = layout.add(std::string("input") + element.suffix, spec.size.bytes);
    arrays.out = layout.add_result(std::string("output") + element.suffix, spec.size.bytes);
    arrays.sums = layout.add_result(std::string("block_sums") + element.suffix,
                                    std::uint64_t{element.bytes} * kSumBlocks);
    operations.push_back(Operation::copy_to_gpus(arrays.in, spec.size.bytes));
    for (std::uint32_t pass = 0; pass < spec.passes; ++pass) {
      for (std::uint32_t i = 0; i < spec.iterations; ++i) {
        kernels.push_back(std::make_unique<Reduce>(width, arrays));
        kernels.push_back(std::make_unique<ScanSums>(width, arrays));
        kernels.push_back(std::make_unique<BottomScan>(width, arrays));
        for (auto k = kernels.size() - 3; k < kernels.size(); ++k)
          operations.push_back(Operation::launch(static_cast<std::uint32_t>(k)));
      }
      operations.push_back(Operation::copy_to_host(arrays.out, spec.size.bytes));
    }
  }
  return {"scan", layout.take(), std::move(kernels), {}, std::move(operations)};
}

}  // namespace

WorkloadInfo info() {
  return {"scan",
          "Prefix sums of an array: block sums, their scan, scans of the blocks (SHOC)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "256KiB"}, {"iterations", "4"}}},
           {kMedium, {}},
           {kPaper,
            {{"iterations", "256"}, {"passes", "10"}},
            "SHOC, Scan, size 1, as in Mosaic (MICRO 2017): 1 MiB, 256 times, 10 passes"}}};
}

}  // namespace farfault::workloads::scan
