// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/command_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "capture.hpp"
#include "farfault/engine/error.hpp"
#include "run/engine_values.hpp"

namespace command_line_test {

using namespace farfault;

namespace {

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

void check_wrong(std::vector<std::string> words, std::string const& sentence) {
  auto const r = farfault_program(std::move(words));
  CHECK(r.code == 2);
  CHECK(r.out == "");
  CHECK(r.err == "farfault: " + sentence + "\n");
}

}  // namespace

TEST_CASE("with several ranks, only the first reports command-line errors of a run") {
  std::vector<std::vector<std::string>> const mistakes{
      {"--bogus"}, {"--trace", "5us"}, {"--progress", "x"}, {"--until", "soon"}, {"--trace-sample", "3"}};
  for (auto const& mistake : mistakes) {
    std::vector<std::string> words{"run", "paper-gmmu-bypass"};
    words.insert(words.end(), mistake.begin(), mistake.end());
    for (std::string const rank : {"0", "1"}) {
      ::setenv("OMPI_COMM_WORLD_RANK", rank.c_str(), 1);
      auto const r = farfault_program(words);
      ::unsetenv("OMPI_COMM_WORLD_RANK");
      CHECK(r.code == 2);
      CHECK(r.err.empty() == (rank == "1"));
    }
  }
}

TEST_CASE("every command prints --help with an example to standard output") {
  for (std::string const name : {"run", "sweep", "params", "workloads", "statistics", "inspect", "compare",
                                 "explain", "report", "diff", "validate", "watch", "docs", "completion"}) {
    auto const r = farfault_program({name, "--help"});
    CHECK(r.code == 0);
    CHECK(r.err == "");
    CHECK(contains(r.out, "Example:\n  farfault " + name));
    CHECK(contains(farfault_program({"--help"}).out, "\n  " + name));
  }
}

TEST_CASE("the help of run lists its exit codes") {
  auto const r = farfault_program({"run", "--help"});
  CHECK(contains(r.out, "0 done, 1 failed or stopped without a checkpoint, 2 invalid input"));
  CHECK(contains(r.out, "3 stopped by a signal, checkpoint saved"));
}

TEST_CASE("params lists every section by name, including one named like a command") {
  for (std::string const section : {"run", "limits", "workload", "machine", "gpu.l2_tlb"}) {
    auto const r = farfault_program({"params", section});
    CHECK(r.code == 0);
    CHECK(contains(r.out, "[" + section));
    CHECK(r.err == "");
  }
}

TEST_CASE("an error in a file is one short line for any file name") {
  std::string const odd = "a\nfarfault: b\x1b[31mc\xff";
  std::string const huge(100'000, 'x');
  for (auto const& name : {odd, huge})
    for (std::vector<std::string> const& words :
         {std::vector<std::string>{"run", name},
          {"run", "./" + name},
          {"run", "paper-gmmu-bypass", "--output", name + "/x.h5"},
          {"run", "paper-gmmu-bypass", "--checkpoint", name + "/x"},
          {"run", "paper-gmmu-bypass", "--resume", name},
          {"run", "paper-gmmu-bypass", "--profile", name},
          {"run", "paper-gmmu-bypass", "--trace", name},
          {"run", "paper-gmmu-bypass", "--trace", "1us,2us," + name},
          {"run", "paper-gmmu-bypass", "--trace", "1us,2us", "--trace-output", name + "/x"},
          {"run", "paper-gmmu-bypass", "--partitions", name},
          {"run", "paper-gmmu-bypass", "--set", name},
          {"run", "paper-gmmu-bypass", "--until", name},
          {"validate", name},
          {"inspect", name},
          {"diff", name, name},
          {"compare", name, name},
          {"sweep", name},
          {"params", name}}) {
      CAPTURE(words[1].substr(0, 20));
      CAPTURE(words.size() > 2 ? words[2] : words[0]);
      auto all = words;
      if (words[0] == "run") all.insert(all.end(), {"--progress", "off"});
      auto const r = farfault_program(all);
      CHECK(r.code == 2);
      CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
      CHECK(r.err.size() < 1000);
      CHECK_FALSE(contains(r.err, "\x1b"));
      CHECK_FALSE(contains(r.err, "\xff"));
    }
}

TEST_CASE("--version prints the program, its version and its commit") {
  auto const r = farfault_program({"--version"});
  CHECK(r.code == 0);
  CHECK(contains(r.out, "farfault " FARFAULT_VERSION));
  auto const commit = cli::program_commit();
  CHECK(contains(r.out, " (commit ") == (commit != "unknown"));
  if (commit != "unknown") CHECK(contains(r.out, "(commit " + commit.substr(0, commit.find(' '))));
  CHECK(std::count(r.out.begin(), r.out.end(), '\n') == 1);
}

TEST_CASE("an invalid command line gives one sentence and exit code 2") {
  check_wrong({},
              "missing command; expected one of: run, sweep, params, workloads, statistics, inspect, "
              "compare, explain, report, diff, validate, watch, docs, completion (see farfault --help)");
  check_wrong({"inspcet", "x"}, "unknown command 'inspcet'; did you mean 'inspect'?");
  check_wrong({"run"}, "missing argument CONFIG (TOML file, or name of a preset); see farfault run --help");
  check_wrong(
      {"inspect", "--json"},
      "missing argument FILE (file, or name of a built-in machine or preset); see farfault inspect --help");
  check_wrong({"diff", "a.h5"}, "missing argument B.h5 (another result); see farfault diff --help");
  check_wrong({"validate"}, "missing argument F.h5 (a result); see farfault validate --help");
  check_wrong({"completion"}, "missing argument bash|zsh|fish (shell); see farfault completion --help");
  check_wrong({"run", "a.toml", "--threads", "0"},
              "--threads: Value 0 not in range 1 to 4096 (see farfault run --help)");
  check_wrong({"run", "a.toml", "--until", "5"}, "--until '5' has no unit; write a time such as '5 us'");
  check_wrong({"run", "a.toml", "--trace", "1us,2"}, "--trace '2' has no unit; write a time such as '5 us'");
  check_wrong({"run", "a.toml", "--until", "0 s"}, "--until '0 s' must be greater than zero");
  check_wrong({"run", "a.toml", "--progress", "maybe"}, "--progress 'maybe' is not one of: auto, on, off");
  check_wrong({"workloads", "--nosuch"},
              "the following argument was not expected: --nosuch (see farfault workloads --help)");
}

TEST_CASE("exceptions are mapped to exit codes in one place") {
  auto const code_of = [](auto thrower, std::string& printed) {
    std::ostringstream err;
    auto const code = cli::exit_code_of(
        [&]() -> int {
          thrower();
          return 0;
        },
        err);
    printed = err.str();
    return code;
  };
  std::string printed;
  CHECK(code_of([] {}, printed) == 0);
  CHECK(printed == "");
  CHECK(code_of([] { throw UserError("x.toml:1: no"); }, printed) == 2);
  CHECK(printed == "farfault: x.toml:1: no\n");
  CHECK(code_of([] { throw RunError("the disk is full"); }, printed) == 1);
  CHECK(printed == "farfault: the disk is full\n");
  CHECK(code_of([] { throw std::bad_alloc(); }, printed) == 1);
  CHECK(printed == "farfault: out of memory\n");
}

TEST_CASE("params lists each parameter with default, unit, range, source and conditions") {
  auto const all = farfault_program({"params"});
  CHECK(all.code == 0);
  CHECK(contains(all.out, "\n  run.seed\n"));
  auto const json = farfault_program({"params", "--json"});
  CHECK(json.code == 0);
  CHECK(json.out.substr(0, 23) == "{\"parameters\":[{\"key\":\"");
  CHECK(std::count(json.out.begin(), json.out.end(), '\n') == 1);
  auto const one = "gpu.router.gmmu_bypass.counter_bits";
  CHECK(contains(farfault_program({"params", one}).out,
                 "\n      Only with  gpu.router.policy = \"gmmu_bypass\"\n"));
  CHECK(
      contains(farfault_program({"params", one, "--json"}).out,
               ",\"only_with\":[\"gpu.router.policy = \\\"gmmu_bypass\\\"\"],\"page\":\"reference/parameters/"
               "gpu-router.html#gpu-router-gmmu-bypass-counter-bits\"}"));
  auto const wrong = farfault_program({"params", "no_such_section_at_all"});
  CHECK(wrong.code == 2);
  CHECK(wrong.out == "");
}

TEST_CASE("statistics lists the recorded statistics by path, for chosen policies only") {
  auto const r = farfault_program({"statistics", "paper-gmmu-bypass", "--set", "workload.name=vectoradd",
                                   "--set", "workload.vectoradd.elements=1024"});
  CHECK(r.code == 0);
  CHECK(contains(r.out, "/timeseries/gmmu, 4 instances\n"));
  CHECK(contains(r.out, "\n  walk_latency\n"));
  CHECK(contains(r.out, "/tables/kernels: One row per completed kernel. Statistics of SMs"));
  auto const of_kernels = r.out.substr(r.out.find("/tables/kernels"));
  CHECK(contains(of_kernels, "\n  finished\n"));
  CHECK(contains(of_kernels, "\n  l1_tlb_misses\n"));
  CHECK_FALSE(contains(r.out, "/timeseries/gpu.router"));
  auto const bypass = farfault_program(
      {"statistics", "paper-gmmu-bypass", "--json", "--set", "workload.name=vectoradd", "--set",
       "workload.vectoradd.elements=1024", "--set", "gpu.router.policy=gmmu_bypass"});
  CHECK(contains(
      bypass.out,
      "{\"path\":\"/timeseries/gpu.router/local_predictions\",\"unit\":\"count\",\"kind\":\"counter\","
      "\"instances\":4,"));
  CHECK(farfault_program({"statistics", "no-such-preset"}).code == 2);
  CHECK(farfault_program({"statistics", "paper-gmmu-bypass", "--set", "gpu.sms=2", "stray"}).code == 2);
}

TEST_CASE("statistics of something else than a configuration, or of a policy that is not selected") {
  auto const refused = [](std::vector<std::string> words) {
    words.insert(words.begin(), "statistics");
    auto const called = farfault_program(words);
    CHECK(called.code == 2);
    CHECK(called.out == "");
    return called.err;
  };
  CHECK(refused({"gpu.l2_tlb.entries"}) ==
        "farfault: 'gpu.l2_tlb.entries' is a parameter, not a configuration; `farfault params "
        "gpu.l2_tlb.entries` describes it\n");
  CHECK(refused({"gpu.router"}) ==
        "farfault: 'gpu.router' is a parameter, not a configuration; `farfault params gpu.router` describes "
        "it\n");
  CHECK(refused({"local_predictions"}) ==
        "farfault: 'local_predictions' is a statistic of gpu.router.policy = \"gmmu_bypass\", not a "
        "configuration; use `farfault statistics CONFIG --set gpu.router.policy=gmmu_bypass`\n");
  CHECK(refused({"/timeseries/l2_tlb/hits"}) ==
        "farfault: '/timeseries/l2_tlb/hits' is a path in a result, not a configuration; use `farfault "
        "statistics CONFIG --search hits`\n");
  CHECK(contains(refused({"l2_tlb"}), "'l2_tlb' is neither a file nor a preset ("));
  std::string const preset = "paper-gmmu-bypass";
  CHECK(refused({preset, "--search", "local_predictions"}) ==
        "farfault: /timeseries/gpu.router/local_predictions is recorded only with gpu.router.policy = "
        "\"gmmu_bypass\", which paper-gmmu-bypass does not select; add --set "
        "gpu.router.policy=gmmu_bypass\n");
  CHECK(refused({preset, "--search", "gpu.l2_tlb.entries"}) ==
        "farfault: no statistic contains 'gpu.l2_tlb.entries', which is a parameter; `farfault params "
        "gpu.l2_tlb.entries` describes it\n");
  CHECK(refused({preset, "--search", "nosuchword"}) ==
        "farfault: no statistic contains 'nosuchword'; use fewer or shorter words\n");
}

TEST_CASE("workloads lists names and descriptions") {
  auto const r = farfault_program({"workloads"});
  CHECK(r.code == 0);
  CHECK(contains(r.out, "  bfs "));
  CHECK(contains(farfault_program({"workloads", "relu", "--json"}).out,
                 "{\"workloads\":[{\"name\":\"relu\",\"text\":\""));
}

}  // namespace command_line_test
