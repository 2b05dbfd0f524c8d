// SPDX-License-Identifier: Apache-2.0
// Two products with a square matrix, from PolyBench/GPU: x1 = x1 + A y1 along rows, then x2 = x2 + A^T y2
// along columns (matrix_vector.hpp).
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "matrix_vector.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::mvt {
namespace {

struct Spec {
  std::uint64_t side = 2048;

  void describe(ParamTable& t) {
    t.count("side", side, {1, 1ULL << 20}, "Matrix rows and columns (published: 4,096)",
            "assumed, smaller than published to shorten runs");
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const n = spec.side;
  auto const a = layout.add("a", 4 * n * n);
  auto const x1 = layout.add("x1", 4 * n);
  auto const x2 = layout.add("x2", 4 * n);
  auto const y1 = layout.add("y1", 4 * n);
  auto const y2 = layout.add("y2", 4 * n);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const product = [&](char const* name, VirtAddr vector, VirtAddr result, Along along) {
    kernels.push_back(std::make_unique<MatrixVectorKernel>(
        name, context.warp_width,
        MatrixVector{.matrix = a, .vector = vector, .result = result, .rows = n, .cols = n, .along = along}));
  };
  product("mvt_kernel1", y1, x1, Along::rows);
  product("mvt_kernel2", y2, x2, Along::columns);
  return {"mvt", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"mvt",
          "x1 + A y1 and x2 + A^T y2, one thread per result element (PolyBench/GPU)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"side", "256"}}},
           {kMedium, {}},
           {kPaper, {{"side", "4096"}}, "PolyBench/GPU, MVT: 4,096^2, as in TLB compression (PACT 2020)"}}};
}

}  // namespace farfault::workloads::mvt
