// SPDX-License-Identifier: Apache-2.0
// `farfault compare` of runs made in this test.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "capture.hpp"
#include "farfault/results/writer.hpp"

namespace compare_test {

namespace fs = std::filesystem;

namespace {

std::string made(std::string const& name, std::vector<std::string> const& sets) {
  auto const folder = fs::path(FARFAULT_BINARY_DIR) / "compare_test";
  fs::create_directories(folder);
  auto const path = (folder / name).string();
  std::vector<std::string> words{"run",        "paper-gmmu-bypass",
                                 "--output",   path,
                                 "--threads",  "1",
                                 "--set",      "gpu.sms=2",
                                 "--progress", "off",
                                 "--set",      "workload.name=stream",
                                 "--set",      "workload.stream.bytes=8KiB"};
  for (auto const& s : sets) words.insert(words.end(), {"--set", s});
  auto const r = farfault_program(words);
  CHECK_MESSAGE(r.code == 0, r.err);
  return path;
}
std::vector<std::string> lines_of(std::string const& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("compare: with a slower DRAM, configuration differences are printed before results") {
  auto const a = made("a.h5", {}), b = made("b.h5", {"gpu.dram.controller_latency=300ns"});
  auto const r = farfault_program({"compare", a, b});
  CHECK(r.code == 0);
  CHECK(r.err == "");
  auto const lines = lines_of(r.out);
  REQUIRE(lines.size() > 8);
  CHECK(lines[0].starts_with("  A  " + a + "  completed  "));
  CHECK(lines[1].starts_with("  B  " + b + "  completed  "));
  CHECK(lines[2] == "Configuration differences");
  CHECK(lines[4].starts_with("  gpu.dram.controller_latency  \""));
  CHECK(lines[4].ends_with("  \"300 ns\""));
  CHECK(lines[5].starts_with("Result differences: "));
  CHECK(lines[7].starts_with("  end "));
  CHECK(lines[7].ends_with("Simulated time of the last event"));
  CHECK(lines.size() <= 37);
  CHECK(lines_of(farfault_program({"compare", a, b, "--all"}).out).size() > lines.size());
  // More figures than are shown: two results, one setting, and 30 figures, with headings.
  auto const larger = made("large.h5", {"workload.stream.bytes=256KiB"});
  auto const most = lines_of(farfault_program({"compare", a, larger}).out);
  CHECK(most.size() == 2 + 1 + 1 + 1 + 1 + 1 + 30);
  CHECK(lines_of(farfault_program({"compare", a, larger, "--all"}).out).size() > most.size() + 30);

  auto const json = nlohmann::json::parse(farfault_program({"compare", a, b, "--json"}).out);
  CHECK(json["settings"].size() == 1);
  CHECK(json["equal"] == false);
  auto const csv = lines_of(farfault_program({"compare", a, b, "--csv"}).out);
  CHECK(csv.size() == 1 + 1 + json["figures"].size());
}

TEST_CASE("compare: runs of different commits are labelled with them, runs of one commit are not") {
  auto const of = [](std::string const& name, std::string const& commit) {
    auto const path = (fs::path(FARFAULT_BINARY_DIR) / "compare_test" / name).string();
    fs::create_directories(fs::path(path).parent_path());
    farfault::results::RunHeader header;
    header.nodes = {{"gpu0", "gpu"}};
    farfault::results::ResultWriter writer(path, header);
    writer.summary({{"machine", "machine", "end", "ps", "End.", 5}});
    if (!commit.empty()) writer.engine({{"commit", "text", "Commit.", commit}});
    writer.finish("completed");
    return path;
  };
  auto const a = of("one.h5", "0123456789abcdef0123456789abcdef01234567"),
             b = of("two.h5", "fedcba9876543210fedcba9876543210fedcba98 with changes"), c = of("none.h5", "");
  auto const lines = lines_of(farfault_program({"compare", a, b, c}).out);
  REQUIRE(lines.size() > 3);
  CHECK_MESSAGE(lines[0].ends_with("  commit 0123456789"), lines[0]);
  CHECK_MESSAGE(lines[1].find("  commit fedcba9876 with changes  equal to A") != std::string::npos, lines[1]);
  CHECK_MESSAGE(lines[2].find("  unknown commit ") != std::string::npos, lines[2]);
  CHECK(farfault_program({"compare", a, a}).out.find(" commit ") == std::string::npos);
  auto const json = nlohmann::json::parse(farfault_program({"compare", a, b, "--json"}).out);
  CHECK(json["runs"][1]["commit"] == "fedcba9876543210fedcba9876543210fedcba98 with changes");
}

TEST_CASE("compare: each of several runs lists its differences, and equal runs are reported as equal") {
  auto const a = made("a.h5", {}), b = made("b.h5", {"run.seed=7"}),
             c = made("c.h5", {"gpu.l2_tlb.entries=64"});
  auto const lines = lines_of(farfault_program({"compare", a, b, c, a}).out);
  CHECK_FALSE(lines[0].ends_with("equal to A"));
  CHECK(lines[3].starts_with("  D  "));
  CHECK(lines[3].ends_with("equal to A"));
  CHECK(lines[4] == "Configuration differences");
  auto const same = lines_of(farfault_program({"compare", a, a}).out);
  CHECK(same[2] == "Same configuration");
  CHECK(same[3] == "the results are equal");
  CHECK(same.size() == 4);
}

TEST_CASE("compare: a value is printed with its change from A, unless A has none") {
  auto const folder = fs::path(FARFAULT_BINARY_DIR) / "compare_test";
  fs::create_directories(folder);
  auto const written = [&](std::string const& name, std::vector<std::optional<std::uint64_t>> const& values) {
    farfault::results::RunHeader header;
    header.nodes = {{"gpu0", "gpu"}};
    auto const path = (folder / name).string();
    farfault::results::ResultWriter writer(path, header);
    std::vector<farfault::results::SummaryRow> rows;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i])
        rows.push_back(
            {"machine", "machine", std::string("figure_") + char('a' + i), "count", "Of it.", *values[i]});
    writer.summary(rows);
    writer.finish("completed");
    return path;
  };
  auto const a = written("told_a.h5", {0, 10, 10, 10, 10, 10, std::nullopt});
  auto const b = written("told_b.h5", {5, 5, 20, 11, 0, std::nullopt, 7});
  auto const r = farfault_program({"compare", a, b});
  auto const line_of = [&](std::string const& figure) {
    for (auto const& line : lines_of(r.out))
      if (line.starts_with("  " + figure + " ")) return line;
    return r.out;
  };
  CHECK(line_of("figure_a") == "  figure_a  0   5            Of it.");
  CHECK(line_of("figure_b") == "  figure_b  10  5 (/ 2)      Of it.");
  CHECK(line_of("figure_c") == "  figure_c  10  20 (x 2)     Of it.");
  CHECK(line_of("figure_d") == "  figure_d  10  11 (+10.0%)  Of it.");
  CHECK(line_of("figure_e") == "  figure_e  10  0 (-100.0%)  Of it.");
  CHECK(line_of("figure_f") == "  figure_f  10  -            Of it.");
  CHECK(line_of("figure_g") == "  figure_g  -   7            Of it.");

  // The first and the third figure always have the same values; the second differs in one run.
  auto const c = written("alike_a.h5", {10, 10, 10, 3}), d = written("alike_b.h5", {20, 30, 20, 3});
  auto const alike = farfault_program({"compare", c, d}).out;
  CHECK(alike.ends_with(
      "Result differences: 3 of 4 figures; largest first (--all: show all; +N: N more with the same values)\n"
      "                 A   B\n"
      "  figure_b       10  30 (x 3)  Of it.\n"
      "  figure_a (+1)  10  20 (x 2)  Of it.\n"));
  auto const all = farfault_program({"compare", c, d, "--all"}).out;
  CHECK(
      all.ends_with("Result differences: 3 of 4 figures\n"
                    "            A   B\n"
                    "  figure_b  10  30 (x 3)  Of it.\n"
                    "  figure_a  10  20 (x 2)  Of it.\n"
                    "  figure_c  10  20 (x 2)  Of it.\n"));
}

}  // namespace compare_test
