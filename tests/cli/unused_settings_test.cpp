// SPDX-License-Identifier: Apache-2.0
// Settings without effect: warnings of a run, errors and warnings of a sweep.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "farfault/results/reader.hpp"
#include "small_study.hpp"

namespace unused_settings_test {

using namespace farfault;
using namespace farfault::cli;

namespace {

constexpr char const* kNoNvlinkRate =
    "it acts only with an NVLink 2, 3 or 4 without a stated bandwidth; use links.scale.nvlink.bandwidth "
    "instead\n";
constexpr char const* kNoNvlink = "it acts only with a machine with NVLinks\n";

struct Made {
  Called called;
  std::string path;
  std::string digest() const { return results::read_summary(path).result_digest; }
  std::int64_t end() const { return results::read_summary(path).last_time_ps; }
};

// A short run on `machine`.
Made made(std::string const& name, std::string const& machine, std::vector<std::string> const& sets) {
  auto const path = (fresh("run_" + name) / "run.h5").string();
  std::vector<std::string> words{"run", "paper-gmmu-bypass", "--output", path, "--progress",
                                 "off", "--threads",         "1"};
  auto all = sets;
  for (auto const* set : {"gpu.sms=1", "workload.name=stream", "workload.stream.bytes=8 KiB"})
    all.emplace_back(set);
  all.push_back("machine.topology=" + machine);
  for (auto const& set : all) words.insert(words.end(), {"--set", set});
  auto const r = farfault_program(words);
  CHECK(r.code == 0);
  return {r, path};
}

}  // namespace

TEST_CASE("run: a link default that no link takes gives a warning with the factor to set instead") {
  auto const slow = made("slow", "dgx1", {"links.nvlink_bandwidth=1GB/s"});
  CHECK(slow.called.err ==
        std::string("farfault: warning: links.nvlink_bandwidth (--set) has no effect: ") + kNoNvlinkRate);
  auto const fast = made("fast", "dgx1", {"links.nvlink_bandwidth=100GB/s"});
  CHECK(fast.digest() == slow.digest());
  CHECK(farfault_program({"validate", slow.path}).code == 0);
  CHECK(farfault_program({"diff", slow.path, fast.path}).code == 0);
  CHECK(made("none", "two-gpu", {"links.nvlink_bandwidth=1GB/s"}).called.err ==
        std::string("farfault: warning: links.nvlink_bandwidth (--set) has no effect: ") + kNoNvlink);
}

TEST_CASE("run: a factor of links has an effect on any machine that has such links") {
  for (std::string const machine : {"two-gpu", "dgx1"}) {
    auto const plain = made("plain", machine, {});
    auto const scaled = made("scaled", machine, {"links.scale.pcie.latency=4"});
    CHECK(scaled.called.err == "");
    CHECK(scaled.end() > plain.end());
    CHECK(made("same", machine, {"links.scale.pcie.latency=1"}).digest() == plain.digest());
  }
  CHECK(made("xgmi", "dgx1", {"links.scale.xgmi.bandwidth=0.5"}).called.err ==
        "farfault: warning: links.scale.xgmi.bandwidth (--set) has no effect: it acts only with a machine "
        "with xGMI links\n");
}

TEST_CASE("run: after eight settings without effect, only their number is reported") {
  std::vector<std::string> sets;
  for (auto const* key :
       {"gpu.router.gmmu_bypass.t1=0.5", "gpu.router.gmmu_bypass.t2=0.5", "memory.migrate.after=2",
        "memory.random.seed=2", "memory.interleaved.parts=2", "nic.latency=1us", "machine.generic.gpus=2",
        "machine.cluster.radix=8", "machine.cluster.x=2", "links.nvlink_latency=1us"})
    sets.emplace_back(key);
  auto const lines = lines_of(made("many", "two-gpu", sets).called.err);
  REQUIRE(lines.size() == 9);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(lines[i].starts_with("farfault: warning: "));
    CHECK(lines[i].find(" (--set) has no effect: it acts only with ") != std::string::npos);
  }
  CHECK(lines[8] == "farfault: warning: 2 more settings have no effect");
}

TEST_CASE("sweep: a varied key without effect in any run is an error, before anything runs") {
  SmallStudy const s("unused_axis", "[sweep.grid]\nlinks.nvlink_bandwidth = [\"1 GB/s\", \"100 GB/s\"]\n");
  CHECK(s.error() == s.file + ":9: links.nvlink_bandwidth varies but has no effect in any run: " + kNoNvlink);
  CHECK(s.error({"--dry-run"}) == s.error());
  CHECK(s.error({"--set", "machine.topology=dgx1"}) ==
        s.file + ":9: links.nvlink_bandwidth varies but has no effect in any run: " + kNoNvlinkRate);

  s.write(
      "[[sweep.list]]\nmachine.topology = \"dgx1\"\nlinks.nvlink_bandwidth = \"1 GB/s\"\n"
      "memory.migrate.after = 3\n[[sweep.list]]\nmachine.topology = \"dgx2\"\n");
  auto const lines = lines_of(s.error());
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with(s.file + ":10: links.nvlink_bandwidth varies but has no effect in any run: "));
  CHECK(lines[1] == "farfault: " + s.file +
                        ":11: memory.migrate.after varies but has no effect in any run: it acts only with "
                        "memory.remote_touch = \"migrate\"");
}

TEST_CASE("sweep: a varied key without effect in some runs gives a warning with their number") {
  SmallStudy const s("partly_unused",
                     "[sweep.grid]\ngpu.router.policy = [\"distributed\", \"gmmu_bypass\"]\n"
                     "gpu.router.gmmu_bypass.epoch = [\"5 us\", \"10 us\", \"20 us\"]\n");
  auto const r = s.sweep({"--jobs", "2"});
  CHECK(r.code == 0);
  CHECK(r.err == "farfault: warning: gpu.router.gmmu_bypass.epoch (" + s.file +
                     ":10) has no effect in 3 of the 6 runs that set it: it acts only with gpu.router.policy "
                     "= \"gmmu_bypass\"\n");
  CHECK(r.out.starts_with("  6 runs (2 duplicates): 4 completed, 0 cached, 0 failed, 0 missing\n"));
  // A part sees only some of the runs: here, runs without gmmu_bypass.
  auto const part = s.sweep({"--part", "1/6"});
  CHECK(part.code == 0);
  CHECK(part.err == "");
}

TEST_CASE("sweep: a common setting without effect in any run gives a warning") {
  SmallStudy const s("unused_common", "[sweep.grid]\ngpu.l2_tlb.entries = [64, 512]\n");
  auto const r = s.sweep({"--set", "links.nvlink_latency=1us", "--set", "gpu.l2_tlb.latency = 7"});
  CHECK(r.code == 0);
  CHECK(r.err == std::string("farfault: warning: links.nvlink_latency (--set) has no effect in any run: ") +
                     kNoNvlink);
  s.write("[sweep.grid]\nmemory.remote_touch = [\"migrate\", \"remote_access\"]\n");
  CHECK(s.sweep({"--set", "memory.migrate.after=3"}).err == "");  // it has one in the first run
}

TEST_CASE("sweep: a factor of links is a dimension of a study on any machine") {
  SmallStudy const s("scale",
                     "[sweep.grid]\nlinks.scale.pcie.latency = [1, 2.5]\n"
                     "links.scale.by_name = [\"\", \"root-switch0 bandwidth=0.01\"]\n");
  auto const r = s.sweep({"--jobs", "2"});
  CHECK(r.code == 0);
  CHECK(r.err == "");
  auto digests = s.column("result_digest");
  std::sort(digests.begin(), digests.end());
  CHECK(std::unique(digests.begin(), digests.end()) == digests.end());
  s.write("[sweep.grid]\nlinks.scale.by_name = [\"\",\n\"root-gpu9 bandwidth=0.01\"]\n");
  auto const wrong = s.sweep();
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("links.scale.by_name: the machine has no link 'root-gpu9'") != std::string::npos);
}

}  // namespace unused_settings_test
