// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <tuple>

#include "farfault/analysis/sweep_pivot.hpp"
#include "farfault/engine/error.hpp"

namespace farfault::analysis {
namespace {

using results::SweepTable;

constexpr std::size_t kMaxCells = 1'000'000;

// Runs with the same values of the other dimensions, by cell.
struct Sheet {
  SweepValues others;
  std::vector<std::vector<std::size_t>> cells;
};

// The sheets, in the order of their first runs. `axes`: dimensions of a sheet, the last one varies fastest.
std::vector<Sheet> sheets_of(std::vector<SweepAxis> const& axes, std::vector<SweepAxis> const& others,
                             std::size_t runs) {
  std::size_t cells = 1;
  for (auto const& axis : axes) cells *= axis.values.size();
  std::map<std::vector<std::size_t>, std::size_t> numbers;
  std::vector<Sheet> sheets;
  for (std::size_t run = 0; run < runs; ++run) {
    std::vector<std::size_t> key;
    for (auto const& axis : others) key.push_back(axis.of_run[run]);
    auto const number = numbers.try_emplace(std::move(key), sheets.size()).first->second;
    if (number == sheets.size()) {
      if ((number + 1) * cells > kMaxCells)
        throw UserError("the combinations of these dimensions have more than " + std::to_string(kMaxCells) +
                        " cells; choose dimensions with fewer values");
      auto& sheet = sheets.emplace_back();
      for (auto const& axis : others) sheet.others.emplace_back(axis.key, axis.values[axis.of_run[run]]);
      sheet.cells.resize(cells);
    }
    std::size_t cell = 0;
    for (auto const& axis : axes) cell = cell * axis.values.size() + axis.of_run[run];
    sheets[number].cells[cell].push_back(run);
  }
  return sheets;
}

std::vector<std::size_t> joined(std::span<std::vector<std::size_t> const> cells, std::size_t first,
                                std::size_t step, std::size_t number) {
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < number; ++i) {
    auto const& cell = cells[first + i * step];
    runs.insert(runs.end(), cell.begin(), cell.end());
  }
  std::ranges::sort(runs);
  return runs;
}

template <class Drawn>
Drawn described(SweepTable const& table, SweepFigure const& figure) {
  Drawn drawn;
  drawn.figure = figure.name;
  drawn.unit = figure.unit;
  drawn.text = figure.text;
  drawn.is_ratio = figure.is_ratio;
  if (figure.is_ratio) drawn.baseline = table.baseline;
  return drawn;
}

// Fills the cells of one table.
class PivotTables {
 public:
  PivotTables(SweepTable const& table, SweepFigure const& figure, SweepAxes const& axes)
      : figure_(figure), axes_(axes), mean_over_(figure.is_ratio ? table.mean_over : std::string()) {}

  SweepPivot::Table made(Sheet const& sheet) const {
    SweepPivot::Table made;
    made.others = sheet.others;
    auto const &x = axes_.asked[0], &y = axes_.asked[1];
    auto const columns = x.values.size(), rows = y.values.size();
    for (std::size_t row = 0; row < rows; ++row) {
      auto& cells = made.cells.emplace_back();
      for (std::size_t column = 0; column < columns; ++column)
        cells.push_back(sweep_mean(figure_, sheet.cells[row * columns + column]));
      if (mean_over_ == x.key)
        made.column_of_means.push_back(mean(x, joined(sheet.cells, row * columns, 1, columns)));
    }
    for (std::size_t column = 0; mean_over_ == y.key && column < columns; ++column)
      made.row_of_means.push_back(mean(y, joined(sheet.cells, column, columns, rows)));
    return made;
  }

  // Means over the dimension `over`, which `sheet` unites.
  SweepPivot::Table means(Sheet const& sheet, SweepAxis const& over) const {
    SweepPivot::Table made;
    made.others = sheet.others;
    made.mean_over = over.key;
    auto const columns = axes_.asked[0].values.size();
    for (std::size_t row = 0; row < axes_.asked[1].values.size(); ++row) {
      auto& cells = made.cells.emplace_back();
      for (std::size_t column = 0; column < columns; ++column)
        cells.push_back(mean(over, sheet.cells[row * columns + column]));
    }
    return made;
  }

  // The dimension of the means, if it is none of the two of a table; else null.
  SweepAxis const* other_dimension() const {
    auto const found = std::ranges::find(axes_.others, mean_over_, &SweepAxis::key);
    return found == axes_.others.end() ? nullptr : &*found;
  }

 private:
  SweepMean mean(SweepAxis const& over, std::vector<std::size_t> const& runs) const {
    return sweep_mean_over(over, axes_.seed, figure_, runs);
  }

  SweepFigure const& figure_;
  SweepAxes const& axes_;
  std::string mean_over_;
};

}  // namespace

SweepPivot sweep_pivot(SweepTable const& table, std::string const& x, std::string const& y,
                       std::string const& name) {
  for (auto const& key : {x, y}) check_sweep_key(table, key, "--pivot");
  if (x == y) throw UserError("--pivot needs two different dimensions, not '" + shown(x) + "' twice");
  auto const figure = sweep_figure(table, name);
  auto axes = sweep_axes(table, {x, y});
  PivotTables const tables(table, figure, axes);
  auto pivot = described<SweepPivot>(table, figure);
  auto const runs = figure.values.size();
  std::vector<SweepAxis> const cells{axes.asked[1], axes.asked[0]};
  for (auto const& sheet : sheets_of(cells, axes.others, runs)) pivot.tables.push_back(tables.made(sheet));
  if (auto const* const over = tables.other_dimension()) {
    std::vector<SweepAxis> others;
    std::ranges::copy_if(axes.others, std::back_inserter(others),
                         [&](SweepAxis const& axis) { return axis.key != over->key; });
    for (auto const& sheet : sheets_of(cells, others, runs))
      pivot.tables.push_back(tables.means(sheet, *over));
  }
  pivot.columns = std::move(axes.asked[0]);
  pivot.rows = std::move(axes.asked[1]);
  return pivot;
}

SweepCurves sweep_curves(SweepTable const& table, std::string const& x, std::string const& name) {
  check_sweep_key(table, x, "key");
  auto const figure = sweep_figure(table, name);
  auto axes = sweep_axes(table, {x});
  auto curves = described<SweepCurves>(table, figure);
  curves.has_means = figure.is_ratio && table.mean_over == x;
  for (auto const& sheet : sheets_of(axes.asked, axes.others, figure.values.size())) {
    auto& line = curves.lines.emplace_back();
    line.others = sheet.others;
    for (auto const& runs : sheet.cells) line.points.push_back(sweep_mean(figure, runs));
    if (curves.has_means)
      line.mean =
          sweep_mean_over(axes.asked[0], axes.seed, figure, joined(sheet.cells, 0, 1, sheet.cells.size()));
  }
  curves.x = std::move(axes.asked[0]);
  return curves;
}

std::string sweep_curve_key(SweepTable const& table) {
  std::string best;
  std::tuple<bool, bool, bool, std::size_t> of_best;
  auto const axes = sweep_axes(table, {});
  auto all = axes.others;
  if (axes.seed) all.push_back(*axes.seed);
  for (auto const& axis : all) {
    if (axis.values.size() < 2) continue;
    bool const is_baseline = (", " + table.baseline).find(", " + axis.key + " = ") != std::string::npos;
    std::tuple const rank(axis.key != kSweepSeed, !is_baseline, !axis.sizes.empty(), axis.values.size());
    if (!best.empty() && rank <= of_best) continue;
    best = axis.key;
    of_best = rank;
  }
  return best;
}

}  // namespace farfault::analysis
