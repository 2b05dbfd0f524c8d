// SPDX-License-Identifier: Apache-2.0
#include "run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>

#include "farfault/analysis/csv.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "process/text_lines.hpp"

namespace farfault::cli {
namespace {

using results::kNoFigure;
using results::SweepColumn;

constexpr char const* kStates[] = {"missing", "done", "failed"};
constexpr std::size_t kMaxFigures = 10'000;
constexpr std::size_t kGap = 2;  // before each column of the printed table

std::string cell(std::string const& text) {
  return analysis::csv_cell(text);
}
std::string cell(std::uint64_t number) {
  return number == kNoFigure ? std::string() : std::to_string(number);
}
std::string cell(double number) {
  return std::isnan(number) ? std::string() : fmt::format("{}", number);
}

std::size_t width_of(std::vector<std::string> const& column, std::size_t rows) {
  std::size_t widest = 0;
  for (std::size_t row = 0; row < rows; ++row) widest = std::max(widest, column.at(row).size());
  return widest;
}

// Adds the first column, and the next ones as long as they fit. Returns their number.
std::size_t add_columns(std::vector<std::vector<std::string>>& lines,
                        std::vector<std::vector<std::string>> const& more, std::size_t most) {
  std::size_t width = 0, added = 0;
  for (std::size_t cell = 0; cell < lines[0].size(); ++cell) {
    std::size_t widest = 0;
    for (auto const& line : lines) widest = std::max(widest, line[cell].size());
    width += kGap + widest;
  }
  for (; added < more.size(); ++added) {
    width += kGap + width_of(more[added], lines.size());
    if (added != 0 && width > most) break;
    for (std::size_t row = 0; row < lines.size(); ++row) lines[row].push_back(more[added].at(row));
  }
  return added;
}

std::string time_text(std::uint64_t ps) {
  return ps <= static_cast<std::uint64_t>(Duration::max().count())
             ? for_people(Duration{static_cast<std::int64_t>(ps)})
             : std::string("?");
}

}  // namespace

RunTable::RunTable(std::vector<VariedKey> keys, std::size_t runs) : keys_(std::move(keys)), rows_(runs) {}

void RunTable::set_values(std::size_t run, std::string point, std::vector<StudyValue> values) {
  rows_[run].point = std::move(point);
  rows_[run].values = std::move(values);
}

void RunTable::set_missing(std::size_t run, std::string why) {
  rows_[run].state = State::missing;
  rows_[run].error = std::move(why);
}

void RunTable::set_done(std::size_t run, std::string result, results::SweptRun const& what) {
  auto& row = rows_[run];
  row.state = State::done;
  row.error.clear();
  row.result = std::move(result);
  row.digest = what.result_digest;
  row.figures.clear();
  for (auto const& f : what.figures) {
    auto const at = figure_numbers_.find(f.metric);
    if (at != figure_numbers_.end()) {
      row.figures.emplace_back(at->second, f.value);
    } else if (figures_.size() < kMaxFigures) {
      figure_numbers_.emplace(f.metric, figures_.size());
      row.figures.emplace_back(figures_.size(), f.value);
      figures_.push_back({f.metric, f.unit, f.text});
    }
  }
}

void RunTable::set_failed(std::size_t run, std::string error) {
  auto& row = rows_[run];
  row = {.point = std::move(row.point),
         .values = std::move(row.values),
         .state = State::failed,
         .error = std::move(error),
         .result = "",
         .digest = "",
         .figures = {}};
}

void RunTable::set_as(std::size_t run, std::size_t other) {
  auto point = std::move(rows_[run].point);
  auto values = std::move(rows_[run].values);
  rows_[run] = rows_[other];
  rows_[run].point = std::move(point);
  rows_[run].values = std::move(values);
}

std::size_t RunTable::count(State state) const {
  return static_cast<std::size_t>(
      std::count_if(rows_.begin(), rows_.end(), [&](Row const& r) { return r.state == state; }));
}

std::string RunTable::name_of(std::size_t run) const {
  std::string text = shown(rows_[run].point);
  if (!are_named()) text.clear();
  for (std::size_t k = 0; k < keys_.size(); ++k)
    if (is_reported(keys_[k]))
      text += (text.empty() ? "" : ", ") + shown(keys_[k].key) + " = " + shown(rows_[run].values.at(k).text);
  return fmt::format("run {} ({})", run, text);
}

std::uint64_t RunTable::figure_of(Row const& row, std::size_t figure) const {
  for (auto const& [number, value] : row.figures)
    if (number == figure) return value;
  return kNoFigure;
}

// Independent of the order in which the runs ended.
std::vector<std::size_t> RunTable::figures_by_name() const {
  std::vector<std::size_t> all;
  for (auto const& figure : figure_numbers_) {
    bool const taken =
        std::any_of(keys_.begin(), keys_.end(), [&](auto const& k) { return k.key == figure.first; });
    if (!taken) all.push_back(figure.second);
  }
  return all;
}

SweepColumn RunTable::parameter_column(std::size_t key, std::size_t step) const {
  auto kind = ValueKind::count;
  for (auto const& row : rows_) kind = std::max(kind, row.values.at(key).kind);
  SweepColumn column{.name = keys_[key].key,
                     .role = "parameter",
                     .unit = "1",
                     .text = keys_[key].text,
                     .values = {},
                     .varies_with = is_reported(keys_[key]) ? "" : kNameKey};
  std::vector<std::string> texts;
  std::vector<std::uint64_t> counts;
  std::vector<double> numbers;
  for (std::size_t run = 0; run < rows_.size(); run += step) {
    auto const& text = rows_[run].values[key].text;
    if (kind == ValueKind::count)
      counts.push_back(std::stoull(text));
    else if (kind == ValueKind::number)
      numbers.push_back(std::strtod(text.c_str(), nullptr));
    else
      texts.push_back(text);
  }
  if (kind == ValueKind::count)
    column.values = std::move(counts);
  else if (kind == ValueKind::number)
    column.values = std::move(numbers);
  else
    column.values = std::move(texts);
  return column;
}

void RunTable::add_parameters(std::vector<SweepColumn>& columns, bool reported, std::size_t step) const {
  for (std::size_t key = 0; key < keys_.size(); ++key)
    if (is_reported(keys_[key]) == reported && (step == 1 || keys_[key].key != kSeedKey))
      columns.push_back(parameter_column(key, step));
}

results::SweepTable RunTable::table(std::size_t seeds) const {
  results::SweepTable table;
  std::vector<std::string> points, states, errors, results, digests;
  for (auto const& row : rows_) {
    points.push_back(row.point);
    states.emplace_back(kStates[static_cast<std::size_t>(row.state)]);
    errors.push_back(row.error);
    results.push_back(row.result);
    digests.push_back(row.digest);
  }
  auto& columns = table.runs;
  if (are_named())
    columns.push_back({"name", "", "1", "Name of the point in [[sweep.list]]", std::move(points)});
  columns.push_back({"state", "", "1", "State of the run: done, failed or missing", std::move(states)});
  columns.push_back(
      {"error", "", "1", "Why the run failed or has no result, or where it stopped", std::move(errors)});
  columns.push_back(
      {"result", "", "1", "Result file, relative to the folder of the sweep", std::move(results)});
  columns.push_back({"result_digest", "", "1", "Digest of the result", std::move(digests)});
  add_parameters(columns, true, 1);
  for (auto const figure : figures_by_name()) {
    auto const& f = figures_[figure];
    std::vector<std::uint64_t> values;
    for (auto const& row : rows_) values.push_back(figure_of(row, figure));
    columns.push_back(
        {.name = f.name, .role = "figure", .unit = f.unit, .text = f.text, .values = std::move(values)});
  }
  add_parameters(columns, false, 1);
  if (seeds > 1) table.spread = spread(seeds);
  return table;
}

std::vector<SweepColumn> RunTable::spread(std::size_t seeds) const {
  std::vector<SweepColumn> columns;
  if (are_named()) {
    std::vector<std::string> points;
    for (std::size_t first = 0; first < rows_.size(); first += seeds) points.push_back(rows_[first].point);
    columns.push_back({"name", "", "1", "Name of the point in [[sweep.list]]", std::move(points)});
  }
  add_parameters(columns, true, seeds);
  std::vector<std::uint64_t> done;
  for (std::size_t first = 0; first < rows_.size(); first += seeds) {
    auto& n = done.emplace_back();
    for (auto run = first; run < first + seeds; ++run)
      if (rows_[run].state == State::done) ++n;
  }
  columns.push_back({"seeds", "", "1", "Completed runs of the point", std::move(done)});
  for (auto const figure : figures_by_name()) {
    std::vector<double> means;
    std::vector<std::uint64_t> smallest, largest;
    for (std::size_t first = 0; first < rows_.size(); first += seeds) {
      double sum = 0;
      std::uint64_t n = 0, low = kNoFigure, high = 0;
      for (auto run = first; run < first + seeds; ++run) {
        auto const value = figure_of(rows_[run], figure);
        if (value == kNoFigure) continue;
        sum += static_cast<double>(value);
        low = std::min(low, value);
        high = std::max(high, value);
        ++n;
      }
      means.push_back(n == 0 ? std::nan("") : sum / static_cast<double>(n));
      smallest.push_back(low);
      largest.push_back(n == 0 ? kNoFigure : high);
    }
    auto const& f = figures_[figure];
    columns.push_back({.name = f.name + "_mean",
                       .role = "figure",
                       .unit = f.unit,
                       .text = f.text + " (mean over the seeds)",
                       .values = means});
    columns.push_back({.name = f.name + "_smallest",
                       .role = "figure",
                       .unit = f.unit,
                       .text = f.text + " (minimum over the seeds)",
                       .values = smallest});
    columns.push_back({.name = f.name + "_largest",
                       .role = "figure",
                       .unit = f.unit,
                       .text = f.text + " (maximum over the seeds)",
                       .values = largest});
  }
  add_parameters(columns, false, seeds);
  return columns;
}

// "1.3 ms", "1.31 ms (1.3 ms to 1.33 ms, 5 seeds)"
std::string RunTable::end_text(std::size_t run, std::size_t seeds) const {
  auto const end = figure_numbers_.find("end");
  if (end == figure_numbers_.end()) return {};
  std::uint64_t n = 0, low = kNoFigure, high = 0;
  double sum = 0;
  for (auto i = run; i < run + seeds; ++i) {
    auto const value = figure_of(rows_[i], end->second);
    if (value == kNoFigure) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += static_cast<double>(value);
    ++n;
  }
  if (n == 0) return {};
  if (seeds == 1) return time_text(low);
  auto const mean = static_cast<std::uint64_t>(sum / static_cast<double>(n));
  return fmt::format("{} ({} to {})", time_text(mean), time_text(low), time_text(high));
}

std::size_t RunTable::print(std::ostream& out, std::size_t seeds, std::size_t most,
                            std::vector<std::vector<std::string>> const& more) const {
  std::vector<std::vector<std::string>> lines{{}};
  auto const is_column = [&](VariedKey const& key) {
    return is_reported(key) && (seeds == 1 || key.key != kSeedKey);
  };
  if (are_named()) lines[0].emplace_back("name");
  for (auto const& key : keys_)
    if (is_column(key)) lines[0].push_back(shown(key.key));
  lines[0].emplace_back("state");
  lines[0].emplace_back(seeds == 1 ? "end" : "end, mean (min to max)");
  auto const points = rows_.size() / seeds;
  for (std::size_t point = 0; point < std::min(points, most); ++point) {
    auto& line = lines.emplace_back();
    auto const first = point * seeds;
    if (are_named()) line.push_back(shown(rows_[first].point));
    for (std::size_t k = 0; k < keys_.size(); ++k)
      if (is_column(keys_[k])) line.push_back(shown(rows_[first].values[k].text));
    auto const in = [&](State state) {
      return std::count_if(rows_.begin() + static_cast<std::ptrdiff_t>(first),
                           rows_.begin() + static_cast<std::ptrdiff_t>(first + seeds),
                           [&](Row const& r) { return r.state == state; });
    };
    if (seeds == 1)
      line.emplace_back(kStates[static_cast<std::size_t>(rows_[first].state)]);
    else
      line.push_back(fmt::format("{} of {}", in(State::done), seeds));
    line.push_back(end_text(first, seeds));
  }
  auto const added = add_columns(lines, more, kMaxWidth);
  TextLines text;
  for (auto& line : lines) text.add(std::move(line));
  text.print(out);
  if (points > most) out << "  ... and " << points - most << " more\n";
  return added;
}

std::string to_csv(std::string const& dimension, std::vector<SweepColumn> const& columns) {
  auto text = dimension;
  for (auto const& column : columns) text += "," + cell(column.name);
  text += "\n";
  auto const rows = std::visit([](auto const& v) { return v.size(); }, columns.at(0).values);
  for (std::size_t row = 0; row < rows; ++row) {
    text += std::to_string(row);
    for (auto const& column : columns)
      std::visit([&](auto const& values) { text += "," + cell(values[row]); }, column.values);
    text += "\n";
  }
  return text;
}

}  // namespace farfault::cli
