// SPDX-License-Identifier: Apache-2.0
// Speedups of a sweep relative to a baseline, and their means.
#include "farfault/analysis/sweep_ratios.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "farfault/engine/error.hpp"
#include "sweep_tables.hpp"

namespace sweep_ratios_test {

using namespace farfault;
using namespace farfault::analysis;
using namespace sweep_tables;
using results::kNoFigure;
using results::SweepColumn;
using results::SweepTable;

namespace {

using Numbers = std::vector<double>;

SweepBaseline const kDistributed{{{"policy", "distributed"}}, ""};

SweepTable with_ratios(SweepTable table, SweepBaseline const& baseline = kDistributed,
                       std::size_t seeds = 1) {
  add_ratios(table, baseline, seeds);
  return table;
}

Numbers numbers(std::vector<SweepColumn> const& columns, std::string const& name) {
  REQUIRE(find_column(columns, name) != nullptr);
  return std::get<Numbers>(find_column(columns, name)->values);
}
Texts texts(std::vector<SweepColumn> const& columns, std::string const& name) {
  REQUIRE(find_column(columns, name) != nullptr);
  return std::get<Texts>(find_column(columns, name)->values);
}
Texts names(std::vector<SweepColumn> const& columns) {
  Texts all;
  for (auto const& c : columns) all.push_back(c.name);
  return all;
}
// Empty values as -1, which compares equal.
Numbers marked(Numbers values) {
  for (auto& v : values)
    if (std::isnan(v)) v = -1;
  return values;
}

// Two workloads, two policies and two seeds.
SweepTable with_seeds() {
  SweepTable t;
  Texts workloads, policies;
  Counts seeds;
  for (auto const* w : {"bfs", "spmv"})
    for (auto const* p : {"distributed", "bypass"})
      for (std::uint64_t seed : {1, 2}) {
        workloads.emplace_back(w);
        policies.emplace_back(p);
        seeds.push_back(seed);
      }
  t.runs = {{"state", "", "1", "State", Texts(8, "done")},
            parameter("workload", workloads),
            parameter("policy", policies),
            parameter("run.seed", seeds),
            figure("end", "ps", {8, 4, 4, 1, 2, 8, 2, 2})};
  t.spread = {parameter("workload", Texts{"bfs", "bfs", "spmv", "spmv"}),
              {"end_mean", "figure", "ps", "End", Numbers{6, 2.5, 5, 2}}};
  return t;
}

}  // namespace

TEST_CASE("ratios: each run is divided by the run that differs from it only in the keys of the baseline") {
  auto const t = with_ratios(workloads());
  CHECK(t.baseline == "policy = distributed");
  CHECK(numbers(t.runs, "speedup") == Numbers{1, 2, 1, 4, 1, 8});
  CHECK(texts(t.runs, "speedup_error") == Texts(6, ""));
  CHECK(std::get<Counts>(find_column(t.runs, "baseline")->values) == Counts{0, 0, 2, 2, 4, 4});
  CHECK(find_column(t.runs, "speedup")->role == "ratio");
  // Ahead of the figures; the keys of the points stay last.
  CHECK(names(t.runs) == Texts{"name", "state", "policy", "baseline", "speedup", "speedup_error", "end",
                               "walks", "workload.name", "workload.bfs.scale"});
  CHECK(t.means.empty());
}

TEST_CASE("ratios: figures of the baseline have a ratio, a reason and a mean, after the speedup") {
  SweepBaseline const over_names{{{"policy", "distributed"}}, "name", {"walks"}};
  auto t = with_ratios(workloads(), over_names);
  CHECK(names(t.runs) == Texts{"name", "state", "policy", "baseline", "speedup", "speedup_error",
                               "walks_ratio", "walks_ratio_error", "end", "walks", "workload.name",
                               "workload.bfs.scale"});
  CHECK(marked(numbers(t.runs, "walks_ratio")) == Numbers{1, 0.5, -1, -1, 1, -1});
  CHECK(texts(t.runs, "walks_ratio_error")[5] == "walks of run 5 (spmv, bypass) is 0");
  CHECK(names(t.means) ==
        Texts{"policy", "speedup", "speedup_error", "walks_ratio", "walks_ratio_error", "runs"});
  CHECK(numbers(t.means, "speedup") == Numbers{1, 4});
  CHECK(marked(numbers(t.means, "walks_ratio")) == Numbers{-1, -1});
  CHECK(texts(t.means, "walks_ratio_error")[0] == "walks of run 2 (stream, distributed) is 0");
  t = with_ratios(with_seeds(), {{{"policy", "distributed"}}, "", {"end"}}, 2);
  CHECK(numbers(t.spread, "end_ratio_mean") == Numbers{1, std::sqrt(0.125), 1, 0.5});
  CHECK(numbers(t.spread, "end_ratio_smallest") == Numbers{1, 0.25, 1, 0.25});
  CHECK_THROWS_WITH_AS(
      with_ratios(workloads(), {{{"policy", "distributed"}}, "", {"walk"}}),
      "'walk_ratio' is not a figure of this sweep; the columns of sweep.csv have their names", UserError);
}

TEST_CASE("ratios: a named point is the baseline of the runs with the same other keys") {
  auto t = with_ratios(workloads(), {{{"name", "stream"}}, ""});
  CHECK(t.baseline == "name = stream");
  CHECK(numbers(t.runs, "speedup") == Numbers{0.5, 0.25, 1, 1, 0.25, 0.5});
  // A key of the points as the baseline: the other keys of the points must agree, the names need not.
  t = with_ratios(workloads(), {{{"workload.name", "stream"}}, ""});
  CHECK(marked(numbers(t.runs, "speedup")) == Numbers{-1, -1, 1, 1, 0.25, 0.5});
  CHECK(texts(t.runs, "speedup_error")[0] ==
        "no run with workload.name = stream has the other values of run 0 (bfs, distributed)");
}

TEST_CASE("ratios: numbers and quantities of a baseline match equal values in another form") {
  CHECK(is_same_value("8 KiB", "8192 B"));
  CHECK(is_same_value("1", "1.0"));
  CHECK(is_same_value("1 us", "1000ns"));
  CHECK_FALSE(is_same_value("8 KiB", "8 KB"));
  CHECK_FALSE(is_same_value("8", "8 B"));
  CHECK_FALSE(is_same_value("1us", "1 B"));
  CHECK_FALSE(is_same_value("a", "b"));
  SweepTable t;
  t.runs = {{"state", "", "1", "State", Texts(2, "done")},
            parameter("size", Texts{"8 KiB", "16 KiB"}),
            figure("end", "ps", {30, 60})};
  CHECK(numbers(with_ratios(t, {{{"size", "16384B"}}, ""}).runs, "speedup") == Numbers{2, 1});
}

TEST_CASE("ratios: a missing partner, a failed run and a zero give an empty value with its reason") {
  auto table = workloads();
  set(table, "policy", 0, "oracle");  // the partner of run 1
  set(table, "state", 2, "failed");
  set(table, "end", 2, kNoFigure);
  set(table, "state", 5, "missing");
  set(table, "end", 5, kNoFigure);
  auto t = with_ratios(table);
  CHECK(marked(numbers(t.runs, "speedup")) == Numbers{-1, -1, -1, -1, 1, -1});
  CHECK(texts(t.runs, "speedup_error") ==
        Texts{"no run with policy = distributed has the other values of run 0 (bfs, oracle)",
              "no run with policy = distributed has the other values of run 1 (bfs, bypass)",
              "run 2 (stream, distributed) failed",
              "run 2 (stream, distributed), the baseline of run 3 (stream, bypass), failed", "",
              "run 5 (spmv, bypass) is missing"});
  CHECK(std::get<Counts>(find_column(t.runs, "baseline")->values) ==
        Counts{kNoFigure, kNoFigure, 2, 2, 4, 4});

  table = workloads();
  set(table, "end", 1, 0);
  set(table, "end", 2, 0);
  t = with_ratios(table);
  CHECK(marked(numbers(t.runs, "speedup")) == Numbers{1, -1, -1, -1, 1, 8});
  CHECK(texts(t.runs, "speedup_error") ==
        Texts{"", "end of run 1 (bfs, bypass) is 0", "end of run 2 (stream, distributed) is 0",
              "end of run 2 (stream, distributed), the baseline of run 3 (stream, bypass), is 0", "", ""});
}

TEST_CASE("ratios: another figure is divided by that of the baseline") {
  auto const t = with_ratios(workloads());
  auto const walks = sweep_figure(t, "walks_ratio");
  CHECK(walks.is_ratio);
  CHECK(walks.unit == "1");
  CHECK(walks.text == "Figure of the run divided by that of its baseline: A figure");
  CHECK(marked(walks.values) == Numbers{1, 0.5, -1, -1, 1, -1});
  CHECK(walks.reasons ==
        Texts{"", "", "walks of run 2 (stream, distributed) is 0",
              "walks of run 2 (stream, distributed), the baseline of run 3 (stream, bypass), is 0", "",
              "walks of run 5 (spmv, bypass) is 0"});
  CHECK(sweep_figure(t, "walks").values == Numbers{10, 5, 0, 3, 4, 0});
  CHECK(main_figure(t) == "speedup");
  CHECK(main_figure(workloads()) == "end");
  auto const error = [](SweepTable const& table, std::string const& name) {
    try {
      sweep_figure(table, name);
    } catch (UserError const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(error(t, "walk") == "'walk' is not a figure of this sweep; did you mean 'walks'?");
  CHECK(error(t, "walk_ratio").starts_with("'walk_ratio' is not a figure of this sweep"));
  CHECK(error(t, "gpu.l2_tlb.entries") ==
        "'gpu.l2_tlb.entries' is not a figure of this sweep; the columns of sweep.csv have their names");
  CHECK(error(workloads(), "speedup") ==
        "figure 'speedup' needs a baseline; set sweep.baseline in the study");
}

TEST_CASE("ratios: the geometric mean is over all values of its dimension, or empty with a reason") {
  SweepBaseline const over_names{{{"policy", "distributed"}}, "name"};
  auto t = with_ratios(workloads(), over_names);
  CHECK(t.mean_over == "name");
  CHECK(names(t.means) == Texts{"policy", "speedup", "speedup_error", "runs"});
  CHECK(texts(t.means, "policy") == Texts{"distributed", "bypass"});
  CHECK(numbers(t.means, "speedup") == Numbers{1, 4});  // of 2, 4 and 8
  CHECK(std::get<Counts>(find_column(t.means, "runs")->values) == Counts{3, 3});

  auto failed = workloads();
  set(failed, "state", 3, "failed");
  set(failed, "end", 3, kNoFigure);
  t = with_ratios(failed, over_names);
  CHECK(marked(numbers(t.means, "speedup")) == Numbers{1, -1});
  CHECK(texts(t.means, "speedup_error") == Texts{"", "run 3 (stream, bypass) failed"});

  // A list without the last combination.
  auto hole = workloads();
  for (auto& column : hole.runs) std::visit([](auto& values) { values.pop_back(); }, column.values);
  t = with_ratios(hole, over_names);
  CHECK(marked(numbers(t.means, "speedup")) == Numbers{1, -1});
  CHECK(texts(t.means, "speedup_error") == Texts{"", "no run has name = spmv"});

  // A key of the points: keys that follow from it form no groups.
  t = with_ratios(workloads(), {{{"policy", "distributed"}}, "workload.name"});
  CHECK(names(t.means) == Texts{"policy", "speedup", "speedup_error", "runs"});
  CHECK(numbers(t.means, "speedup") == Numbers{1, 4});
}

TEST_CASE(
    "ratios: over seeds, runs are compared with runs of their seed, and the range is that of the seeds") {
  SweepBaseline const over_workloads{{{"policy", "distributed"}}, "workload"};
  auto t = with_ratios(with_seeds(), over_workloads, 2);
  CHECK(numbers(t.runs, "speedup") == Numbers{1, 1, 2, 4, 1, 1, 1, 4});
  CHECK(names(t.spread) == Texts{"workload", "speedup_mean", "speedup_smallest", "speedup_largest",
                                 "speedup_error", "end_mean"});
  CHECK(numbers(t.spread, "speedup_mean") == Numbers{1, std::sqrt(8.0), 1, 2});
  CHECK(numbers(t.spread, "speedup_smallest") == Numbers{1, 2, 1, 1});
  CHECK(numbers(t.spread, "speedup_largest") == Numbers{1, 4, 1, 4});
  // Per seed: the means of 2 and 1, and of 4 and 4.
  CHECK(names(t.means) ==
        Texts{"policy", "speedup", "speedup_smallest", "speedup_largest", "speedup_error", "runs"});
  CHECK(numbers(t.means, "speedup_smallest") == Numbers{1, std::sqrt(2.0)});
  CHECK(numbers(t.means, "speedup_largest") == Numbers{1, 4});
  CHECK(numbers(t.means, "speedup")[1] == doctest::Approx(std::pow(32, 0.25)));

  // One seed of a point fails: its mean and the mean over the workloads are empty.
  auto failed = with_seeds();
  set(failed, "state", 7, "failed");
  set(failed, "end", 7, kNoFigure);
  t = with_ratios(failed, over_workloads, 2);
  CHECK(marked(numbers(t.spread, "speedup_mean")) == Numbers{1, std::sqrt(8.0), 1, -1});
  CHECK(marked(numbers(t.spread, "speedup_largest"))[3] == -1);
  CHECK(texts(t.spread, "speedup_error") == Texts{"", "", "", "run 7 (spmv, bypass, seed 2) failed"});
  CHECK(marked(numbers(t.means, "speedup")) == Numbers{1, -1});
  CHECK(texts(t.means, "speedup_error") == Texts{"", "run 7 (spmv, bypass, seed 2) failed"});
}

TEST_CASE("ratios: means of ratios are geometric and exact where they can be, other means are arithmetic") {
  SweepFigure f{"x", "1", "", true, {}, {}};
  auto const mean_of = [&](Numbers values) {
    std::vector<std::size_t> runs;
    for (std::size_t i = 0; i < values.size(); ++i) runs.push_back(i);
    f.reasons.assign(values.size(), "");
    f.values = std::move(values);
    return sweep_mean(f, runs);
  };
  CHECK(mean_of({2, 8}).mean == 4);
  CHECK(mean_of({3, 3, 3}).mean == 3);
  CHECK(mean_of({0.25, 4}).mean == 1);
  CHECK(mean_of({0.3}).mean == 0.3);
  CHECK(mean_of({1e-300, 1e300}).mean == 1);
  CHECK(mean_of(Numbers(1000, 1.1)).mean == 1.1);
  CHECK(mean_of({1.5, 2.5, 0.7, 1.01}).mean == doctest::Approx(1.27604).epsilon(1e-5));
  CHECK(mean_of({2, 8, 4}).smallest == 2);
  CHECK(mean_of({2, 8, 4}).largest == 8);
  f.is_ratio = false;
  CHECK(mean_of({2, 8, 5}).mean == 5);
  CHECK(mean_of({}).reason == "the study has no such run");
  CHECK(std::isnan(mean_of({}).mean));
}

TEST_CASE("axes: values are ordered by size, and keys that follow from others are omitted") {
  SweepTable t;
  t.runs = {parameter("size", Texts{"1 MiB", "64 KiB", "1 MiB", "64 KiB"}),
            parameter("follows", Texts{"large", "small", "large", "small"}),
            parameter("constant", Texts(4, "x")), parameter("policy", Texts{"b", "b", "a", "a"}),
            parameter("run.seed", Counts{1, 1, 1, 1})};
  auto const axes = sweep_axes(t, {"size"});
  REQUIRE(axes.asked.size() == 1);
  CHECK(axes.asked[0].values == Texts{"64 KiB", "1 MiB"});
  CHECK(axes.asked[0].sizes == Numbers{65536, 1048576});
  CHECK(axes.asked[0].of_run == std::vector<std::size_t>{1, 0, 1, 0});
  REQUIRE(axes.others.size() == 1);
  CHECK(axes.others[0].key == "policy");
  CHECK(axes.others[0].values == Texts{"b", "a"});
  CHECK(axes.others[0].sizes.empty());
  CHECK(axes.seed->key == "run.seed");
  // The name stands for the keys of the points, unless one of them is asked for.
  auto const keys_of = [](SweepAxes const& found) {
    Texts keys;
    for (auto const& axis : found.others) keys.push_back(axis.key);
    return keys;
  };
  CHECK(keys_of(sweep_axes(workloads(), {})) == Texts{"name", "policy"});
  CHECK(keys_of(sweep_axes(workloads(), {"policy"})) == Texts{"name"});
  CHECK(keys_of(sweep_axes(workloads(), {"workload.name"})) == Texts{"policy"});
  CHECK(keys_of(sweep_axes(workloads(), {"workload.bfs.scale"})) == Texts{"policy", "workload.name"});
  CHECK(sweep_keys(workloads()) == Texts{"name", "policy", "workload.name", "workload.bfs.scale"});
  CHECK_THROWS_WITH_AS(check_sweep_key(workloads(), "polic", "--pivot"),
                       "--pivot 'polic' does not vary in this study; did you mean 'policy'?", UserError);
  CHECK_THROWS_WITH_AS(
      check_sweep_key(workloads(), "gpu.l2_tlb.associativity", "--pivot"),
      "--pivot 'gpu.l2_tlb.associativity' does not vary in this study; its dimensions are: name, "
      "policy",
      UserError);
}

}  // namespace sweep_ratios_test
