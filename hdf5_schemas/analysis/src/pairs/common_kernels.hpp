// SPDX-License-Identifier: Apache-2.0
// Private: the kernels that both runs have, and the GPU whose figures represent a run.
#pragma once

#include <string>
#include <vector>

#include "kernel_model.hpp"
#include "run_figures.hpp"

namespace farfault::analysis {

// A kernel name and its place in each run's kernels; kNone: the run does not have it.
struct KernelPair {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::string name;
  std::size_t a = kNone, b = kNone;

  bool common() const { return a != kNone && b != kNone; }
};
std::vector<KernelPair> pair_kernels(RunFigures const& a, RunFigures const& b);  // by name

// The GPU with the shortest idle time of SMs in the slower run: it determines when kernels end. Empty if the
// results do not have figures of GPUs.
std::string critical_gpu(RunFigures const& a, RunFigures const& b);

// Figures of `gpu`, or of the run's own critical GPU if it does not have that one, or of all GPUs. Only
// the common kernels: figures are reduced by the other kernels' share of the machine's total.
ModelledRun modelled_run(RunFigures const& run, std::string const& gpu,
                         std::vector<std::size_t> const& common);

}  // namespace farfault::analysis
