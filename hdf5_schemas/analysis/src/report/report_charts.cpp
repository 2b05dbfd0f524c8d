// SPDX-License-Identifier: Apache-2.0
#include "report_charts.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "farfault/engine/error.hpp"
#include "farfault/results/reading/walk.hpp"

namespace farfault::analysis {
namespace {

Rows sum_of(Sampled const& sampled, Devices const& d, std::vector<std::string> const& metrics) {
  Rows sum(d.names.size(), std::vector<double>(sampled.ends().size(), 0.0));
  for (auto const& metric : metrics) {
    auto const rows = sampled.grouped(metric, d.of_instance, d.names.size());
    for (std::size_t i = 0; i < sum.size(); ++i)
      for (std::size_t k = 0; k < sum[i].size(); ++k) sum[i][k] += rows[i][k];
  }
  return sum;
}

}  // namespace

std::vector<Chart> const& charts() {
  static std::vector<Chart> const all{
      {"instructions", "Warp instructions", "sm", {"instructions"}, Per::second},
      {"transactions", "Memory transactions", "sm", {"transactions"}, Per::second},
      {"l1_tlb", "L1 TLB hit rate", "sm", {"l1_tlb_hits"}, Per::whole, {"l1_tlb_hits", "l1_tlb_misses"}},
      {"l2_tlb", "L2 TLB hit rate", "l2_tlb", {"hits"}, Per::whole, {"hits", "misses"}},
      {"l1_cache", "L1 cache hit rate", "sm", {"l1_hits"}, Per::whole, {"l1_hits", "l1_misses"}},
      {"l2_cache", "L2 cache hit rate", "l2_slice", {"hits"}, Per::whole, {"hits", "misses"}},
      {"remote", "Remote accesses per transaction", "sm", {"remote_accesses"}, Per::whole, {"transactions"}},
      {"walks", "GMMU page walks", "gmmu", {"walks"}, Per::second},
      {"walkers", "GMMU page walker utilization", "gmmu", {"walker_busy_time"}, Per::instance},
      {"iommu", "IOMMU page walker utilization", "iommu", {"walker_busy_time"}, Per::instance},
      {"dram_bytes", "DRAM bytes", "dram", {"bytes"}, Per::second},
      {"dram", "DRAM channel utilization", "dram", {"busy_time"}, Per::instance},
      {"faults", "Page faults handled by the driver", "driver", {"page_faults"}, Per::second},
      {"driver", "Driver utilization", "driver", {"busy_time"}, Per::instance},
      {"migrations", "Page migrations", "driver", {"migrations"}, Per::second},
      {"blocks", "Running thread blocks", "dispatcher", {"blocks_running"}, Per::nothing},
  };
  return all;
}

std::vector<Chart> charts_of(std::string const& kind, Sampled const& sampled) {
  std::vector<Chart> all;
  auto const there = [&](std::string const& metric) { return sampled.has(metric); };
  for (auto const& c : charts())
    if (c.kind == kind && std::ranges::all_of(c.parts, there) && std::ranges::all_of(c.whole, there))
      all.push_back(c);
  // A level of TLBs with a name of the configuration.
  if (kind.ends_with("tlb") && kind != "l2_tlb" && there("hits") && there("misses"))
    all.push_back({kind, "Hit rate of " + shown(kind), kind, {"hits"}, Per::whole, {"hits", "misses"}});
  if (there("packets") && there("bytes") && there("busy_time")) {
    all.push_back({kind + "_bytes", "Bytes sent by " + shown(kind), kind, {"bytes"}, Per::second});
    all.push_back(
        {kind + "_busy", "Utilization of " + shown(kind) + " links", kind, {"busy_time"}, Per::link});
  }
  return all;
}

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

std::string units_of(Chart const& c, Sampled const& sampled) {
  if (c.per != Per::second && c.per != Per::nothing) return "share";
  auto const units = sampled.describe(c.parts.front()).units;
  if (c.per == Per::nothing) return units;
  return units == "1" || units.empty() ? "/s" : shown(units) + "/s";
}

bool is_all(Rows const& rows, double value) {
  return std::ranges::all_of(rows, [&](auto const& row) {
    return std::ranges::all_of(row, [&](double v) { return v == value || !std::isfinite(v); });
  });
}

}  // namespace farfault::analysis
