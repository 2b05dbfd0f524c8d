// SPDX-License-Identifier: Apache-2.0
#include "pair_tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "access_counts.hpp"

namespace farfault::analysis {
namespace {

constexpr double kNoticed = 0.001;  // smallest share of accesses, or of their time, that is worth a row

std::map<std::string, Amount> by_stage(PairModel const& pair) {
  std::map<std::string, Amount> sums;
  for (auto const& p : pair.parts)
    if (!p.stage.empty()) sums[p.stage] += p.ps;
  return sums;
}

Amount sum_at(std::map<std::string, Amount> const& sums, std::vector<std::string> const& stages) {
  Amount sum;
  for (auto const& stage : stages)
    if (auto const found = sums.find(stage); found != sums.end()) sum += found->second;
  return sum;
}

// The larger value divided by the smaller one; 0 if they are equal, or one of them is 0.
double factor_of(PairFigure f) {
  auto const [low, high] = std::minmax(f.a, f.b);
  return low <= 0 || low == high ? 0 : high / low;
}

}  // namespace

void add_activities(PairModel const& pair, PairExplanation& e) {
  auto rest = pair.change();
  for (auto const& [name, ps] : pair.model.activities) {
    auto const named = std::ranges::find(kSms, name, [](Named const& n) { return std::string(n.name); });
    auto const figure = std::string_view(name).substr(std::string_view("sm_").size());
    auto const per_sm = [&](SmFigures const& gpu, std::uint64_t end) {
      return number_of({gpu.at(figure), gpu.at("time")}) * static_cast<double>(end);
    };
    e.sms.push_back({name,
                     named == std::end(kSms) ? name : named->what,
                     {per_sm(pair.sms_a.gpu, pair.a.end), per_sm(pair.sms_b.gpu, pair.b.end)},
                     ps.value()});
    rest -= ps;
  }
  std::ranges::stable_sort(e.sms, std::ranges::greater(),
                           [](ActivityChange const& s) { return Amount(s.ps).size(); });
  e.sms_rest_ps = rest.value();
}

void add_stages(PairModel const& pair, PairExplanation& e) {
  auto rest = pair.change();
  auto const sums = by_stage(pair);
  auto const per_access = [](SmFigures const& gpu, StageInfo const& stage) {
    return number_of({gpu.at(stage.figure()), count_in(gpu, AccessCount::accesses)});
  };
  if (pair.not_split.empty())
    for (auto const& stage : stage_infos()) {
      std::string const name(stage.name);
      auto const ps = sum_at(sums, {name});
      e.stages.push_back({name,
                          std::string(stage.what),
                          {per_access(pair.sms_a.gpu, stage), per_access(pair.sms_b.gpu, stage)},
                          ps.value()});
      rest -= ps;
    }
  std::ranges::stable_sort(e.stages, std::ranges::greater(),
                           [](StageChange const& s) { return Amount(s.ps).size(); });
  e.stages_rest_ps = rest.value();
}

void add_sources(PairModel const& pair, PairExplanation& e) {
  if (!pair.not_split.empty()) return;
  struct Source {
    char const *count, *what;
    std::vector<std::string> stages;
  };
  std::vector<Source> const sources{
      {"l1_tlb_hits", "L1 TLB", {"sm_time_in_l1_tlb"}},
      {"l2_tlb_hits", "L2 TLB", {"sm_time_in_l2_tlb"}},
      {"gmmu_translations", "page walks of the GMMU", {"sm_time_in_walk_queue", "sm_time_in_walk"}},
      {"iommu_translations", "IOMMU", {"sm_time_in_iommu"}},
      {"fault_translations", "page faults", {"sm_time_in_fault"}}};
  auto const sums = by_stage(pair);
  for (auto const& s : sources)
    e.sources.push_back({.name = s.count,
                         .what = s.what,
                         .a = pair.sms_a.gpu.at(s.count).size(),
                         .b = pair.sms_b.gpu.at(s.count).size(),
                         .ps = sum_at(sums, s.stages).value()});
}

void add_resources(PairModel const& pair, PairExplanation& e) {
  auto const sums = by_stage(pair);
  for (auto const& b : pair.b.resources) {
    auto const a = std::ranges::find(pair.a.resources, b.what, &Resource::what);
    if (a == pair.a.resources.end() || a->busy == b.busy) continue;
    auto const ps = sum_at(sums, b.stages);
    e.resources.push_back({.what = b.what,
                           .a_name = a->name,
                           .b_name = b.name,
                           .busy = {a->busy, b.busy},
                           .max = {a->waited, b.waited},
                           .ps = ps.value(),
                           .matters = pair.matters(ps)});
  }
  std::ranges::stable_sort(e.resources, std::ranges::greater(),
                           [](ResourceChange const& r) { return std::abs(r.busy.b - r.busy.a); });
}

void add_idle_changes(PairModel const& pair, PairExplanation& e) {
  if (!pair.not_split.empty()) return;
  auto const add = [&](std::string what, std::string unit, PairFigure figure, std::int64_t ps) {
    if (factor_of(figure) >= kLargeChange && !pair.matters(Amount(ps)))
      e.idle.push_back({std::move(what), std::move(unit), figure, ps});
  };
  PairFigure whole;
  for (auto const& s : e.stages) {
    whole.a += s.per_access.a;
    whole.b += s.per_access.b;
  }
  for (auto const& s : e.stages)
    if (s.per_access.a >= kNoticed * whole.a || s.per_access.b >= kNoticed * whole.b)
      add("time per access in: " + s.what, "ps", s.per_access, s.ps);
  auto const accesses_a = number_of({pair.sms_a.gpu.at("transactions"), Amount(1)}),
             accesses_b = number_of({pair.sms_b.gpu.at("transactions"), Amount(1)});
  for (auto const& s : e.sources) {
    PairFigure const share{static_cast<double>(s.a) / std::max(1.0, accesses_a),
                           static_cast<double>(s.b) / std::max(1.0, accesses_b)};
    if (share.a >= kNoticed || share.b >= kNoticed)
      add("accesses translated by: " + s.what, "ratio", share, s.ps);
  }
  std::ranges::stable_sort(e.idle, std::ranges::greater(),
                           [](IdleChange const& c) { return factor_of(c.figure); });
}

}  // namespace farfault::analysis
