// SPDX-License-Identifier: Apache-2.0
#include "curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

using analysis::LiveCounter;
using analysis::LivePoint;

constexpr double kPerNs = 1e3;  // for rates per ps
constexpr double kPerUs = 1e6;

struct CurveKind {
  char const* what;
  std::vector<LiveCounter> parts;   // summed
  std::vector<LiveCounter> wholes;  // denominator of the sum; empty: simulated time
  double factor = 1;
  bool busy = false;  // parts are busy times of instances
};

std::vector<CurveKind> const& kinds() {
  static std::vector<CurveKind> const all{
      {"warp instructions per ns", {{"sm", "instructions"}}, {}, kPerNs},
      {"SMs executing, of time with warps",
       {{"sm.by_gpu", "active_time"}},
       {{"sm.by_gpu", "active_time"},
        {"sm.by_gpu", "memory_stall_time"},
        {"sm.by_gpu", "fault_stall_time"},
        {"sm.by_gpu", "load_store_stall_time"},
        {"sm.by_gpu", "scalar_stall_time"},
        {"sm.by_gpu", "barrier_stall_time"},
        {"sm.by_gpu", "fetch_stall_time"},
        {"sm.by_gpu", "stopped_time"}}},
      {"L1 TLB misses", {{"sm", "l1_tlb_misses"}}, {{"sm", "l1_tlb_hits"}, {"sm", "l1_tlb_misses"}}},
      {"L2 TLB misses", {{"l2_tlb", "misses"}}, {{"l2_tlb", "hits"}, {"l2_tlb", "misses"}}},
      {"page walks per us", {{"gmmu", "walks"}, {"iommu", "walks"}}, {}, kPerUs},
      {"page faults per us", {{"driver", "page_faults"}}, {}, kPerUs},
      {"GB/s between devices", {{"rdma", "bytes"}}, {}, kPerNs},
      {"DRAM channels busy", {{"dram", "busy_time"}}, {}, 1, true}};
  return all;
}

// The values of all counters at a time, interpolated linearly between samples.
std::vector<double> totals_at(std::vector<LivePoint> const& points, double time) {
  auto const after = std::ranges::find_if(
      points, [&](LivePoint const& p) { return static_cast<double>(p.time_ps) >= time; });
  auto const& next = after == points.end() ? points.back() : *after;
  std::vector<double> totals;
  auto const from = after == points.begin() ? 0.0 : static_cast<double>(std::prev(after)->time_ps);
  auto const length = static_cast<double>(next.time_ps) - from;
  auto const share = length > 0 ? std::min(1.0, (time - from) / length) : 1.0;
  for (std::size_t c = 0; c < next.totals.size(); ++c) {
    auto const before = after == points.begin() ? 0.0 : static_cast<double>(std::prev(after)->totals[c]);
    totals.push_back(before + (static_cast<double>(next.totals[c]) - before) * share);
  }
  return totals;
}

double sum_of(std::vector<LiveCounter> const& counters, std::vector<double> const& from,
              std::vector<double> const& to) {
  double sum = 0;
  for (auto const& c : counters) {
    auto const place = watched_counter(c.series, c.metric);
    sum += to[place] - from[place];
  }
  return sum;
}

}  // namespace

std::vector<LiveCounter> const& watched_counters() {
  static auto const all = [] {
    std::vector<LiveCounter> list{{"sm", "blocks"}, {"sm", "transactions"}};
    for (auto const& kind : kinds())
      for (auto const* counters : {&kind.parts, &kind.wholes})
        for (auto const& c : *counters)
          if (std::ranges::none_of(list, [&](LiveCounter const& known) {
                return known.series == c.series && known.metric == c.metric;
              }))
            list.push_back(c);
    return list;
  }();
  return all;
}

std::size_t watched_counter(std::string const& series, std::string const& metric) {
  auto const& all = watched_counters();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].series == series && all[i].metric == metric) return i;
  FF_CHECK(false, "a curve uses a counter that is not read");
  return 0;
}

std::vector<Curve> curves(std::vector<LivePoint> const& points, std::vector<std::uint64_t> const& instances,
                          std::size_t parts) {
  std::vector<Curve> list;
  if (points.empty() || points.back().time_ps <= 0) return list;
  parts = std::min(parts, points.size());
  auto const end = static_cast<double>(points.back().time_ps);
  auto const length = end / static_cast<double>(parts);
  std::vector<std::vector<double>> totals{std::vector<double>(instances.size(), 0.0)};
  for (std::size_t p = 1; p <= parts; ++p)
    totals.push_back(totals_at(points, p == parts ? end : length * static_cast<double>(p)));
  for (auto const& kind : kinds()) {
    Curve curve{kind.what, kind.busy || !kind.wholes.empty(), {}};
    double count = 0;
    if (kind.busy)
      for (auto const& c : kind.parts)
        count += static_cast<double>(instances[watched_counter(c.series, c.metric)]);
    for (std::size_t p = 0; p < parts; ++p) {
      auto const part = sum_of(kind.parts, totals[p], totals[p + 1]);
      auto const whole = kind.busy             ? length * count
                         : kind.wholes.empty() ? length
                                               : sum_of(kind.wholes, totals[p], totals[p + 1]);
      curve.values.push_back(whole > 0 ? kind.factor * part / whole
                                       : std::numeric_limits<double>::quiet_NaN());
    }
    if (std::ranges::any_of(curve.values, [](double v) { return v > 0; })) list.push_back(std::move(curve));
  }
  return list;
}

}  // namespace farfault::cli
