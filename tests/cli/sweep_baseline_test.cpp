// SPDX-License-Identifier: Apache-2.0
// `farfault sweep` with a baseline: speedups, mean speedups and two dimensions on the terminal.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "capture.hpp"
#include "small_study.hpp"

namespace sweep_baseline_test {

namespace fs = std::filesystem;
using namespace farfault;
using namespace farfault::cli;

namespace {

constexpr char const* kGrid =
    "baseline = { gpu.dram.controller_latency = \"5ns\" }\n"
    "mean_over = \"workload.stream.bytes\"\n"
    "[sweep.grid]\n"
    "gpu.dram.controller_latency = [\"5 ns\", \"500 ns\"]\n"
    "workload.stream.bytes = [\"8 KiB\", \"16 KiB\"]\n";

std::vector<double> numbers(std::vector<std::string> const& cells) {
  std::vector<double> all;
  for (auto const& cell : cells) all.push_back(cell.empty() ? -1 : std::stod(cell));
  return all;
}

// The cells of a CSV in the folder of the sweep, without its heading.
std::vector<Words> rows_of(SmallStudy const& s, std::string const& file) {
  auto const lines = lines_of(content(s.out / file));
  std::vector<Words> rows;
  for (std::size_t line = 1; line < lines.size(); ++line) rows.push_back(cells_of(lines[line]));
  return rows;
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("sweep: with a baseline, the table has the speedup of each run over its partner, and the means") {
  SmallStudy const s("baseline", kGrid);
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(
      lines_of(s.csv())[0].starts_with("run,state,error,result,result_digest,gpu.dram.controller_latency,"
                                       "workload.stream.bytes,baseline,speedup,"
                                       "speedup_error,"));
  CHECK(s.column("baseline") == Words{"0", "1", "0", "1"});
  auto const ends = numbers(s.column("end")), speedups = numbers(s.column("speedup"));
  CHECK(speedups == std::vector<double>{1, 1, ends[0] / ends[2], ends[1] / ends[3]});
  CHECK(speedups[2] < 1);
  CHECK(s.column("speedup_error") == Words{"", "", "", ""});
  auto const means = rows_of(s, "sweep_means.csv");
  CHECK(lines_of(content(s.out / "sweep_means.csv"))[0] ==
        "group,gpu.dram.controller_latency,speedup,speedup_error,runs");
  REQUIRE(means.size() == 2);
  CHECK(means[0] == Words{"0", "5 ns", "1", "", "2"});
  CHECK(std::stod(means[1][2]) == doctest::Approx(std::sqrt(speedups[2] * speedups[3])));
  auto const lines = lines_of(r.out);
  CHECK(has(lines[1], "  end"));
  CHECK(lines[1].ends_with("  speedup"));
  CHECK(lines[2].ends_with("  1.000"));
  CHECK(lines[6] == "  speedup   vs. gpu.dram.controller_latency = 5ns");
  CHECK(lines[7] == "  geometric mean over workload.stream.bytes");
  CHECK(lines[8] == "  gpu.dram.controller_latency  speedup");
  CHECK(lines[9] == "  5 ns                         1.000");
  // A study without baseline has no such columns and no table of means.
  s.write("[sweep.grid]\ngpu.dram.controller_latency = [\"5 ns\"]\n");
  REQUIRE(s.sweep().code == 0);
  CHECK_FALSE(has(s.csv(), "speedup"));
  CHECK_FALSE(fs::exists(s.out / "sweep_means.csv"));
}

TEST_CASE("sweep: a failed baseline empties the speedups of its partners and their mean, with the reason") {
  SmallStudy const s("failed_baseline",
                     "baseline = \"fast\"\nmean_over = \"workload.stream.bytes\"\n"
                     "[[sweep.list]]\nname = \"fast\"\n"
                     "[[sweep.list]]\nname = \"slow\"\ngpu.dram.controller_latency = \"500 ns\"\n"
                     "[sweep.grid]\nworkload.stream.bytes = [\"8 KiB\", \"512 GiB\"]\n");
  auto const r = s.sweep({"--set", "limits.model=1GiB", "--set", "memory.placement=contiguous"});
  CHECK(r.code == 1);
  CHECK(s.column("state") == Words{"done", "failed", "done", "failed"});
  auto const speedups = numbers(s.column("speedup"));
  CHECK(speedups[0] == 1);
  CHECK(speedups[1] == -1);
  CHECK(speedups[2] < 1);
  CHECK(speedups[3] == -1);
  CHECK(s.column("speedup_error") ==
        Words{"", "run 1 (fast, bytes 512 GiB) failed", "", "run 3 (slow, bytes 512 GiB) failed"});
  CHECK(has(r.out, "  no speedup: fast, bytes 512 GiB: run 1 (fast, bytes 512 GiB) failed\n"));
  CHECK(rows_of(s, "sweep_means.csv") ==
        std::vector<Words>{{"0", "fast", "", "run 1 (fast, bytes 512 GiB) failed", "2"},
                           {"1", "slow", "", "run 3 (slow, bytes 512 GiB) failed", "2"}});
  CHECK(has(r.out, "  fast  -        run 1 (fast, bytes 512 GiB) failed\n"));
}

TEST_CASE("sweep: with seeds, the spread has the mean speedup of runs with equal seeds") {
  SmallStudy const s("baseline_seeds",
                     "seeds = 2\nbaseline = { gpu.dram.controller_latency = \"5 ns\" }\n"
                     "[sweep.grid]\nworkload.name = [\"bfs\"]\nworkload.bfs.rmat.scale = [6]\n"
                     "gpu.dram.controller_latency = [\"5 ns\", \"500 ns\"]\n");
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  auto const ends = numbers(s.column("end")), speedups = numbers(s.column("speedup"));
  CHECK(speedups == std::vector<double>{1, 1, ends[0] / ends[2], ends[1] / ends[3]});
  auto const heading = lines_of(content(s.out / "sweep_spread.csv"))[0];
  CHECK(heading.starts_with(
      "point,workload.name,workload.bfs.rmat.scale,gpu.dram.controller_latency,seeds,speedup_mean,"
      "speedup_smallest,speedup_largest,speedup_error,"));
  auto const point = rows_of(s, "sweep_spread.csv").at(1);
  CHECK(std::stod(point[5]) == doctest::Approx(std::sqrt(speedups[2] * speedups[3])));
  CHECK(std::stod(point[6]) == std::min(speedups[2], speedups[3]));
  CHECK(std::stod(point[7]) == std::max(speedups[2], speedups[3]));
  CHECK(lines_of(r.out)[1].ends_with("  speedup, mean (min to max)"));
}

TEST_CASE("sweep: --pivot prints two dimensions, by default the speedup, or another figure, also as JSON") {
  SmallStudy const s("pivot", kGrid);
  auto r = s.sweep({"--pivot", "gpu.dram.controller_latency", "workload.stream.bytes"});
  CHECK_MESSAGE(r.code == 0, r.err);
  auto const lines = lines_of(r.out);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "  4 runs: 4 completed, 0 cached, 0 failed, 0 missing");
  CHECK(lines[1] == "  speedup vs. gpu.dram.controller_latency = 5ns; columns: gpu.dram.controller_latency");
  CHECK(lines[2] == "  workload.stream.bytes  5 ns   500 ns");
  CHECK(lines[3].starts_with("  8 KiB                  1.000  0."));
  CHECK(lines[5].starts_with("  geometric mean         1.000  0."));
  CHECK(lines[6].starts_with("  table     "));
  // Only JSON on standard output.
  r = s.sweep({"--collect", "--pivot", "workload.stream.bytes", "gpu.dram.controller_latency", "--json",
               "--figure", "end"});
  CHECK(r.code == 0);
  CHECK(lines_of(r.out).size() == 1);
  auto const json = nlohmann::json::parse(r.out);
  auto const ends = numbers(s.column("end"));
  CHECK(json["figure"] == "end");
  CHECK(json["units"] == "ps");
  CHECK(json["columns"]["values"] == Words{"8 KiB", "16 KiB"});
  CHECK(json["tables"][0]["cells"][1][0]["value"] == ends[2]);
  CHECK(json["tables"][0]["cells"][0][1]["value"] == ends[1]);
  // A ratio of another figure.
  r = s.sweep({"--collect", "--pivot", "workload.stream.bytes", "gpu.dram.controller_latency", "--json",
               "--figure", "sm_transactions_ratio"});
  CHECK(nlohmann::json::parse(r.out)["tables"][0]["cells"][1][0]["value"] == 1.0);
  // Without a baseline, the end.
  s.write(
      "[sweep.grid]\ngpu.dram.controller_latency = [\"5 ns\", \"500 ns\"]\nworkload.stream.bytes = [\"8 "
      "KiB\"]\n");
  r = s.sweep({"--collect", "--pivot", "workload.stream.bytes", "gpu.dram.controller_latency"});
  CHECK(lines_of(r.out)[1] == "  end: Simulated time of the last event; columns: workload.stream.bytes");
}

TEST_CASE("sweep: --pivot marks combinations without a run, and gives reasons of empty cells") {
  SmallStudy const s("pivot_holes",
                     "[[sweep.list]]\nworkload.stream.bytes = \"8 KiB\"\ngpu.l2_tlb.entries = 64\n"
                     "[[sweep.list]]\nworkload.stream.bytes = \"16 KiB\"\ngpu.l2_tlb.entries = 64\n"
                     "[[sweep.list]]\nworkload.stream.bytes = \"8 KiB\"\ngpu.l2_tlb.entries = 128\n");
  auto const r = s.sweep({"--collect", "--pivot", "gpu.l2_tlb.entries", "workload.stream.bytes"});
  CHECK(r.code == 1);
  auto const lines = lines_of(r.out);
  REQUIRE(lines.size() == 9);
  CHECK(lines[2] == "  workload.stream.bytes  64  128");
  CHECK(lines[3] == "  8 KiB                  -   -");
  CHECK(lines[4] == "  16 KiB                 -   no run");
  CHECK(lines[5] == "  -: run 0 (bytes 8 KiB, entries 64) is missing");
  CHECK(lines[6] == "  -: run 2 (bytes 8 KiB, entries 128) is missing");
  CHECK(lines[7] == "  -: run 1 (bytes 16 KiB, entries 64) is missing");
}

TEST_CASE("sweep: a mistake in a baseline or a pivot is one sentence, before any run") {
  auto const error = [](std::string const& rest, std::vector<std::string> const& more = {}) {
    SmallStudy const s("baseline_mistakes", rest);
    auto const text = s.error(more);
    return text.starts_with(s.file + ":") ? text.substr(s.file.size() + 1) : text;
  };
  std::string const grid = "[sweep.grid]\ngpu.l2_tlb.entries = [64, 128]\n",
                    list =
                        "[[sweep.list]]\nname = \"small\"\n[[sweep.list]]\nname = \"large\"\ngpu.sms = 1\n";
  CHECK(error("baseline = { gpu.sms = 1 }\n" + grid) ==
        "8: 'gpu.sms' of sweep.baseline does not vary in this study, which varies gpu.l2_tlb.entries\n");
  CHECK(error("baseline = { gpu.l2_tlb.entries = 65 }\n" + grid) ==
        "8: no run of the study has the values of sweep.baseline (gpu.l2_tlb.entries = 65)\n");
  CHECK(error("baseline = \"small\"\n" + grid) ==
        "8: sweep.baseline names the point 'small', but no point [[sweep.list]] has a name\n");
  CHECK(error("baseline = \"smal\"\n" + list) ==
        "8: no point [[sweep.list]] has the name 'smal' of sweep.baseline; did you mean 'small'?\n");
  CHECK(error("seeds = 2\nbaseline = { run.seed = 1 }\n") ==
        "9: sweep.baseline must not set run.seed: runs are compared with runs of their seed\n");
  for (std::string const value : {"3", "{}", "[1]"})
    CHECK(error("baseline = " + value + "\n" + grid) ==
          "8: sweep.baseline must be the name of a point in quotes, or keys and values such as "
          "{ gpu.router.policy = \"distributed\" }\n");
  CHECK(error("mean_over = \"gpu.l2_tlb.entries\"\n" + grid) ==
        "8: sweep.mean_over needs sweep.baseline: it is the dimension of a mean of speedups\n");
  CHECK(error("baseline = \"small\"\nmean_over = \"gpu.l2_tlb.entries\"\n" + list) ==
        "9: sweep.mean_over 'gpu.l2_tlb.entries' does not vary in this study, which varies name, gpu.sms\n");
  CHECK(error("baseline = \"small\"\nmean_over = \"name\"\n" + list) ==
        "9: sweep.mean_over 'name' is a key of sweep.baseline; choose another dimension\n");
  CHECK(error("figures = [\"end\"]\n" + grid) ==
        "8: sweep.figures needs sweep.baseline: it lists figures whose ratio to the baseline is reported\n");
  CHECK(error("baseline = { gpu.l2_tlb.entries = 64 }\nfigures = [\"end\", \"end\"]\n" + grid) ==
        "9: sweep.figures has 'end' twice\n");
  for (std::string const value : {"\"end\"", "[]"})
    CHECK(error("figures = " + value + "\n" + grid) ==
          "8: sweep.figures must be an array of 1 to 100 figures, such as [\"iommu_walks\"]\n");
  CHECK(error(grid, {"--pivot", "gpu.l2_tlb.entries", "gpu.l2_tlb.entires"}) ==
        "--pivot 'gpu.l2_tlb.entires' does not vary in this study; did you mean 'gpu.l2_tlb.entries'?\n");
  auto const refused = [](std::vector<std::string> const& words) {
    SmallStudy const s("baseline_mistakes", "seeds = 2\n");
    auto const r = s.sweep(words);
    CHECK(r.code == 2);
    CHECK(r.out == "");
    CHECK_FALSE(fs::exists(s.out));
  };
  refused({"--figure", "end"});
  refused({"--json", "--dry-run"});
  refused({"--pivot", "run.seed"});
  refused({"--dry-run", "--pivot", "run.seed", "name"});
}

TEST_CASE("report, compare: runs of a named list have the names of their points") {
  SmallStudy const s("named_report",
                     "baseline = \"small, fast\"\n"
                     "[[sweep.list]]\nname = \"small, fast\"\n"
                     "[[sweep.list]]\nname = \"<large>\"\nworkload.stream.bytes = \"16 KiB\"\n"
                     "gpu.dram.controller_latency = \"500 ns\"\n"
                     "[sweep.grid]\ngpu.l2_tlb.entries = [64, 128]\n");
  REQUIRE(s.sweep().code == 0);
  auto const compared = farfault_program({"compare", s.out.string()});
  CHECK(compared.code == 0);
  auto lines = lines_of(compared.out);
  auto const results = s.column("result");
  CHECK(lines[0].starts_with("  A  small, fast, entries 64   " + (s.out / results[0]).string()));
  CHECK(lines[3].starts_with("  D  <large>, entries 128      " + (s.out / results[3]).string()));
  CHECK(lines[4] == "Configuration differences");
  CHECK(lines[6] == "  name                small, fast  small, fast  <large>  <large>");
  CHECK(lines[7] == "  gpu.l2_tlb.entries  64           128          64       128");
  CHECK(lines[8] == "  ... and 2 settings that follow from the name (--all: show all)");
  CHECK(has(farfault_program({"compare", s.out.string(), "--all"}).out, "\n  workload.stream.bytes "));
  auto const json = nlohmann::json::parse(farfault_program({"compare", s.out.string(), "--json"}).out);
  CHECK(json["settings"][0]["name"] == "name");
  CHECK(json["settings"].size() == 4);
  CHECK(json["runs"][2]["name"] == "<large>, entries 64");

  auto const page = (s.folder / "page.html").string();
  REQUIRE(farfault_program({"report", s.out.string(), "-o", page}).code == 0);
  auto const html = content(page);
  CHECK(has(html, "<svg class=\"sweep\""));
  CHECK(
      has(html,
          "speedup vs. name = small, fast, over gpu.l2_tlb.entries; one line for each combination of name."));
  CHECK(has(html, "&lt;large&gt;, gpu.l2_tlb.entries = 64: 0."));
  CHECK_FALSE(has(html, "<large>"));
  CHECK(has(html, "<th class=\"number\">speedup</th>"));
  CHECK(has(html, "<td>small, fast, entries 128</td>"));
  // Equal sweeps have equal pages.
  REQUIRE(farfault_program({"report", s.out.string(), "-o", page + "2"}).code == 0);
  CHECK(content(page + "2") == html);
  // Without the table there is a hint instead of the picture.
  fs::remove(s.out / "sweep.h5");
  REQUIRE(farfault_program({"report", s.out.string(), "-o", page}).code == 0);
  CHECK_FALSE(has(content(page), "<svg class=\"sweep\""));
  CHECK(has(content(page), "These results are not in the table of their sweep."));
}

TEST_CASE("report: the picture of a sweep has a gap, and the reason, where a run failed") {
  SmallStudy const s("report_gap",
                     "[sweep.grid]\nworkload.stream.bytes = [\"8 KiB\", \"512 GiB\", \"16 KiB\"]\n"
                     "gpu.l2_tlb.entries = [64, 128]\n");
  CHECK(s.sweep({"--set", "limits.model=1GiB", "--set", "memory.placement=contiguous"}).code == 1);
  auto const page = (s.folder / "page.html").string();
  REQUIRE(farfault_program({"report", s.out.string(), "-o", page}).code == 0);
  auto const html = content(page);
  auto const from = html.find("<svg class=\"sweep\"");
  REQUIRE(from != std::string::npos);
  auto const picture = html.substr(from, html.find("</svg>", from) - from);
  CHECK(has(picture,
            "<title>entries 64: run 2 (bytes 512 GiB, entries 64) failed\nentries 128: run 3 (bytes 512 GiB, "
            "entries 128) failed\n</title>"));
  std::size_t marks = 0, lines = 0;
  for (auto at = picture.find("<title>entries "); at != std::string::npos;
       at = picture.find("<title>entries ", at + 1))
    ++marks;
  CHECK(marks == 2 * 2 + 1 + 2);  // points, the cross, names in the legend
  for (auto at = picture.find("<path class=\"line\""); at != std::string::npos;
       at = picture.find("<path class=\"line\"", at + 1))
    ++lines;
  CHECK(lines == 2);
  CHECK(has(html, "<td class=\"number\">- (run 2 (bytes 512 GiB, entries 64) failed)</td>"));
}

}  // namespace sweep_baseline_test
