// SPDX-License-Identifier: Apache-2.0
#include "pair_causes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "access_counts.hpp"
#include "pair_parts.hpp"
#include "stage_terms.hpp"

namespace farfault::analysis {
namespace {

constexpr double kUtilizationChange = 0.05;  // smallest that is worth naming

PairFigure numbers(Amount a, Amount b) {
  return {static_cast<double>(a.value()), static_cast<double>(b.value())};
}

PairFigure ratios(Ratio a, Ratio b) {
  return {number_of(a), number_of(b)};
}

// Time of the SMs in an activity, per SM.
double per_sm(SmFigures const& gpu, Amount ps, std::uint64_t end) {
  return number_of({ps, gpu.at("time")}) * static_cast<double>(end);
}

// Operations of the hosts in gaps.
bool describe_gap(PairModel const& pair, Cause& c) {
  struct Operation {
    std::size_t activity;
    char const *count, *what, *time, *longer, *per;
  };
  static constexpr std::array<Operation, 3> operations{
      {{kLaunches, "launches", "kernel launches", "launch_time", "launch and completion latency",
        "per launch"},
       {kCopies, "copies", "copies between host and GPUs", "copy_time", "copies between host and GPUs",
        "per copy"},
       {kAllocations, "allocations", "allocations and releases", "allocation_time",
        "allocations and releases", "per operation"}}};
  for (auto const& o : operations) {
    bool const count = c.name == o.count;
    if (!count && c.name != o.time) continue;
    auto const n_a = gap_operations(pair.a, o.activity), n_b = gap_operations(pair.b, o.activity);
    c.modelled = n_a != n_b;
    c.what = count ? o.what : o.longer;
    c.per = count ? "" : o.per;
    c.unit = count ? "1" : "ps";
    c.figure = count ? numbers(n_a, n_b)
                     : ratios({gap_time(pair.a, o.activity), n_a}, {gap_time(pair.b, o.activity), n_b});
    return true;
  }
  return false;
}

// Other measured parts, all of them totals of time.
bool describe_total(PairModel const& pair, Cause& c) {
  c.unit = "ps";
  if (c.name == "other_work") {
    c.what = "no operation, or other host work";
    c.figure = numbers(gap_time(pair.a, kOtherWork), gap_time(pair.b, kOtherWork));
  } else if (c.name == "unrecorded") {
    c.what = "time after the last recorded operation";
    c.figure = numbers(Amount::of(pair.a.timeline.unrecorded), Amount::of(pair.b.timeline.unrecorded));
  } else if (c.name == "only_in_a") {
    c.what = "kernels that only A has";
    c.figure = numbers(pair.a.on_gpus() - pair.sms_a.on_gpus, {});
  } else if (c.name == "only_in_b") {
    c.what = "kernels that only B has";
    c.figure = numbers({}, pair.b.on_gpus() - pair.sms_b.on_gpus);
  } else if (c.name == "common_kernels") {
    c.what = "kernels of both runs";
    c.figure = numbers(pair.sms_a.on_gpus, pair.sms_b.on_gpus);
  } else {
    return false;
  }
  return true;
}

// Factors of the time of kernels other than accesses.
bool describe_sms(PairModel const& pair, Cause& c) {
  static std::map<std::string, std::pair<char const*, char const*>> const activities{
      {"execution", {"SM execution", "active_time"}},
      {"scalar_stall", {"scalar-cache stalls", "scalar_stall_time"}},
      {"fetch_stall", {"instruction-fetch stalls", "fetch_stall_time"}},
      {"stopped", {"SMs stopped by the driver or throttling", "stopped_time"}}};
  auto const &a = pair.sms_a, &b = pair.sms_b;
  c.modelled = true;
  auto const time = [&](Amount of_a, Amount of_b) {
    c.per = "per SM";
    c.unit = "ps";
    c.figure = {per_sm(a.gpu, of_a, pair.a.end), per_sm(b.gpu, of_b, pair.b.end)};
  };
  if (auto const found = activities.find(c.name); found != activities.end()) {
    c.what = found->second.first;
    time(a.gpu.at(found->second.second), b.gpu.at(found->second.second));
  } else if (c.name == "clock") {
    c.what = "clock of the GPUs";
    c.unit = "Hz";
    c.figure = numbers(Amount::of(a.latencies.clock), Amount::of(b.latencies.clock));
  } else if (c.name == "memory_stall") {
    c.what = "stalls on accesses";
    time(a.stalled(), b.stalled());
  } else if (c.name == "work") {
    c.what = "instructions";
    c.unit = "1";
    c.figure = numbers(a.instructions, b.instructions);
  } else if (c.name == "occupancy") {
    c.what = "SMs with thread blocks, on average";
    c.unit = "1";
    c.figure = ratios({a.with_blocks(), a.on_gpus}, {b.with_blocks(), b.on_gpus});
  } else if (c.name == "accesses") {
    c.what = "accesses";
    c.unit = "1";
    c.figure = numbers(a.gpu.at("transactions"), b.gpu.at("transactions"));
  } else if (c.name == "in_flight") {
    c.what = "accesses in flight per stalled SM";
    c.unit = "1";
    c.figure = ratios({a.behind(), a.stalled()}, {b.behind(), b.stalled()});
  } else {
    return false;
  }
  return true;
}

// The busy time of a resource that bounds both runs.
bool describe_saturated(PairModel const& pair, Cause& c) {
  if (!pair.saturation) return false;
  auto const& s = *pair.saturation;
  bool const bytes = c.name == "link_bytes" && s.kind->units == "link_bytes";
  if (!bytes && c.name != s.kind->service) return false;
  c.modelled = true;
  c.what = std::string(bytes ? "bytes of the busiest link" : s.kind->resource) + " (" + s.name + ")";
  c.per = bytes ? "" : s.kind->per;
  c.unit = bytes ? "1" : "ps";
  c.figure = bytes ? numbers(s.units_a, s.units_b) : ratios({s.busy_a, s.units_a}, {s.busy_b, s.units_b});
  if (!bytes && (s.units_a.sign() == 0 || s.units_b.sign() == 0)) {
    c.per = "";
    c.figure = numbers(s.busy_a, s.busy_b);
  }
  return true;
}

// Shares of accesses, and times of stages.
void describe_accesses(PairModel const& pair, Cause& c) {
  auto const &a = pair.sms_a.gpu, &b = pair.sms_b.gpu;
  c.modelled = true;
  if (auto const term = term_of(c.name, pair.sms_a, pair.sms_b); !term.cause.empty()) {
    bool const reached = term.per_a.sign() > 0 && term.per_b.sign() > 0;
    c.what = term.what;
    c.per = reached ? term.per : "per access";
    c.unit = "ps";
    c.figure = ratios({term.time_a, reached ? term.per_a : count_in(a, AccessCount::accesses)},
                      {term.time_b, reached ? term.per_b : count_in(b, AccessCount::accesses)});
    return;
  }
  if (c.name == info_of(AccessCount::link_bytes).name) {
    c.what = info_of(AccessCount::link_bytes).what;
    c.unit = "1";
    c.figure = numbers(Amount::of(pair.a.link_bytes), Amount::of(pair.b.link_bytes));
    return;
  }
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(AccessCount::remote_accesses); ++i) {
    auto const count = static_cast<AccessCount>(i);
    auto const& info = info_of(count);
    if (info.name != c.name) continue;
    c.what = info.what;
    c.per = info.per;
    c.unit = "ratio";
    c.figure = ratios({count_in(a, count), count_in(a, info.parent)},
                      {count_in(b, count), count_in(b, info.parent)});
    return;
  }
}

// Limits of the accesses in flight: the load/store units stall for them.
constexpr std::array<std::string_view, 5> kLimitResources{
    "L1 TLB MSHRs", "L1 cache MSHRs", "SM credits for the L2 cache", "SM credits for remote accesses",
    "SM entries for faulted accesses"};

// Names the resource of the cause's stages whose utilization changed most with the sign of the cause.
void add_resource(PairModel const& pair, std::set<std::string> const& stages, Cause& c) {
  auto const leads = [&](Resource const& r) {
    if (c.name == "in_flight")
      return std::ranges::find(kLimitResources, std::string_view(r.what)) != kLimitResources.end();
    return std::ranges::any_of(r.stages, [&](std::string const& stage) { return stages.contains(stage); });
  };
  double largest = kUtilizationChange;
  for (auto const& r_b : pair.b.resources) {
    auto const r_a = std::ranges::find(pair.a.resources, r_b.what, &Resource::what);
    if (r_a == pair.a.resources.end() || !leads(r_b)) continue;
    auto const change = c.ps < 0 ? r_a->busy - r_b.busy : r_b.busy - r_a->busy;
    if (change <= largest) continue;
    largest = change;
    c.resource = r_b.what;
    c.resource_name = c.ps < 0 ? r_a->name : r_b.name;
    c.busy = {r_a->busy, r_b.busy};
  }
}

}  // namespace

std::vector<Cause> causes_of(PairModel const& pair) {
  std::map<std::string, Amount> sums;
  std::map<std::string, std::set<std::string>> stages;
  for (auto const& p : pair.parts) {
    sums[p.cause] += p.ps;
    if (!p.stage.empty()) stages[p.cause].insert(p.stage);
  }
  std::vector<Cause> causes;
  for (auto const& [name, ps] : sums) {
    if (ps.sign() == 0) continue;
    auto& c = causes.emplace_back();
    c.name = name;
    c.ps = ps.value();
    if (!describe_gap(pair, c) && !describe_total(pair, c) && !describe_sms(pair, c) &&
        !describe_saturated(pair, c))
      describe_accesses(pair, c);
    if (c.modelled) add_resource(pair, stages[name], c);
  }
  std::ranges::stable_sort(causes, std::ranges::greater(),
                           [](Cause const& c) { return Amount(c.ps).size(); });
  return causes;
}

}  // namespace farfault::analysis
