// SPDX-License-Identifier: Apache-2.0
// C = A x B in single precision with register tiles (Parboil, benchmarks/sgemm/src/cuda, after Volkov). A and
// C are stored column by column, B transposed. A block of 16x8 threads computes 128 rows and 16 columns of C:
// a thread computes one row, with its 16 sums in registers. For each 8 columns of A the block reads 8 rows of
// 16 elements of the transposed B into shared memory; between two barriers each thread reads its 8 elements
// of A and adds their products with all these elements. At the end C is also read, although beta is 0 and C
// has not been written, as in the published program.
//
// Counts: the compiler unrolls the loop over columns of C, and the loop over columns of A by two, so that two
// elements of A are outstanding at a time. A multiply-add is one instruction, four elements of shared memory
// are read by one instruction of 16 bytes, and an access to A takes a 64-bit sum for its address. Index and
// addresses before the loop are assumed. Unrolling and registers are from nvcc 13.0 -O3 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::sgemm_parboil {
namespace {

constexpr std::uint32_t kColumns = 16;                 // columns of a block's tile of C, and threads in x
constexpr std::uint32_t kDepth = 8;                    // rows of B in shared memory, and threads in y
constexpr std::uint32_t kThreads = kColumns * kDepth;  // threads, and rows of the tile of C

struct Spec {
  std::uint64_t m = 1024;
  std::uint64_t n = 1056;
  std::uint64_t k = 992;

  void describe(ParamTable& t) {
    constexpr auto source = "Parboil, sgemm, medium data set, also used by MAFIA's MM";
    t.count("m", m, {kThreads, 1ULL << 20}, "Rows of A and C, a multiple of 128", source);
    t.count("n", n, {kColumns, 1ULL << 20}, "Columns of B and C, a multiple of 16", source);
    t.count("k", k, {kDepth, 1ULL << 20}, "Columns of A and rows of B, a multiple of 8", source);
  }
};

class SgemmParboil final : public Kernel {
 public:
  SgemmParboil(Spec const& spec, std::uint32_t warp_width, VirtAddr a, VirtAddr b, VirtAddr c)
      : shape_{"sgemm_nt", (spec.m / kThreads) * (spec.n / kColumns), kThreads, 63, 4 * kThreads},
        warp_width_(warp_width),
        blocks_down_(spec.m / kThreads),
        chunks_(spec.k / kDepth),
        a_(a),
        b_(b),
        c_(c),
        a_pitch_(4 * spec.m),
        b_pitch_(4 * spec.n) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    // The grid's fast dimension runs down the rows of C.
    auto const row = 4 * (block % blocks_down_ * kThreads + std::uint64_t{warp} * warp_width_);
    auto const column = block / blocks_down_ * kColumns;
    if (step == 0) return set_arguments(out, 9);
    if (step == 1)  // thread indices, row and column; addresses in A and B (a product each)
      return set_compute(out, {.vector = 14, .special = 3, .scalar = 4}, kWait);
    auto const chunk = (step - 2) / kStepsOfChunk;
    if (chunk < chunks_) {
      auto const in_chunk = (step - 2) % kStepsOfChunk;
      if (in_chunk == 0) return rows_of_b(out, 4 * column + chunk * kDepth * b_pitch_, warp);
      if (in_chunk == 1) return set_compute(out, {.shared = 1}, kWait);
      if (in_chunk == 2 || in_chunk == kStepsOfChunk - 1) return set_barrier(out);
      auto const pair = (in_chunk - 3) / 3, in_pair = (in_chunk - 3) % 3;
      if (in_pair == 2)  // products of two elements, two addresses, the loop's end
        return set_compute(out,
                           {.vector = 2 * kColumns + 4,
                            .scalar = 2,
                            .shared = 2 * kColumns / 4,
                            .shared_bytes_per_lane = 16},
                           kWait);
      auto const j = chunk * kDepth + 2 * pair + in_pair;
      return set_linear(out, Op::load, 4, a_ + j * a_pitch_ + row, 4, warp_width_);
    }
    auto const last = step - 2 - chunks_ * kStepsOfChunk;
    if (last == 0) return set_compute(out, {.vector = 3, .special = 1, .scalar = 2});  // address of C
    if (last > 3 * kColumns) return set_end(out);
    auto const element = c_ + (column + (last - 1) / 3) * a_pitch_ + row;
    switch ((last - 1) % 3) {
      case 0:
        return set_linear(out, Op::load, 4, element, 4, warp_width_);
      case 1:  // beta times C plus alpha times the sum; the next address
        return set_compute(out, {.vector = 4}, kWait);
      default:
        return set_linear(out, Op::store, 4, element, 4, warp_width_);
    }
  }

 private:
  static constexpr std::uint64_t kStepsOfChunk = 3 + kDepth / 2 * 3 + 1;

  // Thread (x, y) reads element x of row y, from `first` on.
  void rows_of_b(WarpInstruction& out, std::uint64_t first, std::uint32_t warp) const {
    set_access(out, Op::load, 4, low_lanes(warp_width_));
    auto at = b_ + first + warp * warp_width_ / kColumns * b_pitch_;
    for (std::uint32_t lane = 0; lane < warp_width_; lane += kColumns, at += b_pitch_)
      for (std::uint32_t x = 0; x < kColumns; ++x) out.address[lane + x] = at + std::uint64_t{4} * x;
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t blocks_down_, chunks_;
  VirtAddr a_, b_, c_;
  std::uint64_t a_pitch_, b_pitch_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  struct Side {
    char const* name;
    std::uint64_t value, multiple;
  };
  for (auto const& s : {Side{"m", spec.m, kThreads}, {"n", spec.n, kColumns}, {"k", spec.k, kDepth}})
    if (s.value % s.multiple != 0)
      throw ParameterError(s.name, s.value, "must be a multiple of " + std::to_string(s.multiple));
  BufferLayout layout(context.buffers);
  auto const a = layout.add("a", 4 * spec.m * spec.k);
  auto const b = layout.add("b_transposed", 4 * spec.k * spec.n);
  auto const c = layout.add_result("c", 4 * spec.m * spec.n);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<SgemmParboil>(spec, context.warp_width, a, b, c));
  return {"sgemm_parboil", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"sgemm_parboil",
          "C = A x B in single precision with register tiles, MM of MAFIA (Parboil sgemm)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"m", "256"}, {"n", "256"}, {"k", "256"}}},
           {kMedium, {{"m", "512"}, {"n", "512"}, {"k", "512"}}},
           {kPaper,
            {},
            "Parboil, sgemm, medium data set, as in MAFIA and Mosaic (MICRO 2017): 1024 x 1056 x 992"}}};
}

}  // namespace farfault::workloads::sgemm_parboil
