// SPDX-License-Identifier: Apache-2.0
// The two products of the biconjugate gradient method, from PolyBench/GPU: s = A^T r along columns, then q =
// A p along rows (matrix_vector.hpp). Both kernels first set their sums to zero.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "matrix_vector.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::bicg {
namespace {

Workload build(MatrixSize const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const a = layout.add("a", 4 * spec.rows * spec.cols);
  auto const r = layout.add("r", 4 * spec.rows);
  auto const s = layout.add_result("s", 4 * spec.cols);
  auto const p = layout.add("p", 4 * spec.cols);
  auto const q = layout.add_result("q", 4 * spec.rows);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const product = [&](char const* name, VirtAddr vector, VirtAddr result, Along along) {
    kernels.push_back(std::make_unique<MatrixVectorKernel>(name, context.warp_width,
                                                           MatrixVector{.matrix = a,
                                                                        .vector = vector,
                                                                        .result = result,
                                                                        .rows = spec.rows,
                                                                        .cols = spec.cols,
                                                                        .along = along,
                                                                        .clears = true}));
  };
  product("bicg_kernel1", r, s, Along::columns);
  product("bicg_kernel2", p, q, Along::rows);
  return {"bicg", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"bicg",
          "s = A^T r and q = A p, one thread per result element (PolyBench/GPU)",
          &SpecBuilder<MatrixSize, build>::make,
          {{kSmall, {{"rows", "256"}, {"cols", "256"}}},
           {kMedium, {}},
           {kPaper,
            {{"rows", "4096"}, {"cols", "4096"}},
            "PolyBench/GPU, BICG: 4,096^2, as in TLB compression (PACT 2020)"}}};
}

}  // namespace farfault::workloads::bicg
