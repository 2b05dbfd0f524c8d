// `farfault explain` of runs with a bottleneck that was put there.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "capture.hpp"

namespace fs = std::filesystem;

namespace {

std::string made(std::string const& name, std::vector<std::string> const& sets) {
  auto const folder = fs::path(FARFAULT_BINARY_DIR) / "explain_test";
  fs::create_directories(folder);
  auto const path = (folder / name).string();
  std::vector<std::string> words{
      "run",   "paper-gmmu-bypass", "--output",   path,  "--threads", "1",
      "--set", "gpu.sms=8",         "--progress", "off", "--set",     "machine.topology=generic"};
  for (auto const& s : sets) words.insert(words.end(), {"--set", s});
  auto const r = farfault_program(words);
  CHECK_MESSAGE(r.code == 0, r.err);
  return path;
}

nlohmann::json explained(std::string const& path) {
  auto const r = farfault_program({"explain", path, "--json"});
  CHECK_MESSAGE(r.code == 0, r.err);
  return nlohmann::json::parse(r.out);
}

std::vector<std::string> transpose(int gpus, std::vector<std::string> more) {
  more.insert(more.end(), {"machine.generic.gpus=" + std::to_string(gpus), "workload.name=transpose",
                           "workload.transpose.width=256", "workload.transpose.height=256"});
  return more;
}

std::string first_line_of(std::string const& path) {
  auto const r = farfault_program({"explain", path});
  CHECK(r.err == "");
  std::istringstream in(r.out);
  std::string line;
  std::getline(in, line);
  CHECK(line.starts_with(path + ": completed after "));
  std::getline(in, line);
  auto const lines = 2 + std::count(std::istreambuf_iterator<char>(in), {}, '\n');
  CHECK(lines <= 32);
  return line;
}

}  // namespace

TEST_CASE("explain: one slow link is named first") {
  auto const path =
      made("link.h5", transpose(2, {"links.pcie_bandwidth=1 GB/s", "memory.placement=interleave"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["what"] == "links, each direction");
  CHECK(e["resources"][0]["busy"].get<double>() > 0.8);
  CHECK(first_line_of(path).starts_with("bound by links, each direction: "));
}

TEST_CASE("explain: one page walker is named first") {
  auto const path = made("walker.h5", transpose(1, {"gpu.gmmu.walkers=1", "gpu.l2_tlb.entries=32"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["busiest"] == "gpu0.gmmu");
  CHECK(first_line_of(path).starts_with("bound by page walkers: gpu0.gmmu is busy "));
}

TEST_CASE("explain: one DRAM channel is named first") {
  auto const path = made("dram.h5", transpose(1, {"gpu.dram.channels=1", "gpu.dram.bandwidth=4 GB/s"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["busiest"] == "gpu0.dram0");
  CHECK(first_line_of(path).starts_with("bound by DRAM channels: gpu0.dram0 is busy "));
}

TEST_CASE("explain: a slow driver is named first, of first touches and of batches") {
  auto const touches =
      made("driver.h5", transpose(2, {"memory.placement=first_touch", "memory.first_touch_by=driver",
                                      "driver.fault_latency=100us"}));
  auto e = explained(touches);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["what"] == "drivers");
  CHECK(e["stages"][0]["name"] == "sm_time_in_fault");
  auto const batches = made("batches.h5", transpose(1, {"memory.placement=cpu", "memory.remote_touch=migrate",
                                                        "memory.fault_path=gpu", "driver.batch.time=100us"}));
  e = explained(batches);
  CHECK(e["resources"][0]["what"] == "drivers");
  CHECK(first_line_of(batches).starts_with("bound by "));
}

TEST_CASE(
    "explain: a run that computes is bound by its SMs, and what they did and where accesses were adds up") {
  auto const path = made("compute.h5", {"machine.generic.gpus=1", "workload.name=sgemm",
                                        "workload.sgemm.m=64", "workload.sgemm.n=64", "workload.sgemm.k=64"});
  auto const e = explained(path);
  std::uint64_t sms = 0, stages = 0;
  for (auto const& p : e["sms"]) sms += p["ps"].get<std::uint64_t>();
  for (auto const& p : e["stages"]) stages += p["ps"].get<std::uint64_t>();
  CHECK(sms == e["sm_ps"]);
  CHECK(sms == 8 * e["end_ps"].get<std::uint64_t>());
  CHECK(stages == e["access_ps"]);
  CHECK(e["sms"].size() == 8);
  CHECK(e["stages"].size() == 13);
}

TEST_CASE("explain: what is no result is refused in one sentence") {
  auto const r = farfault_program({"explain", "nothing.h5"});
  CHECK(r.code == 2);
  CHECK(r.out == "");
  CHECK(r.err == "farfault: cannot read 'nothing.h5': no such file\n");
}
