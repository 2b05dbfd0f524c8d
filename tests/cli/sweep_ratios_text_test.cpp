// SPDX-License-Identifier: Apache-2.0
// `farfault sweep`: ratios of chosen figures in the table, the CSVs and the report, and the table as JSON.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "capture.hpp"
#include "small_study.hpp"

namespace sweep_ratios_text_test {

namespace fs = std::filesystem;
using namespace farfault;
using namespace farfault::cli;

namespace {

constexpr char const* kGrid =
    "mean_over = \"workload.stream.bytes\"\n"
    "[sweep.grid]\n"
    "gpu.dram.controller_latency = [\"5 ns\", \"500 ns\"]\n"
    "workload.stream.bytes = [\"8 KiB\", \"16 KiB\"]\n";

std::string study(std::string const& figures) {
  return "baseline = { gpu.dram.controller_latency = \"5 ns\" }\n" + figures + kGrid;
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("sweep: figures of the study have a ratio in table, CSVs and report") {
  SmallStudy const s("figures", study("figures = [\"sm_transactions\", \"end\"]\n"));
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(has(lines_of(s.csv())[0],
            ",baseline,speedup,speedup_error,sm_transactions_ratio,sm_transactions_ratio_error,end_ratio,"
            "end_ratio_error,"));
  CHECK(s.column("sm_transactions_ratio") == Words{"1", "1", "1", "1"});
  CHECK(lines_of(content(s.out / "sweep_means.csv"))[0] ==
        "group,gpu.dram.controller_latency,speedup,speedup_error,sm_transactions_ratio,"
        "sm_transactions_ratio_error,end_ratio,end_ratio_error,runs");
  auto const lines = lines_of(r.out);
  CHECK(lines[1].ends_with("  speedup  sm_transactions_ratio  end_ratio"));
  CHECK(lines[2].ends_with("  1.000    1.000                  1.000"));
  CHECK(lines[6] == "  ratios    vs. gpu.dram.controller_latency = 5 ns");
  CHECK(lines[8] == "  gpu.dram.controller_latency  speedup  sm_transactions_ratio  end_ratio");
  CHECK(lines[9] == "  5 ns                         1.000    1.000                  1.000");
  auto const page = (s.folder / "page.html").string();
  REQUIRE(farfault_program({"report", s.out.string(), "-o", page}).code == 0);
  auto const html = content(page);
  CHECK(has(html,
            "<th class=\"number\">speedup</th><th class=\"number\">end_ratio</th>"
            "<th class=\"number\">sm_transactions_ratio</th>"));
  CHECK(has(html, "Geometric mean of the ratios over workload.stream.bytes"));
}

TEST_CASE("sweep: ratios that would exceed 120 columns are counted, and the CSV has all") {
  SmallStudy const s("many_figures",
                     study("figures = [\"sm_transactions\", \"end\", \"sm_instructions\", \"l2_tlb_misses\", "
                           "\"l1_tlb_misses\"]\n"));
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  auto const lines = lines_of(r.out);
  for (std::size_t line = 1; line < 6; ++line) CHECK(lines[line].size() <= 120);
  CHECK(lines[1].ends_with("  speedup  sm_transactions_ratio"));
  CHECK(lines[6] == "  ... and 4 more ratios in sweep.csv");
  CHECK(has(lines_of(s.csv())[0], ",l1_tlb_misses_ratio,"));
}

TEST_CASE("sweep: an unknown figure is refused before the runs if their figures are known, else after them") {
  SmallStudy const s("unknown_figure", study("figures = [\"sm_transaction\"]\n"));
  auto const expected = s.file +
                        ":9: 'sm_transaction' of sweep.figures is not a figure of this sweep; did you mean "
                        "'sm_transactions'?\n";
  auto r = s.sweep();
  CHECK(r.code == 2);
  CHECK(has(r.err, expected));
  CHECK(has(r.out, "4 completed"));
  CHECK_FALSE(has(s.csv(), "sm_transaction_ratio"));
  r = s.sweep();
  CHECK(r.code == 2);
  CHECK(r.out == "");
  CHECK(has(r.err, expected));
}

TEST_CASE("sweep: --json prints the table: runs, spread and means, with null for a missing number") {
  SmallStudy const s("json_table", "seeds = 2\n" + study(""));
  auto r = s.sweep({"--json"});
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(lines_of(r.out).size() == 1);
  auto const json = nlohmann::json::parse(r.out);
  CHECK(json["kind"] == "sweep_table");
  CHECK(json["baseline"] == "gpu.dram.controller_latency = 5 ns");
  CHECK(json["mean_over"] == "workload.stream.bytes");
  auto const& runs = json["runs"]["rows"];
  REQUIRE(runs.size() == 8);
  CHECK(runs[4]["run"] == 4);
  CHECK(runs[4]["workload.stream.bytes"] == "8 KiB");
  CHECK(runs[4]["baseline"] == 0);
  CHECK(runs[4]["speedup"] == runs[0]["end"].get<double>() / runs[4]["end"].get<double>());
  CHECK(json["runs"]["columns"][0]["name"] == "state");
  REQUIRE(json["spread"]["rows"].size() == 4);
  CHECK(json["spread"]["rows"][0]["speedup_mean"] == 1.0);
  REQUIRE(json["means"]["rows"].size() == 2);
  CHECK(json["means"]["rows"][0]["gpu.dram.controller_latency"] == "5 ns");
  CHECK(json["means"]["rows"][0]["speedup"] == 1.0);
  // A missing run.
  fs::remove(s.out / runs[0]["result"].get<std::string>());
  r = s.sweep({"--collect", "--json"});
  CHECK(r.code == 1);
  auto const missing = nlohmann::json::parse(r.out)["runs"]["rows"];
  CHECK(missing[0]["end"].is_null());
  CHECK(missing[4]["speedup"].is_null());
  CHECK(missing[4]["speedup_error"] ==
        "run 0 (latency 5 ns, bytes 8 KiB, seed 1), the baseline of run 4 (latency 500 ns, bytes 8 KiB, seed "
        "1), is missing");
}

TEST_CASE("compare, report: settings that exist only under a value of a varied key are folded") {
  SmallStudy const s("folded",
                     "[sweep.grid]\nworkload.name = [\"bfs\", \"fir\"]\nworkload.size = [\"small\"]\n"
                     "gpu.l2_tlb.entries = [64, 128]\n");
  REQUIRE(s.sweep().code == 0);
  auto const compared = farfault_program({"compare", s.out.string()});
  auto const lines = lines_of(compared.out);
  CHECK(lines[4] == "Configuration differences");
  CHECK(lines[6] == "  gpu.l2_tlb.entries  64   128  64   128");
  CHECK(lines[7] == "  workload.name       bfs  bfs  fir  fir");
  CHECK(lines[8].ends_with(" settings that follow from workload.name (--all: show all)"));
  CHECK(lines[9].starts_with("Result differences: "));
  CHECK(has(farfault_program({"compare", s.out.string(), "--all"}).out, "\n  workload.bfs.rmat.scale "));
  auto const page = (s.folder / "page.html").string();
  REQUIRE(farfault_program({"report", s.out.string(), "-o", page}).code == 0);
  CHECK_FALSE(has(content(page), "<th>workload.bfs.rmat.scale</th>"));
}

}  // namespace sweep_ratios_text_test
