// SPDX-License-Identifier: Apache-2.0
// Private: the kernels that both runs have, and the GPUs whose figures represent a run.
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

// Figures of both runs that are modelled together.
struct ModelledPair {
  std::string gpu;  // whose figures they are; empty: of all GPUs
  ModelledRun a, b;
};

// The common kernels, one by one, each with the figures of the GPU on which it ends last in the run in which
// it takes longer. If a run does not have the figures of each kernel on each GPU, or has incomplete kernels:
// all of them together, with the figures of the GPU whose SMs are idle for the shortest time in the slower
// run, reduced by the other kernels' share of the machine's total.
std::vector<ModelledPair> modelled_pairs(RunFigures const& a, RunFigures const& b,
                                         std::vector<KernelPair> const& kernels);

// One kernel of both runs; without figures of each GPU, with the figures of all GPUs.
ModelledPair modelled_kernel(RunFigures const& a, RunFigures const& b, KernelPair const& kernel);

// The sums of the figures of all pairs.
ModelledPair sum_of_pairs(std::vector<ModelledPair> const& pairs);

}  // namespace farfault::analysis
