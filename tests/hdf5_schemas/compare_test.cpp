// SPDX-License-Identifier: Apache-2.0
// Comparison of several results.
#include "farfault/analysis/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "edit.hpp"
#include "farfault/engine/error.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace compare_test {

using namespace farfault;
using namespace farfault::analysis;
using namespace farfault::results;

namespace {

struct Figure {
  std::string metric;
  std::uint64_t value;
};
std::string written(std::string const& path, std::vector<Figure> const& figures,
                    std::string const& config = sample::header().resolved_config,
                    std::uint64_t samples = 10) {
  auto header = sample::header();
  header.resolved_config = config;
  ResultWriter writer(path, header);
  sample::append(writer, 0, samples);
  std::vector<SummaryRow> rows;
  for (auto const& f : figures)
    rows.push_back({"machine", "machine", f.metric,
                    f.metric == "end"     ? "ps"
                    : f.metric == "bytes" ? "bytes"
                                          : "count",
                    "Of a run.", f.value});
  writer.summary(rows);
  writer.engine({{"events", "count", "Events executed.", std::uint64_t{99}}});
  writer.finish("completed");
  return path;
}
std::string refusal(std::vector<std::string> const& paths) {
  try {
    compare(paths);
  } catch (UserError const& e) {
    return e.what();
  }
  return "compared";
}

}  // namespace

TEST_CASE("compare: if one of two files is damaged, both are named") {
  Scratch dir;
  auto const a = written(dir / "a.h5", {{"end", 1}});
  auto const b = written(dir / "b.h5", {{"end", 2}});
  edit::remove(b, "/config/toml");
  CHECK(refusal({a, b}).starts_with("'" + a + "' or '" + b + "' is damaged or not a Farfault result: "));
}

TEST_CASE("compare: equal results with different command lines are equal") {
  Scratch dir;
  auto header = sample::header();
  sample::write(dir / "a.h5");
  header.command_line = "another";
  sample::write(dir / "b.h5", 10, header);
  auto const c = compare({dir / "a.h5", dir / "b.h5"});
  CHECK(c.all_equal());
  CHECK(c.figures.empty());
  CHECK(c.settings.empty());
  CHECK(c.figures_in_all == 4);
  CHECK(c.runs[0].digest == c.runs[1].digest);
}

TEST_CASE("compare: results that differ only in settings are equal, and the settings are listed") {
  Scratch dir;
  auto const a = written(dir / "a.h5", {{"end", 5000}});
  auto const b =
      written(dir / "b.h5", {{"end", 5000}}, "[gpu.l2_tlb]\nentries = 1024\nlatency = \"10 ns\"\n");
  auto const c = compare({a, b});
  CHECK(c.runs[0].digest != c.runs[1].digest);
  CHECK(c.all_equal());
  REQUIRE(c.settings.size() == 1);
  CHECK(c.settings[0].name == "gpu.l2_tlb.entries");
  CHECK(c.settings[0].values == std::vector<std::string>{"512", "1024"});
}

TEST_CASE("compare: results with equal summaries and different samples are not equal") {
  Scratch dir;
  auto const a = written(dir / "a.h5", {{"end", 5000}});
  auto const b = written(dir / "b.h5", {{"end", 5000}}, sample::header().resolved_config, 9);
  auto const c = compare({a, b});
  CHECK_FALSE(c.all_equal());
  CHECK(c.figures.empty());
}

TEST_CASE(
    "compare: the end is first, then values are sorted by effect, in which small counts have a low weight") {
  Scratch dir;
  auto const a = written(dir / "a.h5", {{"alike", 7}, {"few", 1}, {"end", 100'000'000}, {"walks", 40'000}});
  auto const b = written(dir / "b.h5", {{"alike", 7}, {"few", 3}, {"end", 70'000'000}, {"walks", 10'000}});
  auto const c = compare({a, b});
  REQUIRE(c.figures.size() == 3);
  CHECK(c.figures[0].metric == "end");
  CHECK(c.figures[0].unit == "ps");
  CHECK(c.figures[0].effect == doctest::Approx(30 / (100 + 10 * std::sqrt(100.0))));
  CHECK(c.figures[1].metric == "walks");
  CHECK(c.figures[1].effect == doctest::Approx(30'000 / (40'000 + 10 * 200.0)));
  CHECK(c.figures[2].metric == "few");
  CHECK(c.figures[2].effect == doctest::Approx(2 / (3 + 10 * std::sqrt(3.0))));
  CHECK(c.figures[2].values == std::vector<std::optional<std::uint64_t>>{1, 3});
  CHECK(c.figures_in_all == 4);
  // The reverse comparison has the same figures in the same order.
  auto const back = compare({b, a});
  for (std::size_t i = 0; i < 3; ++i) CHECK(back.figures[i].effect == c.figures[i].effect);
}

TEST_CASE("compare: bytes are weighted as lines of 64 bytes") {
  Scratch dir;
  auto const c = compare({written(dir / "a.h5", {{"bytes", 6400}, {"walks", 100}}),
                          written(dir / "b.h5", {{"bytes", 12800}, {"walks", 200}})});
  REQUIRE(c.figures.size() == 2);
  CHECK(c.figures[0].effect == doctest::Approx(100 / (200 + 10 * std::sqrt(200.0))));
  CHECK(c.figures[1].effect == c.figures[0].effect);
}

TEST_CASE("compare: three results are compared with the first one, and a value may be missing") {
  Scratch dir;
  std::string const other = "[gpu.l2_tlb]\nentries = 64\nassociativity = 4\nlatency = \"10 ns\"\n";
  auto const a = written(dir / "a.h5", {{"end", 1000}, {"walks", 50}});
  auto const b = written(dir / "b.h5", {{"end", 1000}, {"walks", 50}});
  auto const d = written(dir / "c.h5", {{"end", 4000}, {"faults", 9}}, other);
  auto const c = compare({a, b, d});
  CHECK(c.runs[1].equal);
  CHECK_FALSE(c.runs[2].equal);
  REQUIRE(c.figures.size() == 3);
  CHECK(c.figures[0].metric == "end");
  CHECK(c.figures[0].values == std::vector<std::optional<std::uint64_t>>{1000, 1000, 4000});
  CHECK(c.figures[1].effect == 0);
  CHECK(c.figures[1].values == std::vector<std::optional<std::uint64_t>>{50, 50, std::nullopt});
  CHECK(c.figures[2].values == std::vector<std::optional<std::uint64_t>>{std::nullopt, std::nullopt, 9});
  // Settings that only some runs have are last, whatever their name.
  REQUIRE(c.settings.size() == 2);
  CHECK(c.settings[0].values == std::vector<std::string>{"512", "512", "64"});
  CHECK(c.settings[0].in_all());
  CHECK(c.settings[1].values == std::vector<std::string>{"none", "none", "4"});
  CHECK_FALSE(c.settings[1].in_all());

  auto const json = nlohmann::json::parse(to_json(c));
  CHECK(json["kind"] == "comparison");
  CHECK(json["equal"] == false);
  CHECK(json["runs"][1]["equal"] == true);
  CHECK(json["figures"][0]["values"] == nlohmann::json::parse("[1000, 1000, 4000]"));
  CHECK(json["figures"][2]["values"][0].is_null());
  CHECK(json["settings"][0]["values"][2] == "64");
  CHECK(to_csv(c) == "kind,scope,name,metric,units," + a + "," + b + "," + d +
                         "\n"
                         "setting,,,gpu.l2_tlb.entries,,512,512,64\n"
                         "setting,,,gpu.l2_tlb.associativity,,none,none,4\n"
                         "figure,machine,machine,end,ps,1000,1000,4000\n"
                         "figure,machine,machine,walks,1,50,50,\n"
                         "figure,machine,machine,faults,1,,,9\n");
}

TEST_CASE("compare: text with commas and quotes is quoted in a table") {
  Scratch dir;
  auto const a = written(dir / "a,b.h5", {{"end", 1}}, "[m]\nx = [\"p\", \"q\"]\n");
  auto const b = written(dir / "b.h5", {{"end", 1}}, "[m]\nx = [\"p\"]\n");
  auto const csv = to_csv(compare({a, b}));
  CHECK(csv.find("units,\"" + a + "\"," + b) != std::string::npos);
  CHECK(csv.find("setting,,,m.x,,\"[\"\"p\"\", \"\"q\"\"]\",\"[\"\"p\"\"]\"\n") != std::string::npos);
}

TEST_CASE("compare: no cell of a table is a spreadsheet formula, and numbers are unchanged") {
  Scratch dir;
  auto const a = written(dir / "a.h5", {{"=SUM(A1)", 1}, {"+a,b", 1}, {"-end", 1}}, "[m]\nx = -1.5\n");
  auto const b = written(dir / "b.h5", {{"=SUM(A1)", 2}, {"+a,b", 2}, {"-end", 2}}, "[m]\nx = 2\n");
  auto const csv = to_csv(compare({a, b}));
  CHECK(csv.find(",'=SUM(A1),1,1,2\n") != std::string::npos);
  CHECK(csv.find(",\"'+a,b\",1,1,2\n") != std::string::npos);
  CHECK(csv.find(",'-end,1,1,2\n") != std::string::npos);
  CHECK(csv.find("setting,,,m.x,,-1.5,2\n") != std::string::npos);
  for (char const c : {'=', '+', '@'}) CHECK(csv.find(std::string(",") + c) == std::string::npos);
}

TEST_CASE("compare: machine-readable output is complete, and names are printed without control characters") {
  Scratch dir;
  std::string const value(300, 'x');
  auto const config = [&](std::string const& end) { return "[m]\nx = \"" + value + end + "\"\n"; };
  auto const a = written(dir / "a.h5", {{"end", 1}, {"odd\x1b[31m", 5}}, config("a"));
  auto const b = written(dir / "b.h5", {{"end", 1}, {"odd\x1b[31m", 6}}, config("b"));
  auto const c = compare({a, b});
  REQUIRE(c.settings.size() == 1);
  CHECK(c.settings[0].values == std::vector<std::string>{"\"" + value + "a\"", "\"" + value + "b\""});
  CHECK(to_csv(c).find("odd [31m,1,5,6\n") != std::string::npos);
  CHECK(to_csv(c).find('\x1b') == std::string::npos);
  CHECK(to_json(c).find('\x1b') == std::string::npos);
}

TEST_CASE("compare: files that cannot be compared give one sentence") {
  Scratch dir;
  auto const a = written(dir / "a.h5", {{"end", 1}});
  CHECK(refusal({a}) == "compare takes 2 to 1000 results, not 1");
  CHECK(refusal(std::vector<std::string>(1001, a)) == "compare takes 2 to 1000 results, not 1001");
  CHECK(refusal({a, dir / "none.h5"}).find("none.h5") != std::string::npos);
  CHECK(refusal({a, a}) == "compared");
}

}  // namespace compare_test
