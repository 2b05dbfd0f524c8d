// SPDX-License-Identifier: Apache-2.0
// y = A^T (A x) of PolyBench/GPU: tmp = A x along rows, then y = A^T tmp along columns (matrix_vector.hpp).
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "matrix_vector.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::atax {
namespace {

Workload build(MatrixSize const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const a = layout.add("a", 4 * spec.rows * spec.cols);
  auto const x = layout.add("x", 4 * spec.cols);
  auto const y = layout.add("y", 4 * spec.cols);
  auto const tmp = layout.add("tmp", 4 * spec.rows);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const product = [&](char const* name, VirtAddr vector, VirtAddr result, Along along) {
    kernels.push_back(std::make_unique<MatrixVectorKernel>(name, context.warp_width,
                                                           MatrixVector{.matrix = a,
                                                                        .vector = vector,
                                                                        .result = result,
                                                                        .rows = spec.rows,
                                                                        .cols = spec.cols,
                                                                        .along = along}));
  };
  product("atax_kernel1", x, tmp, Along::rows);
  product("atax_kernel2", tmp, y, Along::columns);
  return {"atax", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"atax",
          "y = A^T (A x), one thread per result element (PolyBench/GPU)",
          &SpecBuilder<MatrixSize, build>::make,
          {{kSmall, {{"rows", "256"}, {"cols", "256"}}},
           {kMedium, {}},
           {kPaper,
            {{"rows", "4096"}, {"cols", "4096"}},
            "PolyBench/GPU, ATAX: 4,096^2, as in TLB compression (PACT 2020)"}}};
}

}  // namespace farfault::workloads::atax
