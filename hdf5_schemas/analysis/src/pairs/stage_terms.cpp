// SPDX-License-Identifier: Apache-2.0
#include "stage_terms.hpp"

#include <algorithm>

namespace farfault::analysis {
namespace {

StageTerm term_with(StageInfo const& stage, ModelledRun const& a, ModelledRun const& b) {
  return {.cause = stage.cause(),
          .what = std::string(stage.what),
          .per = stage.per,
          .counts = stage.counts,
          .time_a = a.gpu.at(stage.figure()),
          .time_b = b.gpu.at(stage.figure()),
          .visits_a = stage.visits(a.gpu),
          .visits_b = stage.visits(b.gpu),
          .per_a = stage.visits(a.gpu),
          .per_b = stage.visits(b.gpu)};
}

std::string latency_cause(StageInfo const& stage) {
  auto name = stage.cause();
  name.resize(name.size() - std::string_view("time").size());
  return name + "latency";
}

}  // namespace

std::vector<StageTerm> terms_of(StageInfo const& stage, ModelledRun const& a, ModelledRun const& b) {
  auto rest = term_with(stage, a, b);
  auto const fixed = [&](ModelledRun const& run, Amount time) {
    auto const known = stage.name == "sm_time_in_links"
                           ? run.gpu.at("link_latency")
                           : run.latencies.time_of(stage.name, stage.visits(run.gpu));
    return std::min(time, known);
  };
  auto const fixed_a = fixed(a, rest.time_a), fixed_b = fixed(b, rest.time_b);
  if (fixed_a.sign() <= 0 || fixed_b.sign() <= 0) return {rest};
  auto look_up = rest;
  look_up.cause = latency_cause(stage);
  look_up.what += " latency";
  look_up.time_a = fixed_a;
  look_up.time_b = fixed_b;
  rest.time_a -= fixed_a;
  rest.time_b -= fixed_b;
  if (stage.name == "sm_time_in_l2_tlb") {
    rest.what = "L2 TLB, stalled behind page walks";
    rest.per = "per L2 TLB miss";
    rest.counts = {AccessCount::l2_tlb_misses};
    rest.visits_a = count_in(a.gpu, AccessCount::l2_tlb_misses);
    rest.visits_b = count_in(b.gpu, AccessCount::l2_tlb_misses);
    rest.per_a = rest.visits_a;
    rest.per_b = rest.visits_b;
  }
  if (stage.name == "sm_time_in_links") {
    // A packet waits for the bytes ahead of it. Translations are as many as accesses, but small.
    rest.what = "waiting for interconnect links";
    auto const bytes = [](ModelledRun const& run) { return count_in(run.gpu, AccessCount::link_bytes); };
    if (bytes(a).sign() > 0 && bytes(b).sign() > 0) {
      rest.counts = {AccessCount::link_bytes};
      rest.visits_a = bytes(a);
      rest.visits_b = bytes(b);
    }
  }
  return {look_up, rest};
}

StageTerm term_of(std::string_view cause, ModelledRun const& a, ModelledRun const& b) {
  for (auto const& stage : stage_infos())
    for (auto& term : terms_of(stage, a, b))
      if (term.cause == cause) return term;
  return {};
}

}  // namespace farfault::analysis
