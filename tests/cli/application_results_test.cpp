// SPDX-License-Identifier: Apache-2.0
// Results and screen output of runs with several applications.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "capture.hpp"
#include "farfault/results/reader.hpp"
#include "two_applications.hpp"

namespace application_results_test {

using namespace farfault;
using namespace two_applications;

TEST_CASE("the summary has one row and the output one line per application; diff compares applications") {
  auto const run = [](std::string const& name, std::vector<std::string> const& sets) {
    std::vector<std::string> words{"run",        scratch("f.toml", kTwo),
                                   "--output",   (folder() / name).string(),
                                   "--threads",  "1",
                                   "--progress", "off"};
    for (auto const& s : sets) {
      words.emplace_back("--set");
      words.push_back(s);
    }
    return farfault_program(words);
  };
  auto const first = run("one.h5", {"gpu.sms=4", "application.sort.sms=1", "application.sort.gpus=2"});
  CHECK(first.code == 0);
  CHECK(first.err == "");
  CHECK(first.out.find("  applications          2, ") == 0);
  CHECK(first.out.find("\n    fir                 fir, 0.0 MiB\n"
                       "    sort                stream, 0.0 MiB, 1 SM of 1 GPU\n") != std::string::npos);
  std::vector<std::string> names;
  for (auto const& row : results::read_summary((folder() / "one.h5").string()).summary)
    if (row.scope == "application" && row.metric == "footprint") names.push_back(row.name);
  CHECK(names == std::vector<std::string>{"fir", "sort"});
  CHECK(run("two.h5", {"gpu.sms=4", "application.sort.sms=2", "application.sort.gpus=2"}).code == 0);
  auto const diff =
      farfault_program({"diff", (folder() / "one.h5").string(), (folder() / "two.h5").string()});
  CHECK(diff.out.find("application.sort.sms (1, 2)") != std::string::npos);
}

TEST_CASE("an application stopped before its end has the time until the stop; one not launched has no time") {
  auto const span_at = [](std::string const& until) {
    auto const file = (folder() / ("until" + until + ".h5")).string();
    auto const run =
        farfault_program({"run", scratch("f.toml", kTwo), "--output", file, "--threads", "1", "--progress",
                          "off", "--until", until, "--set", "application.sort.start=5us"});
    CHECK(run.code == 0);
    std::map<std::string, std::uint64_t> of_sort;
    for (auto const& row : results::read_summary(file).summary)
      if (row.scope == "application" && row.name == "sort") of_sort[row.metric] = row.value;
    return of_sort;
  };
  auto const launched = span_at("6us");
  CHECK(launched.at("start") == 5'000'000);
  CHECK(launched.at("end") > 5'000'000);
  CHECK(launched.at("end") <= 6'000'000);
  CHECK(launched.at("cycles") <= 1000);
  auto const waiting = span_at("4us");
  for (auto const* metric : {"start", "end", "cycles", "kernels", "sm_instructions"})
    CHECK(waiting.at(metric) == 0);
}

TEST_CASE("a short application is relaunched, with one row per run, until the long application has ended") {
  auto const file = (folder() / "relaunched.h5").string();
  auto const run = [&](std::vector<std::string> const& more) {
    std::vector<std::string> words{"run",        scratch("f.toml", kTwo),
                                   "--output",   file,
                                   "--threads",  "1",
                                   "--progress", "off",
                                   "--set",      "gpu.sms=4",
                                   "--set",      "application.fir.fir.size=256KiB",
                                   "--set",      "gpu.l1_cache.mshrs=128",
                                   "--set",      "gpu.l1_cache.latency=1",
                                   "--set",      "gpu.l1_tlb.mshrs=64"};
    words.insert(words.end(), more.begin(), more.end());
    auto const called = farfault_program(words);
    CHECK(called.code == 0);
    CHECK(called.err == "");
    return called.out;
  };
  auto const rows_of = [&](std::string const& table) {
    for (auto const& t : results::read_summary(file).tables)
      if (t.name == table) return static_cast<std::int64_t>(t.rows);
    return std::int64_t{-1};
  };
  auto const without = run({});
  CHECK(rows_of("kernels") == 2);
  CHECK(rows_of("runs") == -1);
  CHECK(without.find("    sort                stream, 0.0 MiB\n") != std::string::npos);
  std::vector<std::string> const relaunch{"--set", "application.sort.relaunch=true"};
  auto const with = run(relaunch);
  CHECK(rows_of("kernels") > 3);
  CHECK(rows_of("runs") == rows_of("kernels"));  // each program is one kernel
  CHECK(with.find("    sort                stream, relaunched until all have completed, 0.0 MiB\n") !=
        std::string::npos);
  CHECK(with.find("  ended                 completed, digest ") != std::string::npos);
  CHECK(farfault_program({"validate", file}).code == 0);
  CHECK(farfault_program({"validate", file, "--json"}).out ==
        "{\"kind\":\"validation\",\"valid\":true,\"faults\":[]}\n");
  CHECK(farfault_program({"diff", file, file, "--json"}).out ==
        "{\"kind\":\"difference\",\"equal\":true,\"difference\":null,\"settings\":[],"
        "\"renamed_inputs\":[]}\n");
  // An application that is cut by the time limit during a relaunch has the time until then.
  auto const cut = [&](std::string const& until) {
    auto words = relaunch;
    words.insert(words.end(), {"--until", until});
    run(words);
    std::map<std::string, std::uint64_t> of_sort;
    for (auto const& row : results::read_summary(file).summary)
      if (row.scope == "application" && row.name == "sort") of_sort[row.metric] = row.value;
    return of_sort;
  };
  auto const early = cut("20us");
  CHECK(early.at("kernels") > 0);
  CHECK(early.at("end") == 20'000'000);
}

TEST_CASE("params lists the parameters of an application") {
  auto const called = farfault_program({"params", "application"});
  CHECK(called.code == 0);
  CHECK(called.out.find("[application] ") == 0);
  for (auto const* key : {"name", "workload", "space", "gpus", "sms", "start", "repeats", "relaunch"})
    CHECK(called.out.find("\n  application." + std::string(key) + "\n") != std::string::npos);
  CHECK(called.out.find("\n      Unit     count or text\n      Default  own\n      Source   assumed\n") !=
        std::string::npos);
}

}  // namespace application_results_test
