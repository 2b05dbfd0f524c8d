// SPDX-License-Identifier: Apache-2.0
// `farfault explain A B`: the readable form, its place in a report, and the parameters that act on causes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "capture.hpp"
#include "pairs/pair_settings.hpp"

namespace explain_pair_test {

namespace analysis = farfault::analysis;
namespace fs = std::filesystem;

namespace {

fs::path folder() {
  auto const path = fs::path(FARFAULT_BINARY_DIR) / "explain_pair_test";
  fs::create_directories(path);
  return path;
}

std::string made(std::string const& name, std::vector<std::string> const& sets,
                 std::vector<std::string> const& options = {}) {
  auto const path = (folder() / name).string();
  std::vector<std::string> words{"run",        "paper-gmmu-bypass",
                                 "--output",   path,
                                 "--threads",  "1",
                                 "--set",      "gpu.sms=2",
                                 "--set",      "machine.topology=generic",
                                 "--set",      "machine.generic.gpus=1",
                                 "--set",      "workload.name=stream",
                                 "--set",      "workload.stream.bytes=8KiB",
                                 "--progress", "off"};
  for (auto const& s : sets) words.insert(words.end(), {"--set", s});
  words.insert(words.end(), options.begin(), options.end());
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

TEST_CASE("explain_pair: the first line names the cause, its share and the parameter") {
  auto const a = made("a.h5", {}), b = made("b.h5", {"host.launch_latency=20us"});
  auto const r = farfault_program({"explain", a, b});
  CHECK(r.code == 0);
  CHECK(r.err == "");
  auto const lines = lines_of(r.out);
  REQUIRE(lines.size() > 6);
  CHECK_MESSAGE(lines[0].starts_with("B is "), lines[0]);
  CHECK_MESSAGE(lines[0].ends_with("launch and completion latency, 6.4 us to 21 us per launch "
                                   "(host.launch_latency: 5400 ns in A, 20 us "
                                   "in B), 100.0% of the change"),
                lines[0]);
  CHECK(lines[0].find(" times as slow as A (+14.6 us): ") != std::string::npos);
  CHECK(lines[1].starts_with("  A  " + a + "  completed after "));
  CHECK(lines[2].starts_with("  B  " + b + "  completed after "));
  for (auto const& line : lines) CHECK(line.back() != ' ');
  auto const back = lines_of(farfault_program({"explain", b, a}).out);
  CHECK(back[0].find(" times as fast as A (-14.6 us): ") != std::string::npos);
  auto const json = nlohmann::json::parse(farfault_program({"explain", a, b, "--json"}).out);
  CHECK(json["kind"] == "pair_explanation");
  CHECK(json["first_cause"] == "launch_time");
  CHECK(json["change_ps"] == 14'600'000);
}

TEST_CASE("explain_pair: equal results have equal ends, and no causes") {
  auto const a = made("a.h5", {});
  auto const lines = lines_of(farfault_program({"explain", a, a}).out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("B takes as long as A: "));
  CHECK(lines[3] == "Same configuration");
}

TEST_CASE("explain_pair: a report of two results begins with the reason of their difference") {
  auto const a = made("a.h5", {}), b = made("b.h5", {"host.launch_latency=20us"});
  auto const page = (folder() / "report.html").string();
  auto const of = [&](std::vector<std::string> files) {
    files.insert(files.begin(), "report");
    files.insert(files.end(), {"-o", page});
    auto const r = farfault_program(files);
    CHECK_MESSAGE(r.code == 0, r.err);
    std::ifstream in(page);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  auto const two = of({a, b});
  auto const section = two.find("<h2>Why B differs from A</h2>");
  REQUIRE(section != std::string::npos);
  CHECK(section < two.find("<details class=\"part\" id=\"comparison\">"));
  CHECK(two.find("launch and completion latency, 6.4 us to 21 us per launch", section) != std::string::npos);
  CHECK(of({a, b, a}).find("<h2>Why B differs from A</h2>") == std::string::npos);
  CHECK(of({a}).find("<h2>Why B differs from A</h2>") == std::string::npos);
  // The reason why the ends of stopped runs do not compare is stated once.
  auto const stopped = of({a, made("stopped.h5", {}, {"--until", "2us"})});
  auto const reason = stopped.find("the ends do not compare complete runs");
  REQUIRE(reason != std::string::npos);
  CHECK(stopped.find("the ends do not compare complete runs", reason + 1) == std::string::npos);
}

TEST_CASE("compare: figures are ordered by their contribution to the change of the end") {
  auto const a = made("a.h5", {}), b = made("b.h5", {"host.launch_latency=20us"});
  auto const json = nlohmann::json::parse(farfault_program({"compare", a, b, "--json"}).out);
  auto const& figures = json["figures"];
  REQUIRE(figures.size() > 3);
  CHECK(figures[0]["metric"] == "end");
  CHECK(figures[0]["end_ps"] == 14'600'000);
  CHECK(figures[1]["metric"] == "sm_idle_time");
  CHECK(figures[1]["end_ps"] == 14'600'000);
  bool without = false;
  for (auto const& f : figures) {
    if (f["end_ps"].is_null())
      without = true;
    else
      CHECK_MESSAGE(!without, f["metric"]);
  }
}

TEST_CASE("explain_pair: every parameter of the model acts on a cause, and every prefix is a parameter's") {
  auto const prefixes = analysis::acting_prefixes();
  auto const json = nlohmann::json::parse(farfault_program({"params", "--json"}).out);
  std::vector<std::string> keys;
  for (auto const& p : json["parameters"]) keys.push_back(p["key"]);
  REQUIRE(keys.size() > 100);
  for (auto const& key : keys) {
    if (key.starts_with("limits.") || key.starts_with("run.sample_")) continue;  // do not act on a run
    bool const acts =
        std::ranges::any_of(prefixes, [&](std::string_view prefix) { return key.starts_with(prefix); });
    CHECK_MESSAGE(acts, key);
  }
  for (auto const prefix : prefixes) {
    if (prefix.starts_with("the file of ")) continue;
    CHECK_MESSAGE(std::ranges::any_of(keys, [&](auto const& key) { return key.starts_with(prefix); }),
                  prefix);
  }
}

}  // namespace explain_pair_test
