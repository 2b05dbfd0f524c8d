// SPDX-License-Identifier: Apache-2.0
#include "pair_model.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "farfault/analysis/explain_pair.hpp"
#include "pair_parts.hpp"

namespace farfault::analysis {
namespace {

std::string times_text(std::size_t n, char const* what) {
  return n == 0 ? std::string("no ") + what + "s" : std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// The reason why the time of kernels cannot be attributed further; empty: it can.
std::string reason_not_to_split(RunFigures const& a, RunFigures const& b, ModelledRun const& sms_a,
                                ModelledRun const& sms_b) {
  if (a.on_gpus().sign() == 0 || b.on_gpus().sign() == 0)
    return std::string(a.on_gpus().sign() == 0 ? "A" : "B") + " has no kernel on a GPU";
  for (auto const& [run, sms, name] : {std::tuple(&a, &sms_a, "A"), std::tuple(&b, &sms_b, "B")}) {
    auto const common = sms->on_gpus;
    if (common.sign() == 0)
      return "A and B have no kernel name in common: A has " + times_text(a.kernels.size(), "kernel name") +
             ", B has " + times_text(b.kernels.size(), "kernel name");
    if ((common + common) < run->on_gpus())
      return std::string("kernels of both runs take less than half of the kernel time of ") + name;
  }
  return {};
}

}  // namespace

bool PairModel::matters(Amount ps) const {
  auto const end = static_cast<double>(std::max(a.end, b.end));
  return static_cast<double>(ps.size()) >= kMatters * end && ps.sign() != 0;
}

PairModel model_pair(RunFigures a, RunFigures b, bool limits_differ) {
  PairModel pair;
  pair.a = std::move(a);
  pair.b = std::move(b);
  pair.kernels = pair_kernels(pair.a, pair.b);
  pair.gpu = critical_gpu(pair.a, pair.b);
  std::vector<std::size_t> common_a, common_b;
  for (auto const& k : pair.kernels) {
    if (!k.common()) continue;
    common_a.push_back(k.a);
    common_b.push_back(k.b);
  }
  pair.sms_a = modelled_run(pair.a, pair.gpu, common_a);
  pair.sms_b = modelled_run(pair.b, pair.gpu, common_b);
  pair.not_split = reason_not_to_split(pair.a, pair.b, pair.sms_a, pair.sms_b);
  pair.parts = gap_causes(pair.a, pair.b);
  auto const missing = missing_kernel_causes(pair.a, pair.b, pair.kernels);
  pair.parts.insert(pair.parts.end(), missing.begin(), missing.end());
  if (pair.not_split.empty()) {
    pair.model = model_kernels(pair.sms_a, pair.sms_b, limits_differ);
    pair.parts.insert(pair.parts.end(), pair.model.parts.begin(), pair.model.parts.end());
  } else {
    pair.parts.push_back({"common_kernels", {}, pair.sms_b.on_gpus - pair.sms_a.on_gpus});
  }
  std::erase_if(pair.parts, [](ModelPart const& p) { return p.ps.sign() == 0; });
  return pair;
}

}  // namespace farfault::analysis
