// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>

#include "farfault/analysis/sweep_point_names.hpp"
#include "farfault/analysis/sweep_ratios.hpp"
#include "farfault/engine/error.hpp"
#include "geometric_mean.hpp"

namespace farfault::analysis {
namespace {

using results::kNoFigure;
using results::SweepColumn;
using results::SweepTable;

constexpr std::string_view kRatio = "_ratio";

// A figure of the table by run.
class Amounts {
 public:
  Amounts(SweepTable const& table, std::string name)
      : name_(std::move(name)),
        states_(find_column(table.runs, "state")),
        column_(find_column(table.runs, name_)) {}

  bool is_known() const { return column_ != nullptr; }
  SweepColumn const* column() const { return column_; }

  // NaN if there is none.
  double of(std::size_t run) const {
    if (column_ == nullptr || !is_done(run)) return std::nan("");
    if (auto const* counts = std::get_if<std::vector<std::uint64_t>>(&column_->values))
      return counts->at(run) == kNoFigure ? std::nan("") : static_cast<double>(counts->at(run));
    auto const* numbers = std::get_if<std::vector<double>>(&column_->values);
    return numbers == nullptr ? std::nan("") : numbers->at(run);
  }
  // Why of(run) is NaN. `who`: the run with its point.
  std::string why_none(std::size_t run, std::string const& who) const {
    if (!is_done(run)) {
      auto const state = states_ == nullptr ? std::string() : cell_text(*states_, run);
      return who + (state == "failed" ? " failed" : " is missing");
    }
    return who + " has no figure '" + shown(name_) + "'";
  }

 private:
  bool is_done(std::size_t run) const { return states_ != nullptr && cell_text(*states_, run) == "done"; }

  std::string name_;
  SweepColumn const* states_;
  SweepColumn const* column_;
};

// The run numbers of the column `baseline`.
std::vector<std::optional<std::size_t>> partners_in(SweepTable const& table) {
  std::vector<std::optional<std::size_t>> partners(rows_of(table.runs));
  auto const* const column = find_column(table.runs, "baseline");
  auto const* const runs =
      column == nullptr ? nullptr : std::get_if<std::vector<std::uint64_t>>(&column->values);
  if (runs == nullptr) return partners;
  for (std::size_t run = 0; run < partners.size(); ++run)
    if (runs->at(run) < partners.size()) partners[run] = runs->at(run);
  return partners;
}

// The figure that the ratio `name` divides; empty if `name` is not a ratio.
std::string figure_of_ratio(SweepTable const& table, std::string const& name) {
  if (table.baseline.empty()) return {};
  if (name == kSweepSpeedup) return "end";
  return name.ends_with(kRatio) ? name.substr(0, name.size() - kRatio.size()) : std::string();
}

bool has_figures(SweepTable const& table) {
  return std::ranges::any_of(table.runs, [](SweepColumn const& c) { return c.role == "figure"; });
}

[[noreturn]] void refuse_figure(SweepTable const& table, std::string const& name) {
  if (table.baseline.empty() && (name == kSweepSpeedup || name.ends_with(kRatio)))
    throw UserError("figure '" + shown(name) + "' needs a baseline; set sweep.baseline in the study");
  std::vector<std::string> known;
  for (auto const& column : table.runs)
    if (column.role == "figure") known.push_back(column.name);
  auto const near = nearest_name(name, known);
  throw UserError("'" + shown(name) + "' is not a figure of this sweep" +
                  (near.empty() ? "; the columns of sweep.csv have their names"
                                : "; did you mean '" + shown(near) + "'?"));
}

void fill(SweepFigure& figure, Amounts const& amounts, SweepPointNames const& names, std::size_t runs) {
  for (std::size_t run = 0; run < runs; ++run) {
    figure.values.push_back(amounts.of(run));
    figure.reasons.push_back(std::isnan(figure.values.back()) ? amounts.why_none(run, names.of_run(run))
                                                              : "");
  }
}

// Why a ratio is empty; an empty text if it is not. `partner`: the run's baseline.
std::string why_no_ratio(std::size_t run, std::optional<std::size_t> partner, Amounts const& amounts,
                         std::string const& of, SweepPointNames const& names, std::string const& baseline) {
  auto const own = amounts.of(run);
  if (std::isnan(own)) return amounts.why_none(run, names.of_run(run));
  if (!partner) return "no run with " + one_line(baseline) + " has the other values of " + names.of_run(run);
  auto const base = amounts.of(*partner);
  if (!std::isnan(base) && own != 0 && base != 0) return {};
  if (!std::isnan(base) && own == 0) return shown(of) + " of " + names.of_run(run) + " is 0";
  auto const who = *partner == run ? names.of_run(run)
                                   : names.of_run(*partner) + ", the baseline of " + names.of_run(run) + ",";
  return std::isnan(base) ? amounts.why_none(*partner, who) : shown(of) + " of " + who + " is 0";
}

void fill_ratio(SweepFigure& figure, Amounts const& amounts, std::string const& of,
                SweepPointNames const& names, SweepTable const& table) {
  auto const partners = partners_in(table);
  for (std::size_t run = 0; run < partners.size(); ++run) {
    auto& value = figure.values.emplace_back(std::nan(""));
    auto const& reason =
        figure.reasons.emplace_back(why_no_ratio(run, partners[run], amounts, of, names, table.baseline));
    if (!reason.empty()) continue;
    auto const own = amounts.of(run), base = amounts.of(*partners[run]);
    value = figure.name == kSweepSpeedup ? base / own : own / base;
  }
}

SweepMean mean_of(std::vector<double> const& values, bool is_ratio) {
  SweepMean mean;
  mean.runs = values.size();
  auto const [smallest, largest] = std::ranges::minmax(values);
  mean.smallest = smallest;
  mean.largest = largest;
  if (is_ratio) {
    mean.mean = geometric_mean(values);
    return mean;
  }
  double sum = 0;
  for (auto const value : values) sum += value;
  mean.mean = sum / static_cast<double>(values.size());
  return mean;
}

}  // namespace

std::string sweep_ratio_name(std::string const& figure) {
  return figure + std::string(kRatio);
}

std::string main_figure(SweepTable const& table) {
  return table.baseline.empty() ? "end" : std::string(kSweepSpeedup);
}

SweepFigure sweep_figure(SweepTable const& table, std::string const& name) {
  auto const of = figure_of_ratio(table, name);
  Amounts const amounts(table, of.empty() ? name : of);
  bool const is_figure = amounts.is_known() && amounts.column()->role == "figure";
  if (!is_figure && has_figures(table)) refuse_figure(table, name);
  SweepFigure figure;
  figure.name = name;
  figure.unit = is_figure ? amounts.column()->unit : "1";
  figure.text = is_figure ? amounts.column()->text : "";
  if (of.empty()) {
    fill(figure, amounts, SweepPointNames(table), rows_of(table.runs));
    return figure;
  }
  figure.is_ratio = true;
  figure.unit = "1";
  figure.text = name == kSweepSpeedup ? "End of the baseline divided by the end of the run"
                                      : "Figure of the run divided by that of its baseline: " + figure.text;
  fill_ratio(figure, amounts, of, SweepPointNames(table), table);
  return figure;
}

SweepMean sweep_mean(SweepFigure const& figure, std::span<std::size_t const> runs) {
  SweepMean empty;
  empty.runs = runs.size();
  empty.reason = runs.empty() ? "the study has no such run" : "";
  std::vector<double> values;
  for (auto const run : runs) {
    values.push_back(figure.values[run]);
    if (empty.reason.empty()) empty.reason = figure.reasons[run];
  }
  return empty.is_empty() ? empty : mean_of(values, figure.is_ratio);
}

SweepMean sweep_mean_over(SweepAxis const& dimension, std::optional<SweepAxis> const& seed,
                          SweepFigure const& figure, std::span<std::size_t const> runs) {
  SweepMean empty;
  empty.runs = runs.size();
  empty.reason = runs.empty() ? "the study has no such run" : "";
  std::map<std::size_t, std::vector<std::size_t>> by_seed;
  for (auto const run : runs) by_seed[seed ? seed->of_run[run] : 0].push_back(run);
  std::vector<double> means;
  for (auto const& [number, own] : by_seed) {
    std::vector<bool> found(dimension.values.size());
    for (auto const run : own) found[dimension.of_run[run]] = true;
    auto const lacking = static_cast<std::size_t>(std::ranges::find(found, false) - found.begin());
    auto const mean = sweep_mean(figure, own);
    if (lacking != found.size())
      empty.reason = "no run has " + shown(dimension.key) + " = " + shown(dimension.values[lacking]);
    else
      empty.reason = mean.reason;
    if (empty.is_empty()) return empty;
    means.push_back(mean.mean);
  }
  if (means.empty()) return empty;
  auto all = mean_of(means, figure.is_ratio);
  all.runs = runs.size();
  return all;
}

}  // namespace farfault::analysis
