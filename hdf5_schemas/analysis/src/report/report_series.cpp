// SPDX-License-Identifier: Apache-2.0
// Activity of each GPU over time, and every statistic of the whole machine.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "farfault/engine/error.hpp"
#include "farfault/results/reading/walk.hpp"
#include "report_charts.hpp"

namespace farfault::analysis {
namespace {

constexpr std::size_t kMaxTotals = 600;

// Combines all rows, interval by interval.
template <class Combine>
std::vector<double> over(Rows const& rows, Combine combine) {
  std::vector<double> all(rows.front().size(), kNone);
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::vector<double> values;
    for (auto const& row : rows)
      if (std::isfinite(row[k])) values.push_back(row[k]);
    if (!values.empty()) all[k] = combine(values);
  }
  return all;
}

double sum(std::vector<double> const& values) {
  auto total = 0.0;
  for (auto const v : values)
    if (std::isfinite(v)) total += v;
  return total;
}

// Integral over time: intervals have different lengths.
double over_time(std::vector<double> const& values, std::vector<std::uint64_t> const& ends) {
  auto total = 0.0;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (std::isfinite(values[k])) total += values[k] * lasting(ends, k);
  return total;
}

Json drawn_rows(std::vector<std::string> const& names, Rows const& rows,
                std::vector<std::uint64_t> const& ends, std::size_t most) {
  auto drawn = Json::array();
  if (rows.size() <= most) {
    for (std::size_t i = 0; i < rows.size(); ++i) drawn.push_back(drawn_row(names[i], rows[i]));
    return drawn;
  }
  auto const mean = [](std::vector<double> const& v) { return sum(v) / static_cast<double>(v.size()); };
  auto const count = std::to_string(rows.size());
  drawn.push_back(drawn_row("mean of " + count, over(rows, mean)));
  drawn.push_back(drawn_row("least", over(rows, [](auto const& v) { return *std::ranges::min_element(v); })));
  drawn.push_back(drawn_row("most", over(rows, [](auto const& v) { return *std::ranges::max_element(v); })));
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> totals;
  for (auto const& row : rows) totals.push_back(over_time(row, ends));
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return totals[a] > totals[b]; });
  for (std::size_t i = 0; i < std::min(order.size(), most - std::min<std::size_t>(most, 3)); ++i)
    drawn.push_back(drawn_row(names[order[i]], rows[order[i]]));
  return drawn;
}

// A statistic of the whole machine. A time becomes time per time, i.e. an average number of things.
Json total_of(Sampled const& sampled, std::string const& metric, std::string& units) {
  std::vector<std::size_t> const all(sampled.instances().size(), 0);
  auto rows = sampled.grouped(metric, all, 1);
  auto const what = sampled.describe(metric);
  units = shown(what.units);
  if (what.counter) {
    bool const time = what.units == "ps";
    for (std::size_t k = 0; k < rows[0].size(); ++k)
      rows[0][k] *= (time ? 1 : kPicosecondsPerSecond) / lasting(sampled.ends(), k);
    units = time ? "on average" : units == "1" ? "/s" : units + "/s";
  }
  return is_all(rows, 0) ? Json() : drawn_row("machine", rows[0]);
}

}  // namespace

void add_series(ReportSource const& source, Clocks& clocks, Json& to) {
  std::vector<std::pair<std::ptrdiff_t, Json>> series;
  auto totals = Json::array();
  auto const draw = [&](Chart const& c, Sampled const& sampled, Devices const& d) {
    auto const rows = values_of(c, sampled, d);
    if (is_all(rows, 0)) return;
    auto const place = std::ranges::find(charts(), c.id, &Chart::id) - charts().begin();
    series.emplace_back(place, Json{{"id", c.id},
                                    {"title", c.title},
                                    {"units", units_of(c, sampled)},
                                    {"clock", clocks.number_of(sampled.ends())},
                                    {"rows", drawn_rows(d.names, rows, sampled.ends(), source.size.gpus)}});
  };
  for (auto const& kind : link_names(open_group(source.file, "timeseries"))) {
    if (kind.ends_with(".by_application")) continue;
    Sampled const sampled(source.file, kind, source.size.points);
    if (sampled.ends().empty() || sampled.instances().empty()) continue;
    auto const devices = devices_of(source, sampled);
    for (auto const& c : charts_of(kind, sampled)) draw(c, sampled, devices);
    for (auto const& metric : sampled.metrics()) {
      if (totals.size() == kMaxTotals) break;
      std::string units;
      auto row = total_of(sampled, metric, units);
      if (row.is_null()) continue;
      totals.push_back({{"id", shown(kind) + "/" + shown(metric)},
                        {"title", brief(sampled.describe(metric).text)},
                        {"units", units},
                        {"clock", clocks.number_of(sampled.ends())},
                        {"rows", Json::array({std::move(row)})}});
    }
  }
  // In the order of the list, ports last.
  std::ranges::stable_sort(series, {}, &std::pair<std::ptrdiff_t, Json>::first);
  auto list = Json::array();
  for (auto& [place, drawn] : series) list.push_back(std::move(drawn));
  to["series"] = std::move(list);
  to["totals"] = std::move(totals);
}

}  // namespace farfault::analysis
