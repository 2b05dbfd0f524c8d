// SPDX-License-Identifier: Apache-2.0
// The table of a sweep, and the data that a sweep reads of a result.
#include "farfault/results/sweep.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "farfault/engine/error.hpp"
#include "farfault/results/reading/handle.hpp"
#include "farfault/results/reading/walk.hpp"
#include "sample.hpp"
#include "scratch.hpp"
#include "writing/layout.hpp"

namespace sweep_test {

using namespace farfault;
using namespace farfault::results;

namespace {

SweepTable table() {
  SweepTable t;
  t.runs = {
      {"state", "", "1", "The result.", std::vector<std::string>{"done", "failed", "missing"}},
      {"error", "", "1", "Why it failed.", std::vector<std::string>{"", "no memory, \u00e9", ""}},
      {"gpu.l2_tlb.entries", "parameter", "1", "Entries.", std::vector<std::uint64_t>{64, 128, 256}},
      {"gpu.share", "parameter", "1", "Share.", std::vector<double>{0.5, 1, 2}},
      {"end", "figure", "ps", "End.", std::vector<std::uint64_t>{1500, kNoFigure, kNoFigure}},
  };
  return t;
}

std::string content(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string error_of(std::string const& path) {
  try {
    read_sweep(path);
  } catch (UserError const& e) {
    return e.what();
  }
  return "read";
}

}  // namespace

TEST_CASE("sweep table: columns have the dimension scale run, their role, units and missing values") {
  Scratch dir;
  write_sweep(dir / "sweep.h5", table());
  CHECK(looks_like_sweep(dir / "sweep.h5"));
  Handle const file(H5Fopen((dir / "sweep.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "no file");
  Handle const root(H5Gopen2(file, "/", H5P_DEFAULT), "no root");
  CHECK(text_attribute(root, "kind") == "sweep");
  CHECK(text_attribute(root, "title") == "Farfault sweep: 3 runs, gpu.l2_tlb.entries and gpu.share vary");
  CHECK(text_attribute(root, "comment").starts_with("Groups: runs (a row per run"));
  CHECK(text_attribute(root, "farfault_version") == FARFAULT_VERSION);
  CHECK(text_attribute(root, "Conventions") == "CF-1.10");
  Handle const runs(H5Gopen2(file, "runs", H5P_DEFAULT), "no runs");
  CHECK(link_names(runs) ==
        std::vector<std::string>{"end", "error", "gpu.l2_tlb.entries", "gpu.share", "run", "state"});
  Handle const end(H5Dopen2(runs, "end", H5P_DEFAULT), "no end");
  CHECK(text_attribute(end, "role") == "figure");
  CHECK(text_attribute(end, "units") == "ps");
  CHECK(H5Aexists(end, "_FillValue") > 0);
  CHECK(H5Aexists(end, "DIMENSION_LIST") > 0);
  auto const shape = shape_of_dataset(end);
  CHECK(read_words(end, shape, 0, 3) == std::vector<std::uint64_t>{1500, kNoFigure, kNoFigure});
  Handle const entries(H5Dopen2(runs, "gpu.l2_tlb.entries", H5P_DEFAULT), "no entries");
  CHECK(text_attribute(entries, "role") == "parameter");
  CHECK(H5Aexists(entries, "_FillValue") == 0);
  CHECK(has(file, "spread") == false);
}

TEST_CASE("sweep table: its description is readable, and equal tables are equal files") {
  Scratch dir;
  write_sweep(dir / "a.h5", table());
  write_sweep(dir / "b.h5", table());
  CHECK(content(dir / "a.h5") == content(dir / "b.h5"));
  auto const json = nlohmann::json::parse(to_json(read_sweep(dir / "a.h5")));
  CHECK(json["kind"] == "sweep");
  CHECK(json["runs"] == 3);
  CHECK(json["done"] == 1);
  CHECK(json["failed"] == 1);
  CHECK(json["missing"] == 1);
  CHECK(json["parameters"] == std::vector<std::string>{"gpu.l2_tlb.entries", "gpu.share"});
  CHECK(json["figures"] == 1);
}

TEST_CASE("sweep table: it is read with its baseline, the requested figures and the columns in order") {
  Scratch dir;
  SweepTable t;
  t.runs = {{"state", "", "1", "State.", std::vector<std::string>{"done", "done", "failed"}},
            {"name", "", "1", "Name.", std::vector<std::string>{"a", "a", "b"}},
            {"a.fast", "parameter", "1", "Fast.", std::vector<std::uint64_t>{1, 2, 1}},
            {"b.slow", "parameter", "1", "Slow.", std::vector<double>{0.5, 0.5, 2}, "name"},
            {"speedup", "ratio", "1", "Speedup.", std::vector<double>{1, 0.25, std::nan("")}},
            {"end", "figure", "ps", "End.", std::vector<std::uint64_t>{10, 40, kNoFigure}},
            {"other", "figure", "1", "Other.", std::vector<std::uint64_t>{1, 2, 3}}};
  t.means = {{"speedup", "ratio", "1", "Mean.", std::vector<double>{0.5}}};
  t.baseline = "a.fast = 1";
  t.mean_over = "name";
  write_sweep(dir / "sweep.h5", t);
  auto const read = read_sweep_table(dir / "sweep.h5", {"end", "none"});
  CHECK(read.baseline == "a.fast = 1");
  CHECK(read.mean_over == "name");
  std::vector<std::string> names;
  for (auto const& column : read.runs) names.push_back(column.name);
  CHECK(names == std::vector<std::string>{"name", "state", "b.slow", "a.fast", "speedup", "end"});
  CHECK(read.runs[2].varies_with == "name");
  CHECK(read.runs[3].varies_with == "");
  CHECK(read.runs[3].role == "parameter");
  CHECK(std::get<std::vector<std::string>>(read.runs[0].values) == std::vector<std::string>{"a", "a", "b"});
  CHECK(std::get<std::vector<double>>(read.runs[2].values) == std::vector<double>{0.5, 0.5, 2});
  auto const speedups = std::get<std::vector<double>>(read.runs[4].values);
  CHECK(speedups[1] == 0.25);
  CHECK(std::isnan(speedups[2]));
  CHECK(std::get<std::vector<std::uint64_t>>(read.runs[5].values) ==
        std::vector<std::uint64_t>{10, 40, kNoFigure});
  CHECK(read.runs[5].unit == "ps");
  CHECK(read.runs[5].text == "End.");
  REQUIRE(read.means.size() == 1);
  CHECK(std::get<std::vector<double>>(read.means[0].values) == std::vector<double>{0.5});
  write_sweep(dir / "plain.h5", table());
  CHECK(read_sweep_table(dir / "plain.h5", {}).baseline.empty());
  CHECK(read_sweep_table(dir / "plain.h5", {}).means.empty());
  sample::write(dir / "run.h5");
  CHECK_THROWS_AS(read_sweep_table(dir / "run.h5", {}), UserError);
}

TEST_CASE("sweep table: a new table replaces the previous one completely or not at all") {
  Scratch dir;
  write_sweep(dir / "sweep.h5", table());
  auto larger = table();
  larger.spread = {{"seeds", "", "1", "Runs.", std::vector<std::uint64_t>{3}}};
  write_sweep(dir / "sweep.h5", larger);
  CHECK(read_sweep(dir / "sweep.h5").runs == 3);
  CHECK_FALSE(std::filesystem::exists(dir / "sweep.h5.partial"));
  auto const before = content(dir / "sweep.h5");
  std::filesystem::create_symlink("/dev/full", dir / "sweep.h5.partial");
  CHECK_THROWS_AS(write_sweep(dir / "sweep.h5", table()), UserError);
  CHECK(content(dir / "sweep.h5") == before);
}

TEST_CASE("sweep table: a result, a damaged file and a text are each rejected in one sentence") {
  Scratch dir;
  sample::write(dir / "run.h5");
  CHECK_FALSE(looks_like_sweep(dir / "run.h5"));
  CHECK(error_of(dir / "run.h5").find("it is not the table of a sweep") != std::string::npos);
  write_sweep(dir / "sweep.h5", table());
  std::filesystem::resize_file(dir / "sweep.h5", std::filesystem::file_size(dir / "sweep.h5") / 2);
  CHECK_FALSE(looks_like_sweep(dir / "sweep.h5"));
  CHECK(error_of(dir / "sweep.h5").find("damaged or not a Farfault result") != std::string::npos);
  CHECK_FALSE(looks_like_sweep(dir / "none.h5"));
}

TEST_CASE("a run of a sweep is read with its inputs and its end") {
  Scratch dir;
  sample::write(dir / "run.h5");
  auto const run = read_swept_run(dir / "run.h5");
  CHECK(run.farfault_version == FARFAULT_VERSION);
  CHECK(run.end_reason == "completed");
  CHECK(run.result_digest.size() == 32);
  CHECK(run.config == "[gpu.l2_tlb]\nentries = 512\nlatency = \"10 ns\"\n");
  CHECK(run.commit == "");
  REQUIRE(run.inputs.size() == 1);
  CHECK(run.inputs[0].parameter == "workload.bfs.graph");
  CHECK(run.inputs[0].bytes == 1234);
  CHECK(run.inputs[0].hash == "00ff");
  for (auto const& figure : run.figures) CHECK(figure.scope == "machine");
  CHECK(run.figures.at(0).metric == "instructions");
}

TEST_CASE("names of input files do not distinguish configurations, other parameters do") {
  std::string const a = "[workload]\nname = \"bfs\"\n\n[workload.bfs]\ngraph = \"a.graph\"\nscale = 3\n",
                    b = "[workload]\nname = \"bfs\"\n\n[workload.bfs]\ngraph = \"b.graph\"\nscale = 3\n";
  std::vector<std::string> const file{"workload.bfs.graph"};
  CHECK(without_file_names(a, file) == without_file_names(b, file));
  CHECK(without_file_names(a, {}) != without_file_names(b, {}));
  CHECK(without_file_names(a, file).find("scale = 3") != std::string::npos);
}

}  // namespace sweep_test
