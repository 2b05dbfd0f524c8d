// SPDX-License-Identifier: Apache-2.0
// `farfault sweep` of lists: names, costs, configurations and applications of their points.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "capture.hpp"
#include "small_study.hpp"
#include "sweep/run_table.hpp"

namespace sweep_list_test {

namespace fs = std::filesystem;
using namespace farfault;
using namespace farfault::cli;

TEST_CASE(
    "sweep: each point of a list is combined with the grid; unset parameters keep their configured values") {
  SmallStudy const s("list",
                     "[[sweep.list]]\nworkload.stream.bytes = \"16 KiB\"\n"
                     "[[sweep.list]]\n\"gpu.l2_tlb.entries\" = 64\n"
                     "[sweep.grid]\nmemory.placement = [\"interleave\", \"contiguous\"]\n");
  CHECK(s.sweep().code == 0);
  CHECK(s.column("workload.stream.bytes") == Words{"16 KiB", "16 KiB", "8 KiB", "8 KiB"});
  CHECK(s.column("gpu.l2_tlb.entries") == Words{"256", "256", "64", "64"});
  CHECK(s.column("memory.placement") == Words{"interleave", "contiguous", "interleave", "contiguous"});
}

TEST_CASE("sweep: names of a list's points appear in the table and in messages about runs") {
  SmallStudy const s("names",
                     "seeds = 2\n"
                     "[[sweep.list]]\nname = \"as it is\"\n"
                     "[[sweep.list]]\nname = \"huge, no room\"\nworkload.stream.bytes = \"512 GiB\"\n"
                     "[sweep.grid]\nmemory.placement = [\"contiguous\", \"interleave\"]\n");
  auto const r = s.sweep({"--set", "limits.model=1GiB", "--jobs", "1"});
  CHECK(r.code == 1);
  CHECK(lines_of(s.csv())[0].starts_with("run,name,state,"));
  std::string const as = "as it is", huge = "huge, no room";
  CHECK(s.column("name") == Words{as, as, as, as, huge, huge, huge, huge});
  CHECK(s.column("workload.stream.bytes")[4] == "512 GiB");
  CHECK(r.err.find(
            "farfault: run 5 (huge, no room, memory.placement = contiguous, run.seed = 2) has failed: ") !=
        std::string::npos);
  CHECK(lines_of(r.out)[1] == "  name           memory.placement  state   end, mean (min to max)");
  CHECK(lines_of(content(s.out / "sweep_spread.csv"))[2].starts_with("1,as it is,interleave,2,"));
  // The keys of the points follow the figures.
  CHECK(lines_of(s.csv())[0].ends_with(",workload.stream.bytes"));
  CHECK(content(s.out / "sweep.runs").find("run 0 (as it is, memory.placement = contiguous, run.seed = 1)") !=
        std::string::npos);
}

TEST_CASE("sweep: the runs with the highest cost start first") {
  SmallStudy const s("costs",
                     "[[sweep.list]]\nworkload.stream.bytes = \"16 KiB\"\n"
                     "[[sweep.list]]\nworkload.stream.bytes = \"24 KiB\"\ncost = 0.5\n"
                     "[[sweep.list]]\nworkload.stream.bytes = \"32 KiB\"\ncost = 9223372036854775807\n"
                     "[[sweep.list]]\nworkload.stream.bytes = \"40 KiB\"\ncost = 1\n"
                     "[sweep.grid]\ngpu.l2_tlb.entries = [64, 128]\n");
  auto const dry = s.sweep({"--dry-run"});
  CHECK_MESSAGE(
      lines_of(dry.out)[2].find(
          ", scaled by cost from run 2 (workload.stream.bytes = 24 KiB, gpu.l2_tlb.entries = 64), ") !=
          std::string::npos,
      dry.out);
  CHECK(s.sweep({"--jobs", "1"}).code == 0);
  auto times = s.times();
  std::vector<std::pair<fs::file_time_type, std::size_t>> order;
  auto const results = s.column("result");
  for (std::size_t run = 0; run < results.size(); ++run)
    order.emplace_back(times.at(fs::path(results[run]).filename().string()), run);
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> runs;
  for (auto const& [time, run] : order) runs.push_back(run);
  CHECK(runs == std::vector<std::size_t>{4, 5, 0, 1, 6, 7, 2, 3});
  // Finished runs and the costs give an estimate of the remaining time.
  s.write(
      "[[sweep.list]]\nworkload.stream.bytes = \"16 KiB\"\n[[sweep.list]]\ngpu.sms = 1\ncost = "
      "3\n[sweep.grid]\ngpu.l2_tlb.entries = [64, 128]\n");
  CHECK(lines_of(s.sweep({"--dry-run"}).out)[2].ends_with(", estimated from the cached runs"));
}

TEST_CASE("sweep: the base configuration of the runs may vary like a parameter") {
  SmallStudy const s("bases",
                     "[sweep.grid]\nbase = [\"gpu-v100\", \"own.toml\"]\n"
                     "workload.stream.bytes = [\"8 KiB\", \"16 KiB\"]\n");
  std::ofstream(s.folder / "own.toml") << "include = [\"gpu-v100\"]\ngpu.crossbar_latency = 77\n";
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(s.column("base") == Words{"gpu-v100", "gpu-v100", "own.toml", "own.toml"});
  auto const digests = s.column("result_digest");
  CHECK(std::set(digests.begin(), digests.end()).size() == 4);
  auto const alone = (s.folder / "alone.h5").string();
  CHECK(farfault_program({"run", (s.folder / "own.toml").string(), "--set", "gpu.sms=2", "--set",
                          "workload.name=stream", "--set", "workload.stream.bytes=8 KiB", "--output", alone,
                          "--progress", "off"})
            .code == 0);
  auto const json = nlohmann::json::parse(farfault_program({"inspect", alone, "--json"}).out);
  CHECK(json["result_digest"] == digests[2]);

  // A point without a base has the base of all; without a common base, each point must have one.
  s.write("[[sweep.list]]\nbase = \"gpu-v100\"\n[[sweep.list]]\ngpu.l2_tlb.entries = 64\n");
  CHECK(s.sweep().code == 0);
  CHECK(s.column("base") == Words{"gpu-v100", "paper-gmmu-bypass"});
  CHECK(s.column("result_digest")[0] == digests[0]);
  auto const without = [&](std::string const& rest) {
    std::ofstream(s.file) << "[config]\nworkload.name = \"stream\"\n[sweep]\noutput = \"other\"\n" << rest;
    return s.sweep({"--collect"});
  };
  CHECK(without("[sweep.grid]\nbase = [\"gpu-v100\", \"gpu-a100\"]\n").code == 1);
  CHECK(without("[sweep.grid]\ngpu.sms = [1, 2]\n").err ==
        "farfault: " + s.file +
            ":1: base is missing; set it to the configuration of all runs, a file or preset\n");
  CHECK(without("[[sweep.list]]\nbase = \"gpu-v100\"\n[[sweep.list]]\ngpu.sms = 3\n").err ==
        "farfault: " + s.file + ":1: base is missing, and run 1 (gpu.sms = 3) does not set it\n");
  CHECK(
      without("[sweep.grid]\nbase = [\"gpu-v100\",\n\"gpu-v1000\"]\n")
          .err.starts_with("farfault: " + s.file + ":6: base 'gpu-v1000' is neither a file nor a preset ("));
  CHECK(without("[sweep.grid]\nbase = [3]\n").err ==
        "farfault: " + s.file + ":6: base must be the name of a file or preset, in quotes\n");
}

TEST_CASE("sweep: a point may define its own applications") {
  SmallStudy const s("applications",
                     "[[sweep.list]]\nname = \"one\"\nmemory.placement = \"interleave\"\n"
                     "[[sweep.list]]\nname = \"two\"\n"
                     "[[sweep.list.application]]\nname = \"a\"\nworkload = \"stream\"\nsms = 1\n"
                     "stream.bytes = \"8 KiB\"\n"
                     "[[sweep.list.application]]\nname = \"b\"\nworkload = \"relu\"\nsms = 1\n"
                     "relu.size = \"4 KiB\"\n");
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  auto const two = (s.out / s.column("result")[1]).string();
  auto const resolved = nlohmann::json::parse(farfault_program({"inspect", two, "--json"}).out);
  CHECK(s.column("result_digest")[1] == resolved["result_digest"]);
  // The command line in the result reproduces it, quoted for a shell.
  auto const alone = (s.folder / "alone.h5").string();
  CHECK(farfault_program({"run", "paper-gmmu-bypass", "--set", "gpu.sms=2", "--set",
                          "application=[{name=\"a\",workload=\"stream\",sms=1,stream.bytes=\"8 KiB\"},"
                          "{name=\"b\",workload=\"relu\",sms=1,relu.size=\"4 KiB\"}]",
                          "--output", alone, "--progress", "off"})
            .code == 0);
  auto const json = nlohmann::json::parse(farfault_program({"inspect", alone, "--json"}).out);
  CHECK(json["result_digest"] == s.column("result_digest")[1]);
}

TEST_CASE("sweep: names of points must be distinguishable in the table") {
  auto const error = [](std::string const& first, std::string const& second) {
    SmallStudy const s("names", "[[sweep.list]]\nname = \"" + first + "\"\n\n[[sweep.list]]\nname = \"" +
                                    second + "\"\ngpu.sms = 1\n");
    auto const text = s.error();
    REQUIRE(text.starts_with(s.file + ":"));
    return text.substr(s.file.size() + 1);
  };
  for (std::string const blank : {" ", "\u3000", "\u00a0 ", "\u200b"})
    CHECK(error("a", blank) == "12: name '" + blank + "' is blank\n");
  for (std::string const name : {" b", "b ", "b\u00a0", "\u2003b", "\u200bb", "b\u2060"})
    CHECK(error("a", name) ==
          "12: name '" + name + "' must not begin or end with a blank or an invisible character\n");
  CHECK(error("a", "b\\tc").starts_with("12: name 'b c' must be one line of at most 500 characters"));
  CHECK(error("a", "b\\u0007c").starts_with("12: name 'b c' must be one line"));
  CHECK(error("a b", "a b") == "11: the point at line 8 has the name 'a b', too\n");
  for (std::string const other : {"A b", "a  b", "a\u00a0b", "a\u2009 b", "a\u200b b"})
    CHECK(error("a b", other) ==
          "11: the point at line 8 has the name 'a b', which looks like the name of this point, '" + other +
              "'\n");
  CHECK(error("\u00c4\u03a9\u0416\u0401", "\u00e4\u03c9\u0436\u0451").find("looks like the name") !=
        std::string::npos);
  // Other names are distinct.
  SmallStudy const s(
      "names",
      "[[sweep.list]]\nname = \"a b\"\n[[sweep.list]]\nname = \"ab\"\n[[sweep.list]]\nname = \"a-b\"\n"
      "[[sweep.list]]\nname = \"\u00e4b\"\n[[sweep.list]]\nname = \"\u03b1b\"\ngpu.sms = 1\n");
  CHECK(s.sweep({"--collect"}).code == 1);
  CHECK(s.column("name") == Words{"a b", "ab", "a-b", "\u00e4b", "\u03b1b"});
}

TEST_CASE("sweep: no cell of the CSV is a spreadsheet formula, and numbers are unchanged") {
  SmallStudy const s(
      "formulas",
      "[[sweep.list]]\nname = \"=HYPERLINK(1)\"\n[[sweep.list]]\nname = \"+1,\\\"x\\\"\"\ngpu.sms = 1\n"
      "[[sweep.list]]\nname = \"@SUM(A1)\"\n[[sweep.list]]\nname = \"-x\"\n"
      "[[sweep.list]]\nname = \"-1.5\"\n[[sweep.list]]\nname = \"a=1\"\n");
  CHECK(s.sweep({"--collect"}).code == 1);
  CHECK(s.column("name") == Words{"'=HYPERLINK(1)", "'+1,x", "'@SUM(A1)", "'-x", "-1.5", "a=1"});
  CHECK(lines_of(s.csv())[2].starts_with("1,\"'+1,\"\"x\"\"\",missing,"));
  // The table for programs has them unchanged.
  CHECK(content(s.out / "sweep.h5").find("'=HYPERLINK") == std::string::npos);
  std::vector<results::SweepColumn> const columns{
      {"x", "figure", "1", "", std::vector<double>{-1.5, 2}},
      {"y", "parameter", "1", "", std::vector<std::string>{"-3", "-inf"}},
      {"z", "parameter", "1", "", std::vector<std::string>{"-3 us", "=-3"}}};
  CHECK(to_csv("run", columns) == "run,x,y,z\n0,-1.5,-3,'-3 us\n1,2,-inf,'=-3\n");
}

TEST_CASE("report, compare: the folder of a sweep selects its runs in table order") {
  SmallStudy const s("reported", "[sweep.grid]\ngpu.l2_tlb.entries = [512, 64, 128, 256]\n");
  auto const page = (s.folder / "page.html").string();
  auto const report = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "report");
    words.insert(words.end(), {"-o", page});
    return farfault_program(words);
  };
  CHECK(s.sweep({"--collect"}).code == 1);
  CHECK(report({s.out.string()}).err == "farfault: '" + s.out.string() + "' is not the folder of a sweep\n");
  CHECK(farfault_program({"compare", s.out.string()}).code == 2);
  REQUIRE(s.sweep({"--jobs", "1"}).code == 0);
  auto results = s.column("result");
  CHECK_FALSE(std::is_sorted(results.begin(), results.end()));
  REQUIRE(report({s.out.string()}).code == 0);
  auto const of_folder = content(page);
  std::vector<std::string> files;
  for (auto const& result : results) files.push_back((s.out / result).string());
  REQUIRE(report(files).code == 0);
  CHECK(content(page) == of_folder);
  auto words = files;
  words.insert(words.begin(), "compare");
  auto const compared = farfault_program({"compare", s.out.string()});
  CHECK(compared.code == 0);
  CHECK(compared.out == farfault_program(words).out);
  std::sort(files.begin(), files.end());
  REQUIRE(report(files).code == 0);
  CHECK(content(page) != of_folder);
  // Missing results are omitted; a result may also be named individually.
  fs::remove(s.out / results[2]);
  CHECK(report({s.out.string(), (s.out / results[0]).string()}).out.ends_with(" MB, 4 runs\n"));
  for (auto const& result : results) fs::remove(s.out / result);
  auto const r = report({s.out.string()});
  CHECK(r.code == 2);
  CHECK(r.err == "farfault: the sweep in '" + s.out.string() + "' has no results yet\n");
}

TEST_CASE("report, compare: a link out of a sweep's folder is rejected") {
  SmallStudy const s("links", "seeds = 2\n");
  REQUIRE(s.sweep().code == 0);
  auto const page = (s.folder / "page.html").string();
  auto const refused = [&](std::string const& sentence) {
    for (Words const& words : {Words{"compare", s.out.string()}, {"report", s.out.string(), "-o", page}}) {
      auto const r = farfault_program(words);
      CHECK(r.code == 2);
      CHECK(r.out == "");
      CHECK(r.err == "farfault: " + sentence + "; if you trust that file, name it explicitly\n");
      CHECK_FALSE(fs::exists(page));
    }
  };
  auto const first = s.out / s.column("result")[0], secret = s.folder / "secret.h5";
  fs::rename(first, secret);
  fs::create_symlink("../../secret.h5", first);
  refused("the result '" + first.string() + "' is outside the folder of the sweep, at '" + secret.string() +
          "'");
  // A folder whose name begins with the name of the sweep's folder is also outside.
  fs::create_directories(s.folder / "outer");
  fs::rename(secret, s.folder / "outer/secret.h5");
  fs::remove(first);
  fs::create_symlink(s.folder / "outer/secret.h5", first);
  refused("the result '" + first.string() + "' is outside the folder of the sweep, at '" +
          (s.folder / "outer/secret.h5").string() + "'");
  fs::remove(first);
  fs::rename(s.folder / "outer/secret.h5", first);
  fs::rename(s.out / "runs", s.folder / "elsewhere");
  fs::create_directory_symlink(s.folder / "elsewhere", s.out / "runs");
  refused("the result '" + first.string() + "' is outside the folder of the sweep, at '" +
          (s.folder / "elsewhere" / first.filename()).string() + "'");
  // A link within the folder, and one to the folder, are accepted.
  fs::remove(s.out / "runs");
  fs::rename(s.folder / "elsewhere", s.out / "runs");
  fs::rename(first, s.out / "moved.h5");
  fs::create_symlink("../moved.h5", first);
  fs::create_directory_symlink(s.out, s.folder / "link");
  CHECK(farfault_program({"compare", (s.folder / "link").string()}).code == 0);
}

TEST_CASE("sweep: an error in an application of a point is reported with its line") {
  auto const with = [](std::string const& of_second) {
    SmallStudy const s("application_mistakes",
                       "[[sweep.list]]\nname = \"one\"\n\n[[sweep.list]]\nname = \"two\"\n"
                       "[[sweep.list.application]]\nname = \"a\"\nworkload = \"stream\"\n"
                       "[[sweep.list.application]]\nname = \"b\"\n\n" +
                           of_second);
    auto const error = s.error();
    REQUIRE(error.starts_with(s.file + ":"));
    return error.substr(s.file.size() + 1);
  };
  std::string const stream = "workload = \"stream\"\n";
  CHECK(with(stream + "[sweep.list.application.stream]\nbytes = \"8 KiB\"\nbite = 3\n") ==
        "22: unknown key 'application.b.stream.bite'; did you mean 'application.b.stream.bytes'?\n");
  CHECK(
      with(stream + "stream.bytes = 8\n") ==
      "20: application.b.stream.bytes: 8 has no unit; write it in quotes with a unit, such as \"64 MiB\"\n");
  CHECK(with("workload = \"steam\"\n").starts_with("19: application.b.workload: unknown workload 'steam'"));
  // A missing key is reported at its table.
  CHECK(with("sms = 1\n") == "16: application.b.workload is missing; set it to the workload to run\n");
  CHECK(with(stream + "\"s m s\" = 1\n") ==
        "16: key 'application.1.s m s' may contain only letters, digits, '_' and '-'\n");
  // The same for applications of all runs.
  SmallStudy const s("application_mistakes", "");
  std::ofstream(s.file) << "base = \"paper-gmmu-bypass\"\nsweep.seeds = 2\n[[config.application]]\n"
                           "name = \"a\"\nworkload = \"stream\"\n\nsms = \"many\"\n";
  CHECK(s.error().starts_with(s.file + ":7: application.a.sms: 'many' is not "));
}

TEST_CASE("sweep: two identical points are run once") {
  SmallStudy const s("same", "[sweep.grid]\nworkload.stream.bytes = [\"8 KiB\", \"8192 B\", \"8KiB\"]\n");
  auto const r = s.sweep();
  CHECK(r.code == 0);
  CHECK(r.out.starts_with("  3 runs (2 duplicates): 1 completed, 0 cached, 0 failed, 0 missing\n"));
  CHECK(s.results() == 1);
  CHECK(s.column("state") == Words{"done", "done", "done"});
  CHECK(s.column("workload.stream.bytes") == Words{"8 KiB", "8192 B", "8KiB"});
  auto const digests = s.column("result_digest");
  CHECK(digests[0] == digests[2]);
  s.write(
      "[[sweep.list]]\nname = \"one\"\nworkload.stream.bytes = \"8 KiB\"\n"
      "[[sweep.list]]\nname = \"as one\"\n");
  CHECK(s.sweep().out.starts_with("  2 runs (1 duplicate): 0 completed, 1 cached"));
  CHECK(s.column("name") == Words{"one", "as one"});
  CHECK(s.column("result_digest") == Words{digests[0], digests[0]});
}

}  // namespace sweep_list_test
