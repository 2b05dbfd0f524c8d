// SPDX-License-Identifier: Apache-2.0
// Two dimensions of a sweep, and a figure over one key.
#include "farfault/analysis/sweep_pivot.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "farfault/engine/error.hpp"
#include "sweep_tables.hpp"

namespace sweep_pivot_test {

using namespace farfault;
using namespace farfault::analysis;
using namespace sweep_tables;
using results::SweepTable;

namespace {

using Numbers = std::vector<double>;

SweepTable relative(SweepTable table, std::string const& mean_over) {
  add_ratios(table, {{{"policy", "distributed"}}, mean_over}, 1);
  return table;
}

// Empty means as -1.
Numbers means(std::vector<SweepMean> const& all) {
  Numbers values;
  for (auto const& mean : all) values.push_back(mean.is_empty() ? -1 : mean.mean);
  return values;
}
std::vector<Numbers> cells(SweepPivot::Table const& table) {
  std::vector<Numbers> all;
  for (auto const& row : table.cells) all.push_back(means(row));
  return all;
}

// Three keys, and no runs of policy a with 256 entries.
SweepTable with_holes() {
  SweepTable t;
  t.runs = {{"state", "", "1", "State", Texts(5, "done")},
            parameter("policy", Texts{"b", "b", "a", "b", "a"}),
            parameter("entries", Counts{256, 64, 64, 64, 64}),
            parameter("size", Texts{"1 MiB", "1 MiB", "1 MiB", "64 KiB", "64 KiB"}),
            figure("end", "ps", {10, 20, 30, 40, 50})};
  return t;
}

std::string error_of(SweepTable const& table, std::string const& x, std::string const& y,
                     std::string const& figure) {
  try {
    sweep_pivot(table, x, y, figure);
  } catch (UserError const& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("pivot: two dimensions are columns and rows, with the mean of a ratio over its dimension") {
  auto p = sweep_pivot(relative(workloads(), "name"), "policy", "name", "speedup");
  CHECK(p.columns.key == "policy");
  CHECK(p.columns.values == Texts{"distributed", "bypass"});
  CHECK(p.rows.values == Texts{"bfs", "stream", "spmv"});
  CHECK(p.baseline == "policy = distributed");
  REQUIRE(p.tables.size() == 1);
  CHECK(p.tables[0].others.empty());
  CHECK(cells(p.tables[0]) == std::vector<Numbers>{{1, 2}, {1, 4}, {1, 8}});
  CHECK(means(p.tables[0].row_of_means) == Numbers{1, 4});
  CHECK(p.tables[0].column_of_means.empty());

  p = sweep_pivot(relative(workloads(), "name"), "name", "policy", "speedup");
  CHECK(cells(p.tables[0]) == std::vector<Numbers>{{1, 1, 1}, {2, 4, 8}});
  CHECK(means(p.tables[0].column_of_means) == Numbers{1, 4});
  CHECK(p.tables[0].row_of_means.empty());

  // Other figures have no such mean.
  p = sweep_pivot(relative(workloads(), "name"), "policy", "name", "end");
  CHECK(cells(p.tables[0]) == std::vector<Numbers>{{8000, 4000}, {4000, 1000}, {16000, 2000}});
  CHECK(p.unit == "ps");
  CHECK(p.tables[0].row_of_means.empty());
}

TEST_CASE("pivot: a combination without runs is an empty cell, and further keys give further tables") {
  auto const p = sweep_pivot(with_holes(), "entries", "policy", "end");
  CHECK(p.columns.values == Texts{"64", "256"});
  CHECK(p.rows.values == Texts{"b", "a"});
  REQUIRE(p.tables.size() == 2);
  CHECK(p.tables[0].others == SweepValues{{"size", "1 MiB"}});
  CHECK(cells(p.tables[0]) == std::vector<Numbers>{{20, 10}, {30, -1}});
  CHECK(p.tables[0].cells[1][1].runs == 0);
  CHECK(p.tables[0].cells[1][1].reason == "the study has no such run");
  CHECK(p.tables[1].others == SweepValues{{"size", "64 KiB"}});
  CHECK(cells(p.tables[1]) == std::vector<Numbers>{{40, -1}, {50, -1}});
}

TEST_CASE("pivot: a mean over a further dimension is a table of its own, strict about holes") {
  auto table = with_holes();
  table.runs[1] = parameter("policy", Texts{"distributed", "distributed", "a", "distributed", "a"});
  auto const p = sweep_pivot(relative(table, "size"), "entries", "policy", "speedup");
  REQUIRE(p.tables.size() == 3);
  CHECK(p.tables[2].mean_over == "size");
  CHECK(p.tables[2].others.empty());
  auto const all = cells(p.tables[2]);
  CHECK(all[0] == Numbers{1, -1});
  CHECK(all[1][0] == doctest::Approx(std::sqrt(2.0 / 3 * 0.8)));
  CHECK(p.tables[2].cells[0][1].reason == "no run has size = 64 KiB");
}

TEST_CASE("pivot: runs that differ only in their seeds are one cell with its range, or empty") {
  SweepTable t;
  t.runs = {{"state", "", "1", "State", Texts{"done", "done", "done", "failed"}},
            parameter("policy", Texts{"b", "b", "a", "a"}),
            parameter("entries", Counts{64, 64, 64, 64}),
            parameter("run.seed", Counts{1, 2, 1, 2}),
            figure("end", "ps", {10, 30, 5, results::kNoFigure})};
  auto const p = sweep_pivot(t, "entries", "policy", "end");
  auto const& cell = p.tables.at(0).cells[0][0];
  CHECK(cell.mean == 20);
  CHECK(cell.smallest == 10);
  CHECK(cell.largest == 30);
  CHECK(cell.runs == 2);
  CHECK(p.tables[0].cells[1][0].reason == "run 3 (stream, bypass) failed");
  CHECK(cells(sweep_pivot(t, "run.seed", "policy", "end").tables.at(0)) ==
        std::vector<Numbers>{{10, 30}, {5, -1}});
}

TEST_CASE("pivot: as JSON, an empty cell is null with its reason") {
  auto table = workloads();
  set(table, "state", 5, "failed");
  set(table, "end", 5, results::kNoFigure);
  auto const json =
      nlohmann::json::parse(to_json(sweep_pivot(relative(table, "name"), "policy", "name", "speedup")));
  CHECK(json["kind"] == "pivot");
  CHECK(json["figure"] == "speedup");
  CHECK(json["units"] == "1");
  CHECK(json["baseline"] == "policy = distributed");
  CHECK(json["columns"] == nlohmann::json{{"key", "policy"}, {"values", {"distributed", "bypass"}}});
  CHECK(json["rows"]["values"] == Texts{"bfs", "stream", "spmv"});
  auto const& only = json["tables"][0];
  CHECK(only["cells"][1][1] ==
        nlohmann::json{{"value", 4.0}, {"smallest", 4.0}, {"largest", 4.0}, {"runs", 1}});
  CHECK(only["cells"][2][1] ==
        nlohmann::json{{"value", nullptr}, {"runs", 1}, {"reason", "run 5 (spmv, bypass) failed"}});
  CHECK(only["row_of_means"][0]["value"] == 1.0);
  CHECK(only["row_of_means"][1]["reason"] == "run 5 (spmv, bypass) failed");
  CHECK(only["others"] == nlohmann::json::object());
}

TEST_CASE("pivot: a wrong key or figure, and too many cells, are each one sentence") {
  CHECK(error_of(workloads(), "policy", "polic", "end") ==
        "--pivot 'polic' does not vary in this study; did you mean 'policy'?");
  CHECK(error_of(workloads(), "name", "name", "end") ==
        "--pivot needs two different dimensions, not 'name' twice");
  CHECK(error_of(workloads(), "name", "policy", "ends") ==
        "'ends' is not a figure of this sweep; did you mean 'end'?");
  SweepTable large;
  Counts numbers;
  for (std::uint64_t i = 0; i < 1001; ++i) numbers.push_back(i);
  large.runs = {{"state", "", "1", "State", Texts(1001, "done")},
                parameter("x", numbers),
                parameter("y", numbers),
                figure("end", "ps", numbers)};
  CHECK(error_of(large, "x", "y", "end") ==
        "the combinations of these dimensions have more than 1000000 cells; choose dimensions with fewer "
        "values");
}

TEST_CASE("curves: a figure over a key has a line for each combination of the other keys") {
  auto const c = sweep_curves(with_holes(), "size", "end");
  CHECK(c.x.values == Texts{"64 KiB", "1 MiB"});
  REQUIRE(c.lines.size() == 3);
  CHECK(c.lines[0].others == SweepValues{{"policy", "b"}, {"entries", "256"}});
  CHECK(means(c.lines[0].points) == Numbers{-1, 10});
  CHECK(means(c.lines[1].points) == Numbers{40, 20});
  CHECK(means(c.lines[2].points) == Numbers{50, 30});
  CHECK_FALSE(c.has_means);
  CHECK(short_text(c.lines[0].others) == "b, entries 256");
  CHECK(short_text({{"a.size", "64 KiB"}, {"b", ""}, {"c.policy", "x"}}) == "size 64 KiB, x");

  auto const over_names = sweep_curves(relative(workloads(), "name"), "name", "speedup");
  CHECK(over_names.has_means);
  REQUIRE(over_names.lines.size() == 2);
  CHECK(means(over_names.lines[1].points) == Numbers{2, 4, 8});
  CHECK(over_names.lines[1].mean.mean == 4);
}

TEST_CASE("curves: sizes come before texts, and keys of the baseline and seeds last") {
  CHECK(sweep_curve_key(with_holes()) == "entries");
  CHECK(sweep_curve_key(workloads()) == "name");
  CHECK(sweep_curve_key(relative(workloads(), "")) == "name");
  SweepTable t;
  t.runs = {parameter("policy", Texts{"distributed", "x", "y"}), parameter("run.seed", Counts{1, 2, 3})};
  CHECK(sweep_curve_key(t) == "policy");
  t.runs.erase(t.runs.begin());
  CHECK(sweep_curve_key(t) == "run.seed");
  t.runs[0] = parameter("run.seed", Counts{1});
  CHECK(sweep_curve_key(t).empty());
}

}  // namespace sweep_pivot_test
