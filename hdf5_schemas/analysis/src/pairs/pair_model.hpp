// SPDX-License-Identifier: Apache-2.0
// Private: two runs with everything that the tables of their explanation need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common_kernels.hpp"
#include "kernel_model.hpp"
#include "run_figures.hpp"

namespace farfault::analysis {

struct PairModel {
  RunFigures a, b;
  std::vector<KernelPair> kernels;
  std::string gpu;               // whose figures are used; empty: of all GPUs
  ModelledRun sms_a, sms_b;      // of the common kernels
  KernelModel model;             // empty if kernel time is not split
  std::string not_split;         // the reason; empty: it is split
  std::vector<ModelPart> parts;  // of the change of the end, without zeros; they add up

  Amount change() const { return Amount::of(b.end) - Amount::of(a.end); }
  // At least kMatters of the end of the slower run.
  bool matters(Amount ps) const;
};

PairModel model_pair(RunFigures a, RunFigures b, bool limits_differ);

}  // namespace farfault::analysis
