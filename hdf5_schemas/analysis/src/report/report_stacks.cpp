// SPDX-License-Identifier: Apache-2.0
// Stages of accesses and SM activity: over time, and as totals per GPU.
#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>

#include "columns.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/open.hpp"
#include "report_parts.hpp"
#include "sampled.hpp"
#include "time_parts.hpp"

namespace farfault::analysis {
namespace {

constexpr std::string_view kPrefix = "sm_";  // prefix of the summary's figures before the statistic's name

// A row for each non-zero part: its time per time, divided by `whole`.
Json parts_over_time(Sampled const& sampled, std::span<Named const> parts, double whole, bool with_rest) {
  auto rows = Json::array();
  std::vector<std::size_t> const all(sampled.instances().size(), 0);
  std::vector<double> rest(sampled.ends().size(), 1.0);
  for (auto const& part : parts) {
    std::string const metric = part.name + kPrefix.size();
    bool const is_rest = with_rest && metric == "idle_time";
    if (!is_rest && !sampled.has(metric)) continue;
    auto values = is_rest ? rest : sampled.grouped(metric, all, 1)[0];
    if (!is_rest)
      for (std::size_t k = 0; k < values.size(); ++k) {
        auto const from = k == 0 ? 0 : sampled.ends()[k - 1];
        values[k] /= static_cast<double>(sampled.ends()[k] - from) * whole;
        rest[k] = std::max(0.0, rest[k] - values[k]);
      }
    if (std::ranges::all_of(values, [](double v) { return v == 0; })) continue;
    rows.push_back(drawn_row(part.what, values));
  }
  return rows;
}

void add_over_time(ReportSource const& source, Clocks& clocks, Json& to) {
  if (!has(source.file, "timeseries/sm.by_gpu")) return;
  Sampled const sampled(source.file, "sm.by_gpu", source.size.points);
  if (sampled.ends().empty()) return;
  auto const clock = clocks.number_of(sampled.ends());
  auto rows = parts_over_time(sampled, kStages, 1, false);
  to["stack"] = {{"units", "accesses"}, {"clock", clock}, {"rows", std::move(rows)}};
  if (!has(source.file, "timeseries/sm/instance")) return;
  auto const sms = Columns(source.file, "timeseries/sm", "instance").rows_in_file();
  rows = parts_over_time(sampled, kSms, static_cast<double>(std::max<std::uint64_t>(1, sms)), true);
  to["sms"] = {{"units", "share"}, {"clock", clock}, {"rows", std::move(rows)}};
}

Json parts_of_gpus(Columns const& gpus, std::span<Named const> parts, std::vector<std::size_t> const& order) {
  auto list = Json::array();
  for (auto const& part : parts) {
    if (!gpus.has(part.name)) continue;
    auto const values = gpus.numbers(part.name);
    auto ps = Json::array();
    for (auto const gpu : order) ps.push_back(values[gpu] == UINT64_MAX ? 0 : values[gpu]);
    list.push_back({{"what", part.what}, {"ps", std::move(ps)}});
  }
  return list;
}

}  // namespace

void add_stacks(ReportSource const& source, Clocks& clocks, Json& to) {
  add_over_time(source, clocks, to);
  if (!has(source.file, "summary/gpu/sm_access_time")) return;
  Columns const gpus(source.file, "summary/gpu", "name");
  auto const names = gpus.texts("name");
  auto const time = gpus.numbers("sm_access_time");
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto const shown_gpus = std::min(order.size(), source.size.gpu_stacks);
  if (shown_gpus < order.size())
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return time[a] > time[b]; });
  order.resize(shown_gpus);
  auto gpu_names = Json::array();
  for (auto const i : order) gpu_names.push_back(shown(names[i]));
  to["gpu_stacks"] = {{"all", names.size()},
                      {"gpus", std::move(gpu_names)},
                      {"stages", parts_of_gpus(gpus, kAccesses, order)},
                      {"sms", parts_of_gpus(gpus, kSms, order)}};
}

}  // namespace farfault::analysis
