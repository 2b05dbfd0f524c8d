// SPDX-License-Identifier: Apache-2.0
// `farfault sweep` of studies of small runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "capture.hpp"
#include "small_study.hpp"
#include "sweep/plan.hpp"

namespace sweep_test {

namespace fs = std::filesystem;
using namespace farfault;
using namespace farfault::cli;

TEST_CASE("sweep: a grid gives all combinations, the first key varying slowest, and a table") {
  SmallStudy const s("grid", kTwoByTwo);
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(r.err == "");
  CHECK(r.out.starts_with("  4 runs: 4 completed, 0 cached, 0 failed, 0 missing\n"));
  CHECK(s.column("run") == Words{"0", "1", "2", "3"});
  CHECK(s.column("state") == Words{"done", "done", "done", "done"});
  CHECK(s.column("gpu.l2_tlb.entries") == Words{"64", "64", "512", "512"});
  CHECK(s.column("workload.stream.bytes") == Words{"8 KiB", "16 KiB", "8 KiB", "16 KiB"});
  auto const loads = s.column("sm_transactions");
  CHECK(std::stoul(loads[1]) == 2 * std::stoul(loads[0]));
  CHECK(loads[2] == loads[0]);
  CHECK(s.results() == 4);
  for (auto const& result : s.column("result"))
    CHECK(farfault_program({"validate", (s.out / result).string()}).code == 0);
}

TEST_CASE("sweep: `farfault run` reproduces a run of the table with the command in its result") {
  SmallStudy const s("command", "[[sweep.list]]\nworkload.stream.bytes = \"16 KiB\"\n");
  REQUIRE(s.sweep().code == 0);
  auto const alone = (s.folder / "alone.h5").string();
  CHECK(farfault_program({"run", "paper-gmmu-bypass", "--set", "gpu.sms=2", "--set", "workload.name=stream",
                          "--set", "workload.stream.bytes=16 KiB", "--output", alone, "--progress", "off"})
            .code == 0);
  auto const json = nlohmann::json::parse(farfault_program({"inspect", alone, "--json"}).out);
  CHECK(json["result_digest"] == s.column("result_digest")[0]);
}

TEST_CASE("sweep: only missing runs and runs with outdated inputs are executed") {
  SmallStudy const s("again", kTwoByTwo);
  REQUIRE(s.sweep().code == 0);
  auto const table = content(s.out / "sweep.h5"), csv = s.csv();
  auto const times = s.times();
  auto r = s.sweep();
  CHECK(r.out.starts_with("  4 runs: 0 completed, 4 cached, 0 failed, 0 missing\n"));
  CHECK(s.times() == times);
  CHECK(content(s.out / "sweep.h5") == table);
  CHECK(s.csv() == csv);

  // A larger grid, in another order and with a parameter that is listed with its previous value.
  s.write(
      "[sweep.grid]\nworkload.stream.bytes = [\"16 KiB\", \"8 KiB\", \"24 KiB\"]\n"
      "gpu.l2_tlb.entries = [512, 64]\nrun.seed = [1]\n");
  r = s.sweep();
  CHECK(r.out.starts_with("  6 runs: 2 completed, 4 cached, 0 failed, 0 missing\n"));

  // Another setting of all runs invalidates all earlier results. With the original setting all are cached.
  r = s.sweep({"--set", "gpu.dram.controller_latency=300ns"});
  CHECK(r.out.starts_with("  6 runs: 6 completed, 0 cached"));
  r = s.sweep();
  CHECK(r.out.starts_with("  6 runs: 0 completed, 6 cached"));

  // A file with the name of a result that belongs to another run or is not a result.
  auto const first = s.out / s.column("result")[0], second = s.out / s.column("result")[1],
             third = s.out / s.column("result")[2];
  fs::copy_file(second, first, fs::copy_options::overwrite_existing);
  std::ofstream(third) << "no result";
  // No value of these files is used; the table has the reason.
  r = s.sweep({"--collect"});
  CHECK(r.code == 1);
  CHECK(r.err ==
        "farfault: 2 runs are missing; execute the sweep again without --collect (as a Slurm job: with "
        "--slurm)\n");
  CHECK(lines_of(r.out)[1] == "  stale     2 existing results are outdated, modified or incomplete");
  CHECK(s.column("state") == Words{"missing", "done", "missing", "done", "done", "done"});
  CHECK(s.column("error") ==
        Words{kOfAnotherConfiguration, "", "the existing file is not a result", "", "", ""});
  r = s.sweep();
  CHECK(r.out.starts_with("  6 runs: 2 completed, 4 cached"));
  CHECK(s.column("error") == Words{"", "", "", "", "", ""});
  // Limits decide whether a run is allowed, never its result.
  r = s.sweep({"--set", "limits.nodes=1000"});
  CHECK(r.out.starts_with("  6 runs: 0 completed, 6 cached"));
}

TEST_CASE("sweep: a cached result stays valid while the content of its input file is unchanged") {
  SmallStudy const s("inputs",
                     "[sweep.grid]\nworkload.name = [\"bfs\"]\nworkload.bfs.graph = [\"a.graph\"]\n");
  auto const graph = [&](std::string const& name, std::string const& text) {
    std::ofstream(s.folder / name) << text;
  };
  graph("a.graph", "3 2\n2 3\n1\n1\n");
  auto r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(r.out.starts_with("  1 run: 1 completed"));
  CHECK(s.sweep().out.starts_with("  1 run: 0 completed, 1 cached"));
  graph("a.graph", "3 2\n2\n1 3\n2\n");
  CHECK(s.sweep().out.starts_with("  1 run: 1 completed, 0 cached"));
  graph("b.graph", "3 2\n2\n1 3\n2\n");
  s.write("[sweep.grid]\nworkload.name = [\"bfs\"]\nworkload.bfs.graph = [\"b.graph\"]\n");
  CHECK(s.sweep().out.starts_with("  1 run: 0 completed, 1 cached"));
}

TEST_CASE("sweep: the number of concurrent runs does not affect the table") {
  SmallStudy const one("one_job", kTwoByTwo), two("two_jobs", kTwoByTwo);
  CHECK(one.sweep({"--jobs", "1"}).code == 0);
  CHECK(two.sweep({"--jobs", "2"}).code == 0);
  CHECK(content(one.out / "sweep.h5") == content(two.out / "sweep.h5"));
  CHECK(one.csv() == two.csv());
}

TEST_CASE("sweep: a failed run is a row of the table, and the other runs continue") {
  SmallStudy const s("failing",
                     "[sweep.grid]\nworkload.stream.bytes = [\"8 KiB\", \"512 GiB\", \"16 KiB\"]\n");
  auto const r = s.sweep({"--set", "limits.model=1GiB", "--set", "memory.placement=contiguous"});
  CHECK(r.code == 1);
  CHECK(s.column("state") == Words{"done", "failed", "done"});
  CHECK(r.err.starts_with("farfault: run 1 (workload.stream.bytes = 512 GiB) has failed: "));
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  CHECK(s.column("error")[1] != "");
  CHECK(s.column("end")[1] == "");
  CHECK(s.column("result")[1] == "");
  auto const json =
      nlohmann::json::parse(farfault_program({"inspect", (s.out / "sweep.h5").string(), "--json"}).out);
  CHECK(json["runs"] == 3);
  CHECK(json["done"] == 2);
  CHECK(json["failed"] == 1);
  CHECK(json["parameters"] == Words{"workload.stream.bytes"});
  // The run is executed again; commands that execute nothing report the failure.
  auto const again =
      s.sweep({"--collect", "--set", "limits.model=1GiB", "--set", "memory.placement=contiguous"});
  CHECK(again.code == 1);
  CHECK(s.column("error")[1] != "");
}

TEST_CASE("sweep: seeds are runs of one point, and the table has their spread") {
  SmallStudy const s("seeds",
                     "seeds = [7, 1, 3]\n[sweep.grid]\nworkload.name = [\"bfs\"]\n"
                     "workload.bfs.rmat.scale = [6, 7]\n");
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(s.column("run.seed") == Words{"7", "1", "3", "7", "1", "3"});
  std::vector<std::uint64_t> ends;
  for (auto const& end : s.column("end")) ends.push_back(std::stoull(end));
  auto const [low, high] = std::minmax_element(ends.begin() + 3, ends.end());
  CHECK(*low != *high);
  auto const spread = lines_of(content(s.out / "sweep_spread.csv"));
  REQUIRE(spread.size() == 3);
  CHECK(spread[0].starts_with("point,workload.name,workload.bfs.rmat.scale,seeds,"));
  CHECK(spread[2].starts_with("1,bfs,7,3,"));
  CHECK(spread[2].find("," + std::to_string(*low) + "," + std::to_string(*high)) != std::string::npos);
  // A number of seeds means the seeds from 1.
  s.write("seeds = 2\n[sweep.grid]\nworkload.name = [\"bfs\"]\nworkload.bfs.rmat.scale = [6]\n");
  CHECK(s.sweep().out.starts_with("  2 runs: 1 completed, 1 cached"));
  CHECK(s.column("run.seed") == Words{"1", "2"});
}

TEST_CASE("sweep: random values depend on the study's seed, and additional samples keep the first ones") {
  auto const random = [](std::string const& samples, std::string const& seed) {
    return "[sweep.random]\nsamples = " + samples + "\nseed = " + seed +
           "\ngpu.l2_tlb.entries = {low = 64, high = 1024, scale = \"powers_of_two\"}\n"
           "workload.stream.bytes = {low = \"4 KiB\", high = \"32 KiB\", step = \"4 KiB\"}\n"
           "gpu.router.policy = [\"distributed\", \"gmmu_bypass\"]\n";
  };
  SmallStudy const s("random", random("6", "1"));
  CHECK(s.sweep({"--collect"}).code == 1);
  auto const entries = s.column("gpu.l2_tlb.entries"), bytes = s.column("workload.stream.bytes");
  CHECK(std::set(bytes.begin(), bytes.end()).size() > 2);
  for (auto const& e : entries) CHECK((e == "64" || e == "128" || e == "256" || e == "512" || e == "1024"));
  for (auto const& b : bytes) CHECK(std::stoul(b) % 4 == 0);
  auto const csv = s.csv();
  CHECK(s.sweep({"--collect"}).code == 1);
  CHECK(s.csv() == csv);
  s.write(random("8", "1"));
  CHECK(s.sweep({"--collect"}).code == 1);
  CHECK(s.csv().starts_with(csv));
  s.write(random("6", "2"));
  CHECK(s.sweep({"--collect"}).code == 1);
  CHECK(s.csv() != csv);
  // The drawn values are fixed: different ones would invalidate the results of all random studies.
  CHECK(s.column("gpu.l2_tlb.entries") == Words{"256", "128", "256", "512", "128", "256"});
  CHECK(s.column("workload.stream.bytes") == Words{"28 KiB", "28 KiB", "4 KiB", "20 KiB", "20 KiB", "8 KiB"});
  CHECK(s.results() == 0);
}

TEST_CASE("sweep: parts share the runs, and the table collected from all parts is complete") {
  SmallStudy const whole("whole", kTwoByTwo), parts("parts", kTwoByTwo);
  CHECK(whole.sweep().code == 0);
  CHECK(parts.sweep({"--part", "2/3"}).code == 0);
  CHECK(parts.results() == 1);
  CHECK_FALSE(fs::exists(parts.out / "sweep.h5"));
  auto const collected = parts.sweep({"--collect"});
  CHECK(collected.code == 1);
  CHECK(collected.out.starts_with("  4 runs: 0 completed, 1 cached, 0 failed, 3 missing\n"));
  CHECK(collected.err ==
        "farfault: 3 runs are missing; execute the sweep again without --collect (as a Slurm job: with "
        "--slurm)\n");
  CHECK(parts.column("state") == Words{"missing", "done", "missing", "missing"});
  CHECK(parts.sweep({"--part", "1/3"}).code == 0);
  CHECK(parts.sweep({"--part", "3/3"}).code == 0);
  CHECK(parts.results() == 4);
  auto const complete = parts.sweep({"--collect"});
  CHECK(complete.code == 0);
  CHECK(complete.err == "");
  CHECK(parts.csv() == whole.csv());
}

TEST_CASE(
    "sweep: a dry run prints the number of runs, the estimated time and the folder, and writes nothing") {
  SmallStudy const s("dry", kTwoByTwo);
  auto const r = s.sweep({"--dry-run", "--slurm"});
  CHECK(r.code == 0);
  auto const lines = lines_of(r.out);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "  4 runs, 0 cached");
  CHECK(lines[1] == "  missing   4");
  CHECK(lines[2].starts_with("  time      "));
  CHECK(lines[2].find("0:00") == std::string::npos);
  CHECK(lines[2].find(" concurrent runs, if all take as long as the first, ") != std::string::npos);
  CHECK(lines[3] == "  folder    " + s.out.string());
  CHECK(lines[4] == "  slurm     array job of 4 parts, script " + (s.out / "sweep.sbatch").string());
  CHECK(lines[5].starts_with("  part      "));
  CHECK(lines[5].ends_with(" for 1 run, 1 at a time"));
  CHECK_FALSE(fs::exists(s.out));
}

TEST_CASE("sweep: a dry run of an array job prints the time of the part that takes longest") {
  auto const study = [](std::string const& cost) {
    return "[sweep.slurm]\nparts = 2\n[[sweep.list]]\ngpu.l2_tlb.entries = 64\n"
           "[[sweep.list]]\ngpu.l2_tlb.entries = 128\ncost = " +
           cost + "\n[[sweep.list]]\ngpu.l2_tlb.entries = 512\n";
  };
  SmallStudy const s("dry_parts", study("1"));
  auto const part = [&](std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--dry-run", "--slurm"});
    auto const lines = lines_of(s.sweep(more).out);
    REQUIRE(!lines.empty());
    return lines.back();
  };
  // The first and the third run are one part.
  CHECK(part().ends_with(" for 2 runs, 1 at a time"));
  CHECK(part({"--jobs", "2"}).ends_with(" for 2 runs, 2 at a time"));
  s.write(study("1e6"));
  CHECK(part().starts_with("  part      about "));
  CHECK(part().ends_with(" for 1 run, 1 at a time"));
  // Cached runs take no time.
  s.write(study("1"));
  REQUIRE(s.sweep({"--part", "1/2"}).code == 0);
  CHECK(part().ends_with(" for 1 run, 1 at a time"));
  REQUIRE(s.sweep().code == 0);
  CHECK(part().starts_with("  slurm     array job of 2 parts, "));
}

TEST_CASE("sweep: an error in the study is one sentence with its line, before any run") {
  auto const with = [](std::string const& rest) { return SmallStudy("mistakes", rest); };
  auto const at = [](std::string const& line) {
    return (fs::path(FARFAULT_BINARY_DIR) / "sweep_test/mistakes/study.toml").string() + ":" + line + ": ";
  };
  CHECK(with("[sweep.grid]\ngpu.l2_tlb.entires = [64]\n").error() ==
        at("9") + "unknown key 'gpu.l2_tlb.entires'; did you mean 'gpu.l2_tlb.entries'?\n");
  // The last point is checked like the first one.
  CHECK(with("[sweep.grid]\ngpu.l2_tlb.entries = [64, 128, \"256\"]\n").error() ==
        at("9") + "gpu.l2_tlb.entries: '256' is in quotes, but a value of this kind (count) takes none\n");
  CHECK(with("[sweep.grid]\ngpu.l2_tlb.entries = 64\n").error() ==
        at("9") + "'gpu.l2_tlb.entries' must be an array of values, such as [1, 2]\n");
  CHECK(with("seed = 3\n").error() ==
        at("8") + "unknown key 'sweep.seed' of a study; did you mean 'sweep.seeds'?\n");
  CHECK(with("").error() == at("1") +
                                "the study varies nothing: it needs [sweep.grid], [[sweep.list]], "
                                "[sweep.random] or sweep.seeds\n");
  CHECK(with("seeds = [1, 1]\n").error() == at("8") + "sweep.seeds has a seed twice\n");
  CHECK(
      with("seeds = 2\n[sweep.grid]\nrun.seed = [1, 2]\n").error() ==
      at("8") +
          "'run.seed' varies twice; it may appear in only one of sweep.list, sweep.random and sweep.grid\n");
  CHECK(with("[sweep.random]\nsamples = 2\ngpu.l2_tlb.entries = {low = 9, high = 2}\n").error() ==
        at("10") + "gpu.l2_tlb.entries: the range begins above its end\n");
  for (std::string const ends : {"low = nan, high = 2", "low = 1, high = inf"})
    CHECK(with("[sweep.random]\nsamples = 2\ngpu.l2_tlb.entries = {" + ends + "}\n").error() ==
          at("10") + "gpu.l2_tlb.entries: the ends of a range must be finite numbers\n");
  for (std::string const step : {"0", "\"0 B\"", "0.0"})
    CHECK(with("[sweep.random]\nsamples = 2\ngpu.l2_tlb.entries = {low = 2, high = 9, step = " + step + "}\n")
              .error() == at("10") + "'gpu.l2_tlb.entries': the step of a range must be above 0\n");
  CHECK(with("[sweep.random]\nsamples = 2\nworkload.stream.bytes = {low = \"4 KiB\", high = \"5 us\"}\n")
            .error() ==
        at("10") + "workload.stream.bytes: the ends of the range have different kinds of values\n");
  CHECK(with("[[sweep.list]]\nname = \"a\"\n[[sweep.list]]\nname = \"b\"\ngpu.l2_tlb.entries = 64\n"
             "[[sweep.list]]\nname = \"a\"\n")
            .error() == at("13") + "the point at line 8 has the name 'a', too\n");
  CHECK(with("[[sweep.list]]\nname = \"a\"\n[[sweep.list]]\ngpu.l2_tlb.entries = 64\n").error() ==
        at("10") + "some points [[sweep.list]] have a name and some have none; name all or none\n");
  CHECK(with("[[sweep.list]]\nname = 3\n").error() == at("9") + "name must be a name in quotes\n");
  CHECK(with("[[sweep.list]]\nname = \"a\\nb\"\n").error().find("must be one line of at most 500") !=
        std::string::npos);
  CHECK(with("[[sweep.list]]\ncost = 2\n").error() == at("8") + "this [[sweep.list]] sets nothing\n");
  for (std::string const cost : {"0", "-1.5", "nan", "inf"})
    CHECK(with("[[sweep.list]]\ngpu.sms = 3\ncost = " + cost + "\n").error() ==
          at("10") + "cost must be a number above 0, not " + cost + "\n");
  CHECK(with("[[sweep.list]]\ngpu.sms = 3\ncost = \"2\"\n").error() ==
        at("10") + "cost must be a number above 0, not '2'\n");
  auto const ten_million =
      with(
          "seeds = 1000\n[sweep.grid]\ngpu.l2_tlb.entries = [64, 128]\nworkload.stream.ops"
          " = [1, 2]\n[sweep.random]\nsamples = 2500\ngpu.sms = {low = 1, high = 2}\n")
          .error();
  CHECK(ten_million ==
        at("").substr(0, at("").size() - 3) + ": the study has more than 100000 runs, the maximum\n");
  auto const sets = with("[sweep.grid]\ngpu.l2_tlb.entries = [64]\n");
  CHECK(sets.error({"--set", "gpu.l2_tlb.entries=128"}) ==
        "--set 'gpu.l2_tlb.entries=128': the study varies this parameter\n");
  CHECK(sets.error({"--part", "3/2"}) == "--part '3/2' is not I/N, such as 1/4 to 4/4\n");
  // A contradiction between valid values is reported with its run.
  CHECK(with("[sweep.grid]\ngpu.l2_tlb.entries = [64, 48]\n")
            .error()
            .ends_with("must divide the number of entries, 48 (run 1: gpu.l2_tlb.entries = 48)\n"));
  std::ofstream(sets.file) << "base = \"no-such-preset\"\n[sweep]\nseeds = 2\n";
  CHECK(sets.error().starts_with(at("1") + "base 'no-such-preset' is neither a file nor a preset ("));
  CHECK(with("[sweep.grid]\nworkload.name = [\"bfs\"]\nworkload.bfs.graph = [\"gone.graph\"]\n")
            .error()
            .find("gone.graph") != std::string::npos);
}

TEST_CASE("sweep: a name with a NUL byte is rejected, and the message is not truncated") {
  auto const folder = fresh("nul");
  auto const file = (folder / "study.toml").string();
  auto const error = [&](std::string const& text) {
    std::ofstream(file) << text;
    auto const r = farfault_program({"sweep", file, "--progress", "off"});
    CHECK(r.code == 2);
    CHECK(r.out == "");
    CHECK(fs::directory_iterator(folder)->path().filename() == "study.toml");
    return r.err;
  };
  std::string const base = "base = \"paper-gmmu-bypass\"\n", seeds = "sweep.seeds = 1\n";
  CHECK(error(base + "sweep.output = \"out\\u0000er\"\n" + seeds) ==
        "farfault: " + file + ":2: sweep.output 'out er' contains a NUL character\n");
  CHECK(error("base = \"paper\\u0000x\"\n" + seeds)
            .starts_with("farfault: " + file + ":1: base 'paper x' contains a NUL"));
  CHECK(error(base + seeds + "config.workload.name = \"bfs\"\nconfig.workload.bfs.graph = \"a\\u0000b\"\n") ==
        "farfault: " + (folder / "a b").string() +
            ": its name contains a NUL character (run 0: run.seed = 1)\n");
}

TEST_CASE("sweep: a run with a missing input file is a failed row, and the other runs continue") {
  SmallStudy const s(
      "no_input",
      "[[sweep.list]]\nname = \"there\"\nworkload.name = \"bfs\"\nworkload.bfs.graph = \"a.graph\"\n"
      "[[sweep.list]]\nname = \"gone\"\nworkload.name = \"bfs\"\nworkload.bfs.graph = \"gone.graph\"\n"
      "[[sweep.list]]\nname = \"no machine\"\nmachine.topology = \"gone.xml\"\n"
      "[[sweep.list]]\nname = \"no graph\"\nworkload.name = \"bfs\"\nworkload.bfs.graph = \"b.graph\"\n"
      "[[sweep.list]]\nname = \"none\"\n[sweep.grid]\ngpu.sms = [2, 1]\n");
  std::ofstream(s.folder / "a.graph") << "3 2\n2 3\n1\n1\n";
  std::ofstream(s.folder / "b.graph") << "nonsense\n";
  auto r = s.sweep();
  CHECK(r.code == 1);
  CHECK(r.out.starts_with("  10 runs: 4 completed, 0 cached, 6 failed, 0 missing\n"));
  std::string const done = "done", failed = "failed";
  CHECK(s.column("state") == Words{done, done, failed, failed, failed, failed, failed, failed, done, done});
  CHECK(s.column("workload.bfs.graph")[2] == "gone.graph");
  CHECK(s.column("gpu.sms") == Words{"2", "1", "2", "1", "2", "1", "2", "1", "2", "1"});
  auto const errors = s.column("error");
  CHECK(errors[2].find("gone.graph: no such file") != std::string::npos);
  CHECK(errors[4].find("gone.xml") != std::string::npos);
  CHECK(errors[6].find("b.graph") != std::string::npos);
  auto const lines = lines_of(r.err);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "farfault: run 2 (gone, gpu.sms = 2) has failed: " + errors[2]);
  CHECK(s.sweep({"--part", "3/10"}).code == 2);
  r = s.sweep({"--part", "1/2"});
  CHECK(r.code == 1);
  CHECK(r.out.starts_with("  5 runs: 0 completed, 2 cached, 3 failed, 0 missing\n"));
  // When the file exists, the run is executed.
  std::ofstream(s.folder / "gone.graph") << "3 2\n2 3\n1\n1\n";
  r = s.sweep();
  CHECK(r.out.starts_with("  10 runs (2 duplicates): 0 completed, 4 cached, 4 failed, 0 missing\n"));
}

TEST_CASE("sweep: a deleted table is rebuilt from the cached results") {
  SmallStudy const s("deleted",
                     "seeds = 2\n[[sweep.list]]\nname = \"a\"\n[[sweep.list]]\nname = \"b\"\ngpu.sms = 1\n");
  REQUIRE(s.sweep().code == 0);
  std::map<std::string, std::string> tables;
  for (auto const* file : {"sweep.h5", "sweep.csv", "sweep_spread.csv"}) tables[file] = content(s.out / file);
  for (auto const& [file, before] : tables) {
    fs::remove(s.out / file);
    auto const r = s.sweep();
    CHECK_MESSAGE(r.code == 0, r.err);
    CHECK(r.out.starts_with("  4 runs: 0 completed, 4 cached"));
    for (auto const& [other, text] : tables) CHECK(content(s.out / other) == text);
  }
  // Without names the heading differs.
  s.write("seeds = 2\n");
  REQUIRE(s.sweep().code == 0);
  fs::remove(s.out / "sweep.h5");
  CHECK(s.sweep({"--collect"}).code == 0);
  // A table that no sweep wrote is not overwritten.
  fs::remove(s.out / "sweep.h5");
  for (std::string const heading :
       {"run,name,state", "run,state,error", "point,x,y", "x,state,error,result,result_digest,end"}) {
    std::ofstream(s.out / "sweep.csv") << heading << "\n0,1,2\n";
    CHECK(s.sweep().code == 2);
    CHECK(s.csv() == heading + "\n0,1,2\n");
  }
}

TEST_CASE("sweep: its table is not the result of a run, and commands for results reject it") {
  SmallStudy const s("readers", "seeds = 1\n");
  CHECK(s.sweep().code == 0);
  auto const table = (s.out / "sweep.h5").string();
  CHECK(farfault_program({"inspect", table}).out ==
        table + ": sweep of Farfault " FARFAULT_VERSION ", schema 3\n" +
            "  runs:     1: 1 done, 0 failed, 0 missing\n  varied:   run.seed\n  figures:  " +
            farfault_program({"inspect", table})
                .out.substr(farfault_program({"inspect", table}).out.find("figures:  ") + 10));
  for (Words const& words : {Words{"validate", table}, {"diff", table, table}, {"compare", table, table}}) {
    auto const r = farfault_program(words);
    CHECK(r.code == 2);
    CHECK(r.err == "farfault: '" + table + "' is the table of a sweep, not the result of one run\n");
  }
}

TEST_CASE("sweep: the example study of the handbook is valid") {
  auto const folder = fresh("handbook");
  auto const page = content(fs::path(FARFAULT_SOURCE_DIR) / "docs/guide/study-files.md");
  auto const begin = page.find("```toml\n") + 8;
  auto const study = (folder / "study.toml").string();
  std::ofstream(study) << page.substr(begin, page.find("```", begin) - begin);
  std::ofstream(folder / "run.toml") << "include = [\"paper-gmmu-bypass\"]\n";
  auto const r = farfault_program({"sweep", study, "--collect", "--progress", "off"});
  CHECK_MESSAGE(r.code == 1, r.err);
  CHECK(r.out.starts_with("  400 runs: 0 completed, 0 cached, 0 failed, 400 missing\n"));
}

TEST_CASE("sweep: a result of a different program, version or input is outdated") {
  SmallStudy const s("identity", "seeds = 1\n");
  REQUIRE(s.sweep().code == 0);
  auto const run = results::read_swept_run((s.out / s.column("result")[0]).string());
  RunOptions options;
  options.config_path = "paper-gmmu-bypass";
  options.sets = {"gpu.sms=2", "workload.name=stream", "workload.stream.bytes=8 KiB"};
  Model const model(options);
  RunIdentity const identity(model, false), extended(model, true);
  CHECK("runs/" + identity.name() + ".h5" == s.column("result")[0]);
  CHECK(identity.why_not_in(run) == "");
  CHECK(extended.why_not_in(run) == "");
  auto const why_not_changed = [&](RunIdentity const& of, auto change) {
    auto other = run;
    change(other);
    return of.why_not_in(other);
  };
  CHECK(why_not_changed(identity, [](auto& r) { r.commit = "another"; }) == kOfAnotherProgram);
  CHECK(why_not_changed(identity, [](auto& r) { r.farfault_version = "another"; }) == kOfAnotherProgram);
  CHECK(why_not_changed(identity, [](auto& r) { r.config += "x = 1\n"; }) == kOfAnotherConfiguration);
  CHECK(why_not_changed(identity, [](auto& r) { r.end_reason = "time_limit"; }) == kNotEnded);
  CHECK(why_not_changed(identity, [](auto& r) { r.result_digest.clear(); }) == kNotEnded);
  CHECK(why_not_changed(identity, [](auto& r) {
          r.inputs.push_back({"a", "b", 1, "c"});
        }) == kOfAnotherConfiguration);
  // Programs with the same source revision differ in their build.
  CHECK(why_not_changed(extended, [](auto& r) { r.build = "another"; }) == kOfAnotherProgram);
}

TEST_CASE("sweep: a grid with more than 1,000 keys is rejected") {
  std::string grid = "[sweep.grid]\n";
  for (int i = 0; i < 1001; ++i) grid += "k" + std::to_string(i) + " = [1]\n";
  SmallStudy const s("many_keys", grid);
  CHECK(s.error({"--dry-run"}) == s.file + ":8: [sweep.grid] has 1001 keys; at most 1000 are allowed\n");
}

}  // namespace sweep_test
