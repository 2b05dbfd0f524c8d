// SPDX-License-Identifier: Apache-2.0
// Private: two runs with everything that the tables of their explanation need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common_kernels.hpp"
#include "farfault/analysis/explain_pair.hpp"
#include "kernel_model.hpp"
#include "run_figures.hpp"
#include "saturation.hpp"

namespace farfault::analysis {

struct PairModel {
  RunFigures a, b;
  std::vector<KernelPair> kernels;
  DifferingKinds kinds;
  std::string gpu;           // whose figures are used; empty: of all GPUs
  ModelledRun sms_a, sms_b;  // of the common kernels
  KernelModel model;         // of all of them; empty if kernel time is not split
  std::optional<Saturation> saturation;
  std::string not_split;         // the reason; empty: it is split
  std::vector<ModelPart> parts;  // of the change of the end, without zeros; they add up

  Amount change() const { return Amount::of(b.end) - Amount::of(a.end); }
  // At least kMatters of the end of the slower run.
  bool matters(Amount ps) const;
};

// `settings`: that differ.
PairModel model_pair(RunFigures a, RunFigures b, std::vector<PairSetting> const& settings);

}  // namespace farfault::analysis
