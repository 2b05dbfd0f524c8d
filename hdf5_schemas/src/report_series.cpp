// What each GPU did over time, and every statistic of the whole machine.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "columns.hpp"
#include "farfault/engine/error.hpp"
#include "report_parts.hpp"
#include "sampled.hpp"
#include "walk.hpp"

namespace farfault::results {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;
constexpr std::size_t kMostTotals = 600;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using Rows = std::vector<std::vector<double>>;  // [device][interval]

enum class Per : std::uint8_t {
  second,    // a rate
  instance,  // a share of the time of each instance
  link,      // a share of the time of each of its links
  whole,     // a share of `whole`
  nothing    // a level
};

struct Chart {
  std::string id;
  std::string title;
  std::string kind;
  std::vector<std::string> parts;  // summed
  Per per;
  std::vector<std::string> whole = {};
};

std::vector<Chart> charts() {
  return {
      {"instructions", "warp instructions", "sm", {"instructions"}, Per::second},
      {"transactions", "memory transactions", "sm", {"transactions"}, Per::second},
      {"l1_tlb", "L1 TLB hit rate", "sm", {"l1_tlb_hits"}, Per::whole, {"l1_tlb_hits", "l1_tlb_misses"}},
      {"l2_tlb", "L2 TLB hit rate", "l2_tlb", {"hits"}, Per::whole, {"hits", "misses"}},
      {"l1_cache", "L1 cache hit rate", "sm", {"l1_hits"}, Per::whole, {"l1_hits", "l1_misses"}},
      {"l2_cache", "L2 cache hit rate", "l2_slice", {"hits"}, Per::whole, {"hits", "misses"}},
      {"remote",
       "accesses to other devices, of all transactions",
       "sm",
       {"remote_accesses"},
       Per::whole,
       {"transactions"}},
      {"walks", "page walks of GMMUs", "gmmu", {"walks"}, Per::second},
      {"walkers", "GMMU page walkers busy", "gmmu", {"walker_busy_time"}, Per::instance},
      {"iommu", "IOMMU page walkers busy", "iommu", {"walker_busy_time"}, Per::instance},
      {"dram_bytes", "bytes of DRAM", "dram", {"bytes"}, Per::second},
      {"dram", "DRAM channels busy", "dram", {"busy_time"}, Per::instance},
      {"faults", "page faults of the driver", "driver", {"page_faults"}, Per::second},
      {"driver", "driver busy", "driver", {"busy_time"}, Per::instance},
      {"migrations", "pages moved", "driver", {"migrations"}, Per::second},
      {"blocks", "thread blocks running", "dispatcher", {"blocks_running"}, Per::nothing},
  };
}

// The devices of a group of series, in the order of their first instances.
struct Devices {
  std::vector<std::string> names;
  std::vector<std::size_t> of_instance;
  std::vector<double> instances;  // how many each has
  std::vector<double> links;      // how many all of them send over
};

Devices devices_of(ReportSource const& source, Sampled const& sampled) {
  Devices d;
  std::map<std::string, std::size_t, std::less<>> known;
  for (auto const& path : sampled.instances()) {
    auto const name = device_of(path, source.nodes);
    auto found = known.find(name);
    if (found == known.end()) {
      found = known.emplace(std::string(name), d.names.size()).first;
      d.names.emplace_back(name);
      d.instances.push_back(0);
      d.links.push_back(0);
    }
    d.of_instance.push_back(found->second);
    ++d.instances[found->second];
    auto const links = source.links_of.find(path);
    if (links != source.links_of.end()) d.links[found->second] += static_cast<double>(links->second);
  }
  return d;
}

double lasting(std::vector<std::uint64_t> const& ends, std::size_t interval) {
  return static_cast<double>(ends[interval] - (interval == 0 ? 0 : ends[interval - 1]));
}

Rows sum_of(Sampled const& sampled, Devices const& d, std::vector<std::string> const& metrics) {
  Rows sum(d.names.size(), std::vector<double>(sampled.ends().size(), 0.0));
  for (auto const& metric : metrics) {
    auto const rows = sampled.grouped(metric, d.of_instance, d.names.size());
    for (std::size_t i = 0; i < sum.size(); ++i)
      for (std::size_t k = 0; k < sum[i].size(); ++k) sum[i][k] += rows[i][k];
  }
  return sum;
}

Rows values_of(Chart const& c, Sampled const& sampled, Devices const& d) {
  auto rows = sum_of(sampled, d, c.parts);
  auto const whole = c.per == Per::whole ? sum_of(sampled, d, c.whole) : Rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < rows[i].size(); ++k) {
      auto& value = rows[i][k];
      auto const time = lasting(sampled.ends(), k);
      if (c.per == Per::second) value *= kPicosecondsPerSecond / time;
      if (c.per == Per::instance) value /= time * d.instances[i];
      if (c.per == Per::link) value = d.links[i] == 0 ? kNone : value / (time * d.links[i]);
      if (c.per == Per::whole) value = whole[i][k] == 0 ? kNone : value / whole[i][k];
    }
  return rows;
}

// Of all rows, interval by interval.
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

Json drawn_rows(std::vector<std::string> const& names, Rows const& rows, std::size_t most) {
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
  for (auto const& row : rows) totals.push_back(sum(row));
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return totals[a] > totals[b]; });
  for (std::size_t i = 0; i < std::min(order.size(), most - std::min<std::size_t>(most, 3)); ++i)
    drawn.push_back(drawn_row(names[order[i]], rows[order[i]]));
  return drawn;
}

bool is_all(Rows const& rows, double value) {
  return std::ranges::all_of(rows, [&](auto const& row) {
    return std::ranges::all_of(row, [&](double v) { return v == value || !std::isfinite(v); });
  });
}

std::string units_of(Chart const& c, Sampled const& sampled) {
  if (c.per != Per::second && c.per != Per::nothing) return "share";
  auto const units = sampled.describe(c.parts.front()).units;
  if (c.per == Per::nothing) return units;
  return units == "1" || units.empty() ? "/s" : shown(units) + "/s";
}

// A statistic of the whole machine: time is time per time, so how many things on average.
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
  auto const all = charts();
  auto const draw = [&](Chart const& c, Sampled const& sampled, Devices const& d) {
    auto const there = [&](std::string const& metric) { return sampled.has(metric); };
    if (!std::ranges::all_of(c.parts, there) || !std::ranges::all_of(c.whole, there)) return;
    auto const rows = values_of(c, sampled, d);
    if (is_all(rows, 0)) return;
    auto const place = std::ranges::find(all, c.id, &Chart::id) - all.begin();
    series.emplace_back(place, Json{{"id", c.id},
                                    {"title", c.title},
                                    {"units", units_of(c, sampled)},
                                    {"clock", clocks.number_of(sampled.ends())},
                                    {"rows", drawn_rows(d.names, rows, source.size.gpus)}});
  };
  for (auto const& kind : link_names(open_group(source.file, "timeseries"))) {
    if (kind.ends_with(".by_application")) continue;
    Sampled const sampled(source.file, kind, source.size.points);
    if (sampled.ends().empty() || sampled.instances().empty()) continue;
    auto const devices = devices_of(source, sampled);
    for (auto const& c : all)
      if (c.kind == kind) draw(c, sampled, devices);
    if (sampled.has("packets") && sampled.has("bytes") && sampled.has("busy_time")) {
      draw({kind + "_bytes", "bytes sent by " + shown(kind), kind, {"bytes"}, Per::second}, sampled, devices);
      draw({kind + "_busy", "links of " + shown(kind) + " busy", kind, {"busy_time"}, Per::link}, sampled,
           devices);
    }
    for (auto const& metric : sampled.metrics()) {
      if (totals.size() == kMostTotals) break;
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

}  // namespace farfault::results
