// SPDX-License-Identifier: Apache-2.0
#include "farfault/analysis/explain_pair.hpp"

#include <algorithm>
#include <utility>

#include "pair_causes.hpp"
#include "pair_model.hpp"
#include "pair_parts.hpp"
#include "pair_settings.hpp"
#include "pair_tables.hpp"

namespace farfault::analysis {
namespace {

PairedRun paired(RunFigures const& run) {
  return {.path = run.path,
          .end_reason = run.end_reason,
          .farfault_version = run.farfault_version,
          .commit = run.commit,
          .end_ps = run.end,
          .on_gpus_ps = run.on_gpus().size(),
          .launches = run.timeline.launches};
}

// A run that was stopped did not do all of its work.
std::string caveat_of(PairedRun const& a, PairedRun const& b) {
  std::string text;
  for (auto const& [run, name] : {std::pair(&a, "A"), std::pair(&b, "B")})
    if (run->end_reason != "completed")
      text += (text.empty() ? "" : ", and ") + std::string(name) + " ended with " + run->end_reason;
  return text.empty() ? text : text + ": the ends do not compare complete runs";
}

}  // namespace

PairExplanation explain_pair(std::string const& path_a, std::string const& path_b) {
  auto figures_a = read_figures(path_a), figures_b = read_figures(path_b);
  PairExplanation e;
  e.settings = pair_settings(path_a, path_b);
  mark_unreached(e.settings, figures_a, figures_b);
  auto const pair = model_pair(std::move(figures_a), std::move(figures_b), e.settings);
  e.a = paired(pair.a);
  e.b = paired(pair.b);
  e.change_ps = pair.change().value();
  e.caveat = caveat_of(e.a, e.b);
  e.not_split = pair.not_split;
  if (e.not_split.empty()) e.gpu = pair.gpu.empty() ? "all GPUs" : pair.gpu;
  e.parts = parts_of(pair.a, pair.b, pair.kernels, pair.kinds);
  e.causes = causes_of(pair);
  auto const* first = first_cause(e);
  e.below_resolution = first != nullptr && first->modelled && !pair.matters(pair.change());
  e.groups = group_causes(e.causes, e.settings);
  add_activities(pair, e);
  add_stages(pair, e);
  add_sources(pair, e);
  add_resources(pair, e);
  add_idle_changes(pair, e);
  return e;
}

Cause const* first_cause(PairExplanation const& e) {
  auto const found = std::ranges::find_if(
      e.causes, [&](Cause const& c) { return (c.ps > 0) == (e.change_ps > 0) && e.change_ps != 0; });
  return found == e.causes.end() ? nullptr : &*found;
}

}  // namespace farfault::analysis
