// SPDX-License-Identifier: Apache-2.0
// Histograms of the whole machine, with percentiles.
#include <algorithm>
#include <numeric>

#include "columns.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/walk.hpp"
#include "report_parts.hpp"

namespace farfault::analysis {
namespace {

constexpr std::size_t kMaxHistograms = 64;
constexpr std::uint64_t kMaxBins = 1024;
constexpr double kPercentiles[] = {50, 90, 99};

// The smallest value of each bin.
std::vector<std::uint64_t> bins_of(ObjectId file, std::string const& folder, std::uint64_t count) {
  for (auto const& name : {std::string("bin"), "bin_" + std::to_string(count)}) {
    if (!has(open_group(file, folder), name)) continue;
    auto const dataset = open_dataset(file, folder + "/" + name);
    auto const shape = shape_of_dataset(dataset);
    if (shape.kind != Kind::unsigned_integer || shape.extents.size() != 1 || shape.rows() != count) continue;
    auto bins = read_words(dataset, shape, 0, count);
    if (std::ranges::is_sorted(bins, std::less_equal<>{})) return bins;
  }
  return {};
}

// Linear interpolation within the bin; the last bin is assumed to be as wide as its lower bound.
double percentile(std::vector<std::uint64_t> const& bins, std::vector<std::uint64_t> const& counts,
                  double share) {
  auto const all = std::accumulate(counts.begin(), counts.end(), 0.0);
  auto left = all * share;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    auto const count = static_cast<double>(counts[i]);
    if (count == 0 || count < left) {
      left -= count;
      continue;
    }
    auto const from = static_cast<double>(bins[i]);
    auto const to = i + 1 < bins.size() ? static_cast<double>(bins[i + 1]) : 2 * from;
    return to - from <= 1 ? from : from + (to - from) * left / count;
  }
  return static_cast<double>(bins.back());
}

Json histogram(ObjectId file, std::string const& kind, std::string const& metric) {
  auto const folder = "timeseries/" + kind;
  auto const dataset = open_dataset(file, folder + "/" + metric);
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::unsigned_integer || shape.extents.size() != 3 || shape.rows() == 0) return {};
  auto const count = static_cast<std::uint64_t>(shape.extents[2]);
  if (count == 0 || count > kMaxBins) return {};
  auto const bins = bins_of(file, folder, count);
  if (bins.empty()) return {};
  std::vector<std::uint64_t> counts(count, 0);
  auto const last = read_words(dataset, shape, shape.rows() - 1, 1);
  for (std::size_t i = 0; i < last.size(); ++i) counts[i % count] += last[i];
  if (std::ranges::all_of(counts, [](std::uint64_t n) { return n == 0; })) return {};
  auto const first = std::ranges::find_if(counts, [](auto n) { return n != 0; }) - counts.begin();
  auto end = count;  // of the bins that are shown, including the bin after the last value: its upper edge
  while (end > 1 && counts[end - 1] == 0 && counts[end - 2] == 0) --end;
  auto percentiles = Json::array();
  for (auto const p : kPercentiles) percentiles.push_back({p, percentile(bins, counts, p / 100)});
  return {{"id", shown(kind) + "/" + shown(metric)},
          {"title", brief(text_attribute(dataset, "long_name"))},
          {"unit", shown(text_attribute(dataset, "bin_unit"))},
          {"bins", std::vector(bins.begin() + first, bins.begin() + static_cast<std::ptrdiff_t>(end))},
          {"counts", std::vector(counts.begin() + first, counts.begin() + static_cast<std::ptrdiff_t>(end))},
          {"percentiles", std::move(percentiles)}};
}

}  // namespace

void add_histograms(ReportSource const& source, Json& to) {
  std::vector<Json> all;
  for (auto const& kind : link_names(open_group(source.file, "timeseries"))) {
    if (kind.ends_with(".by_application")) continue;
    for (auto const& metric : link_names(open_group(source.file, "timeseries/" + kind))) {
      auto one = histogram(source.file, kind, metric);
      if (!one.is_null() && all.size() < kMaxHistograms) all.push_back(std::move(one));
    }
  }
  // Histograms of times first.
  std::stable_partition(all.begin(), all.end(),
                        [](Json const& h) { return h["unit"] == "ps" || h["unit"] == "ns"; });
  if (!all.empty()) to["histograms"] = all;
}

}  // namespace farfault::analysis
