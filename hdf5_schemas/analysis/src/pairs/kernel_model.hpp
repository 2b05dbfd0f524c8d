// SPDX-License-Identifier: Apache-2.0
// Private: attributes the change of the time with kernels on the GPUs to causes, from the figures of one GPU.
//
// With K: time with a kernel, W: instructions, A: average number of SMs with thread blocks, T: time of SMs
// with thread blocks = executing + other states + M, M: stalled on accesses, N: accesses, s: time of an
// access behind the load/store unit, P: outstanding accesses behind the load/store unit of a stalled SM:
//   K = W * (T / W) / A;   M = N * s / P (Little's law)
// The change of a product is the sum over its factors: change of the factor * mean of the others.
//
// A and P follow from the other factors if no parameter acts on them: their change is then attributed to the
// other causes (spread.hpp). Opposite changes of A and P are one effect: the same warps on fewer SMs.
// - Another gpu.sms acts on A only as far as all SMs have thread blocks (part_of_sms()).
// - Another clock acts on a stage in cycles at most by the ratio of the clocks.
//
// - Exact: the parts add up to the change of K. A factor without a figure in one run is not split.
// - SMs at a barrier count as stalled on accesses: none of their warps can execute.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fixed_latencies.hpp"
#include "run_figures.hpp"
#include "spread.hpp"

namespace farfault::analysis {

// A run, reduced to the kernels that both runs have.
struct ModelledRun {
  Amount on_gpus;
  Amount instructions;  // of all GPUs
  Amount sms;           // of the GPU; 0: unknown
  FixedLatencies latencies;
  SmFigures gpu;

  Amount with_blocks() const;  // time of SMs
  Amount stalled() const;      // the part of it that waits for accesses
  Amount behind() const;       // access time without the load/store unit
};

struct KernelModel {
  std::vector<ModelPart> parts;
  // Before the attribution of A and P: the activities of the SMs.
  std::vector<std::pair<std::string, Amount>> activities;  // "sm_active_time"
  Amount work, occupancy;
};

// The parameters that differ, and whose effect the figures do not show directly.
struct DifferingKinds {
  bool any = false;        // a choice differs
  bool limits = false;     // of the outstanding accesses of an SM
  bool execution = false;  // of the time of instructions
  bool occupancy = false;  // of the SMs with thread blocks: not gpu.sms, or only gpu.sms differs
  bool sms = false;        // gpu.sms
};

KernelModel model_kernels(ModelledRun const& a, ModelledRun const& b, DifferingKinds const& kinds);

}  // namespace farfault::analysis
