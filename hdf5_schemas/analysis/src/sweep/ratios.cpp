// SPDX-License-Identifier: Apache-2.0
// The columns of a table that compare its runs with a baseline.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "farfault/analysis/sweep_ratios.hpp"
#include "farfault/engine/error.hpp"

namespace farfault::analysis {
namespace {

using results::SweepColumn;
using results::SweepTable;

// The mean, its range and its reason, row by row.
class MeanColumns {
 public:
  explicit MeanColumns(SweepFigure const& figure) : figure_(figure) {}

  void add(SweepMean const& mean) {
    means_.push_back(mean.mean);
    smallest_.push_back(mean.smallest);
    largest_.push_back(mean.largest);
    reasons_.push_back(mean.reason);
  }
  // `mean`: name of the column of the mean.
  std::vector<SweepColumn> columns(std::string const& mean, bool with_range) {
    std::vector<SweepColumn> all;
    auto const of = figure_.text + " (geometric mean)";
    all.push_back({.name = mean, .role = "ratio", .unit = "1", .text = of, .values = std::move(means_)});
    if (with_range) {
      all.push_back({.name = figure_.name + "_smallest",
                     .role = "ratio",
                     .unit = "1",
                     .text = figure_.text + " (minimum over the seeds)",
                     .values = std::move(smallest_)});
      all.push_back({.name = figure_.name + "_largest",
                     .role = "ratio",
                     .unit = "1",
                     .text = figure_.text + " (maximum over the seeds)",
                     .values = std::move(largest_)});
    }
    all.push_back({.name = figure_.name + "_error",
                   .role = "",
                   .unit = "1",
                   .text = "Why the mean is empty",
                   .values = std::move(reasons_)});
    return all;
  }

 private:
  SweepFigure const& figure_;
  std::vector<double> means_, smallest_, largest_;
  std::vector<std::string> reasons_;
};

// Ahead of the figures and of the keys that the name implies.
void insert(std::vector<SweepColumn>& columns, std::vector<SweepColumn> added) {
  auto const at = std::ranges::find_if(
      columns, [](SweepColumn const& c) { return c.role == "figure" || !c.varies_with.empty(); });
  columns.insert(at, std::move_iterator(added.begin()), std::move_iterator(added.end()));
}

// These rows of a column.
SweepColumn picked(SweepColumn const& column, std::vector<std::size_t> const& rows) {
  SweepColumn part{
      .name = column.name, .role = column.role, .unit = column.unit, .text = column.text, .values = {}};
  std::visit(
      [&](auto const& values) {
        std::decay_t<decltype(values)> own;
        for (auto const row : rows) own.push_back(values.at(row));
        part.values = std::move(own);
      },
      column.values);
  return part;
}

std::string text_of(SweepBaseline const& baseline) {
  std::string text;
  for (auto const& [key, value] : baseline.values)
    text += (text.empty() ? "" : ", ") + one_line(key) + " = " + one_line(value);
  return text;
}

void add_partners(SweepTable& table, std::vector<std::optional<std::size_t>> const& partners) {
  std::vector<std::uint64_t> numbers;
  for (auto const& partner : partners) numbers.push_back(partner ? *partner : results::kNoFigure);
  insert(table.runs, {{"baseline", "", "1", "Index of the run that is the baseline", std::move(numbers)}});
}

// The speedup, then the ratios of other figures.
std::vector<SweepFigure> ratios_of(SweepTable const& table, std::vector<std::string> const& figures) {
  std::vector<SweepFigure> all{sweep_figure(table, std::string(kSweepSpeedup))};
  for (auto const& figure : figures)
    if (auto const name = sweep_ratio_name(figure); find_column(table.runs, name) == nullptr)
      all.push_back(sweep_figure(table, name));
  return all;
}

void add_to_runs(SweepTable& table, SweepFigure const& ratio) {
  insert(table.runs,
         {{.name = ratio.name, .role = "ratio", .unit = "1", .text = ratio.text, .values = ratio.values},
          {.name = ratio.name + "_error",
           .role = "",
           .unit = "1",
           .text = "Why the run has no " + ratio.name,
           .values = ratio.reasons}});
}

void add_to_spread(SweepTable& table, SweepFigure const& ratio, std::size_t seeds) {
  MeanColumns means(ratio);
  for (std::size_t first = 0; first < ratio.values.size(); first += seeds) {
    std::vector<std::size_t> runs;
    for (auto run = first; run < std::min(first + seeds, ratio.values.size()); ++run) runs.push_back(run);
    means.add(sweep_mean(ratio, runs));
  }
  insert(table.spread, means.columns(ratio.name + "_mean", true));
}

// Runs that differ only in the dimension of the mean and in their seeds, in the order of their first runs.
std::vector<std::vector<std::size_t>> groups_of(SweepAxes const& axes, std::size_t runs) {
  std::map<std::vector<std::size_t>, std::size_t> numbers;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t run = 0; run < runs; ++run) {
    std::vector<std::size_t> values;
    for (auto const& axis : axes.others) values.push_back(axis.of_run[run]);
    auto const number = numbers.try_emplace(std::move(values), groups.size()).first->second;
    if (number == groups.size()) groups.emplace_back();
    groups[number].push_back(run);
  }
  return groups;
}

void add_means(SweepTable& table, std::vector<SweepFigure> const& ratios, std::string const& over) {
  auto const axes = sweep_axes(table, {over});
  auto const groups = groups_of(axes, rows_of(table.runs));
  std::vector<std::size_t> firsts;
  std::vector<std::uint64_t> sizes;
  for (auto const& runs : groups) {
    firsts.push_back(runs.front());
    sizes.push_back(runs.size());
  }
  for (auto const& axis : axes.others)
    table.means.push_back(picked(*find_column(table.runs, axis.key), firsts));
  for (auto const& ratio : ratios) {
    MeanColumns means(ratio);
    for (auto const& runs : groups) means.add(sweep_mean_over(axes.asked.at(0), axes.seed, ratio, runs));
    auto more = means.columns(ratio.name, axes.seed && axes.seed->values.size() > 1);
    table.means.insert(table.means.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
  }
  table.means.push_back({"runs", "", "1", "Runs of the mean", std::move(sizes)});
}

}  // namespace

std::vector<std::optional<std::size_t>> sweep_partners(SweepTable const& table,
                                                       SweepBaseline const& baseline) {
  auto const runs = rows_of(table.runs);
  std::vector<bool> is_baseline(runs, true);
  bool of_point = false, by_name = false;  // the baseline has keys of the points; or a point
  auto const is_key = [&](std::string const& key) {
    return std::ranges::any_of(baseline.values, [&](auto const& value) { return value.first == key; });
  };
  for (auto const& [key, value] : baseline.values) {
    auto const* const column = find_column(table.runs, key);
    FF_CHECK(column != nullptr, "a key of the baseline that does not vary");
    of_point = of_point || !column->varies_with.empty();
    by_name = by_name || key == kSweepName;
    auto const axis = sweep_axis(*column);
    std::vector<bool> fits;
    for (auto const& other : axis.values) fits.push_back(is_same_value(other, value));
    for (std::size_t run = 0; run < runs; ++run)
      is_baseline[run] = is_baseline[run] && fits[axis.of_run[run]];
  }
  // The values of the other keys, as one text per run.
  std::vector<std::string> others(runs);
  for (auto const& column : table.runs) {
    bool const is_name = column.name == kSweepName;
    if ((column.role != "parameter" && !is_name) || is_key(column.name)) continue;
    if (is_name ? of_point : by_name && !column.varies_with.empty()) continue;
    auto const axis = sweep_axis(column);
    for (std::size_t run = 0; run < runs; ++run) others[run] += std::to_string(axis.of_run[run]) + " ";
  }
  std::unordered_map<std::string, std::size_t> baselines;
  for (std::size_t run = 0; run < runs; ++run)
    if (is_baseline[run]) baselines.try_emplace(others[run], run);
  std::vector<std::optional<std::size_t>> partners(runs);
  for (std::size_t run = 0; run < runs; ++run)
    if (auto const found = baselines.find(others[run]); found != baselines.end())
      partners[run] = found->second;
  return partners;
}

void add_ratios(SweepTable& table, SweepBaseline const& baseline, std::size_t seeds) {
  table.baseline = text_of(baseline);
  table.mean_over = baseline.mean_over;
  add_partners(table, sweep_partners(table, baseline));
  auto const ratios = ratios_of(table, baseline.figures);
  for (auto const& ratio : ratios) {
    add_to_runs(table, ratio);
    if (!table.spread.empty()) add_to_spread(table, ratio, seeds);
  }
  if (!baseline.mean_over.empty()) add_means(table, ratios, baseline.mean_over);
}

}  // namespace farfault::analysis
