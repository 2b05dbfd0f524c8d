// SPDX-License-Identifier: Apache-2.0
// `farfault explain` of runs with a deliberate bottleneck.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "capture.hpp"

namespace explain_test {

namespace fs = std::filesystem;

namespace {

std::string made(std::string const& name, std::vector<std::string> const& sets,
                 std::vector<std::string> const& more = {}) {
  auto const folder = fs::path(FARFAULT_BINARY_DIR) / "explain_test";
  fs::create_directories(folder);
  auto const path = (folder / name).string();
  std::vector<std::string> words{
      "run",   "paper-gmmu-bypass", "--output",   path,  "--threads", "1",
      "--set", "gpu.sms=8",         "--progress", "off", "--set",     "machine.topology=generic"};
  for (auto const& s : sets) words.insert(words.end(), {"--set", s});
  words.insert(words.end(), more.begin(), more.end());
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
  CHECK(lines <= 38);
  return line;
}

}  // namespace

TEST_CASE("explain: one slow link is the first bottleneck") {
  auto const path =
      made("link.h5", transpose(2, {"links.pcie_bandwidth=1 GB/s", "memory.placement=interleave"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["what"] == "links (per direction)");
  CHECK(e["resources"][0]["busy"].get<double>() > 0.8);
  CHECK(e["resources"][0]["over_time"].size() == 20);
  CHECK(first_line_of(path).starts_with("Bottleneck: links (per direction): "));
}

TEST_CASE("explain: a single page walker is the first bottleneck") {
  auto const path = made("walker.h5", transpose(1, {"gpu.gmmu.walkers=1", "gpu.l2_tlb.entries=32"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["busiest"] == "gpu0.gmmu");
  CHECK(first_line_of(path).starts_with("Bottleneck: GMMU page walkers: gpu0.gmmu is busy "));
}

TEST_CASE("explain: a single DRAM channel is the first bottleneck") {
  auto const path = made("dram.h5", transpose(1, {"gpu.dram.channels=1", "gpu.dram.bandwidth=4 GB/s"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["busiest"] == "gpu0.dram0");
  CHECK(first_line_of(path).starts_with("Bottleneck: DRAM channels: gpu0.dram0 is busy "));
}

TEST_CASE("explain: a slow driver is the first bottleneck, with first touches and with batches") {
  auto const touches =
      made("driver.h5", transpose(2, {"memory.placement=first_touch", "memory.first_touch_by=driver",
                                      "driver.fault_latency=100us"}));
  auto e = explained(touches);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["what"] == "drivers");
  CHECK(e["resources"][0]["over_time"].size() == 20);
  CHECK(e["stages"][0]["name"] == "sm_time_in_fault");
  auto const batches = made("batches.h5", transpose(1, {"memory.placement=cpu", "memory.remote_touch=migrate",
                                                        "memory.fault_path=gpu", "driver.batch.time=100us"}));
  e = explained(batches);
  CHECK(e["resources"][0]["what"] == "drivers");
  CHECK(e["resources"][0]["over_time"].size() == 20);
  CHECK(first_line_of(batches).starts_with("Bottleneck: "));
}

TEST_CASE("explain: throughput of a run is its traffic over its time, and has a line per kind of resource") {
  auto const path = made("throughput.h5", transpose(2, {"memory.placement=interleave"}));
  auto const e = explained(path);
  auto const& all = e["throughputs"];
  REQUIRE(all.size() >= 3);
  CHECK(all[0]["what"] == "DRAM");
  CHECK(all[1]["what"] == "L2 cache");
  CHECK(all.back()["what"] == "pcie links");
  CHECK(all[0]["alike"] == 16);
  CHECK(all[0]["peak_bytes_per_second"] == 16 * 64e9);
  CHECK(all[1]["peak_bytes_per_second"] == all[1]["alike"].get<double>() * 64 * 1e9);
  // Each of the two arrays of 256 KiB is accessed once.
  CHECK(all[1]["bytes"].get<std::uint64_t>() >= 2 * (256 << 10));
  auto const seconds = e["end_ps"].get<double>() * 1e-12;
  for (auto const& t : all) {
    CHECK(t["bytes_per_second"].get<double>() == doctest::Approx(t["bytes"].get<double>() / seconds));
    CHECK(t["share_of_peak"].get<double>() <= t["busiest_share_of_peak"].get<double>() * 1.000001);
    CHECK(t["busiest_share_of_peak"].get<double>() <= 1.0);
  }
  auto const text = farfault_program({"explain", path}).out;
  auto const at = text.find("\nThroughput, average of the run ");
  REQUIRE(at != text.npos);
  CHECK(text.find("\n  DRAM (16 channels) ", at) != text.npos);
  CHECK(text.find("\n  L2 cache (", at) != text.npos);
  CHECK(text.find("\n  pcie links (", at) != text.npos);
}

TEST_CASE("explain: with most SMs idle, occupancy is listed before the activity of the other SMs") {
  auto const path = made("few.h5", {"machine.generic.gpus=4", "workload.name=sgemm", "workload.sgemm.m=32",
                                    "workload.sgemm.n=32", "workload.sgemm.k=256"});
  auto const e = explained(path);
  CHECK(e["idle"].get<double>() > 0.5);
  CHECK(first_line_of(path).starts_with("Bottleneck: occupancy (SMs idle "));
}

TEST_CASE("explain: a compute-bound run is bound by its SMs, and SM time and access time add up") {
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
  CHECK(e["stages"].size() == 14);  // including the time of outstanding accesses, which is 0
}

TEST_CASE("explain: for a stopped run, the unfinished kernel is printed first") {
  auto const path = made("stopped.h5", transpose(1, {}), {"--until", "8us"});
  auto const e = explained(path);
  REQUIRE(e["outstanding"].size() == 1);
  CHECK(e["outstanding"][0]["what"] == "kernel matrix_transpose");
  CHECK(e["outstanding"][0]["started_ps"] == 0);
  // The kernel was in transit for the launch latency, and then on the GPU until the end.
  REQUIRE(e["gaps"].size() == 1);
  CHECK(e["gaps"][0]["name"] == "launches");
  CHECK(e["gaps"][0]["ps"] == 5'400'000);
  auto const text = farfault_program({"explain", path}).out;
  CHECK(text.find(": time_limit after 8 us\n"
                  "Outstanding at the end: kernel matrix_transpose, since 0 ps\n") != std::string::npos);
}

TEST_CASE(
    "explain: the kernels' accesses sum to those of the run, and the longest kernels have a line each") {
  auto const path =
      made("kernels.h5", {"machine.generic.gpus=2", "workload.name=bfs", "workload.bfs.rmat.scale=11"});
  auto const e = explained(path);
  CHECK(e["kernel_names"] == e["kernels"].size());
  REQUIRE(e["kernels"].size() > 3);
  std::uint64_t of_kernels = 0;
  for (auto const& k : e["kernels"]) {
    std::uint64_t of_stages = 0;
    for (auto const& s : k["stages"]) of_stages += s["ps"].get<std::uint64_t>();
    CHECK(of_stages == k["access_ps"]);
    of_kernels += of_stages;
  }
  CHECK(of_kernels == e["access_ps"]);
  auto const text = farfault_program({"explain", path}).out;
  auto const at = text.find("\nLongest 3 of " + std::to_string(e["kernels"].size()) + " kernels ");
  REQUIRE(at != std::string::npos);
  auto const line = text.substr(text.find("\n  ", at), 60);
  CHECK_MESSAGE(line.starts_with("\n  " + e["kernels"][0]["name"].get<std::string>() + " "), line);
}

TEST_CASE("explain: with mostly idle SMs, the activity while they had warps is printed, and parts add up") {
  auto const path = made("idle.h5", {"machine.generic.gpus=4", "workload.name=sgemm", "workload.sgemm.m=32",
                                     "workload.sgemm.n=32", "workload.sgemm.k=256"});
  std::istringstream in(farfault_program({"explain", path}).out);
  std::string line;
  while (std::getline(in, line) && !line.starts_with("SM activity")) {
  }
  CHECK(line.ends_with("of total  with warps"));
  double of_all = 0, with_warps = 0;
  while (std::getline(in, line) && line.starts_with("  ")) {
    of_all += std::stod(line.substr(46));
    if (line.find("  idle ") == std::string::npos) with_warps += std::stod(line.substr(56));
    CHECK(line.back() != ' ');
  }
  CHECK(of_all == doctest::Approx(100).epsilon(0.002));
  CHECK(with_warps == doctest::Approx(100).epsilon(0.002));
}

TEST_CASE("explain: a single MSHR of the L2 TLB is the first bottleneck") {
  auto const path = made("l2_tlb.h5", transpose(1, {"gpu.l2_tlb.mshrs=1", "gpu.l2_tlb.entries=32"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["what"] == "L2 TLB MSHRs");
  CHECK(first_line_of(path).starts_with("Bottleneck: L2 TLB MSHRs: gpu0.l2_tlb has none free "));
}

TEST_CASE("explain: a single MSHR of each L1 cache is the first bottleneck") {
  auto const path = made("l1.h5", transpose(1, {"gpu.l1_cache.mshrs=1", "workload.transpose.width=128"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["what"] == "L1 cache MSHRs");
  CHECK(e["resources"][0]["busy"].get<double>() < 0.9);  // share of the time of all SMs
  CHECK(first_line_of(path).starts_with("Bottleneck: L1 cache MSHRs: gpu0 SMs have none free "));
}

TEST_CASE("explain: links with small receive buffers are bound by credits") {
  auto const path =
      made("credits.h5",
           transpose(2, {"fabric.buffer=1KiB", "memory.placement=interleave", "links.pcie_latency=2us"}));
  auto const e = explained(path);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["what"] == "link credits");
  CHECK(e["resources"][0]["busy"].get<double>() > 0.5);
  CHECK(first_line_of(path).starts_with("Bottleneck: link credits: "));
}

TEST_CASE("explain: a fault buffer with one entry is the first bottleneck, in a GPU and in an IOMMU") {
  std::vector<std::string> const slow_word{"memory.placement=first_touch", "memory.first_touch_by=driver",
                                           "driver.fault_latency=1us", "driver.notify_latency=20us"};
  auto sets = slow_word;
  sets.insert(sets.end(), {"memory.fault_path=gpu", "gpu.gmmu.fault_buffer=1"});
  auto const of_gpu = made("fault_buffer.h5", transpose(1, sets));
  auto const e = explained(of_gpu);
  CHECK(e["bound_by"] == "resource");
  CHECK(e["resources"][0]["busiest"] == "gpu0.gmmu");
  CHECK(first_line_of(of_gpu).starts_with("Bottleneck: GPU fault buffers: gpu0.gmmu is full "));
  sets = slow_word;
  sets.emplace_back("iommu.fault_buffer=1");
  auto const of_iommu = made("iommu_buffer.h5", transpose(1, sets));
  CHECK(first_line_of(of_iommu).starts_with("Bottleneck: IOMMU fault buffers: "));
}

TEST_CASE("explain: many small kernels are bound by launches, and copies by copies") {
  auto const launches = made("launches.h5", {"machine.generic.gpus=1", "workload.name=bfs",
                                             "workload.bfs.rmat.scale=6", "host.launch_latency=150us"});
  auto e = explained(launches);
  CHECK(e["bound_by"] == "gaps");
  CHECK(e["gaps"][0]["name"] == "launches");
  CHECK(e["without_kernel"].get<double>() > 0.7);
  CHECK(first_line_of(launches).starts_with("Bottleneck: gaps between kernels: no kernel on any GPU "));
  auto const copies =
      made("copies.h5", transpose(1, {"workload.copies=true", "links.pcie_bandwidth=1 GB/s"}));
  e = explained(copies);
  CHECK(e["bound_by"] == "gaps");
  CHECK(e["gaps"][0]["name"] == "copies");
  CHECK(first_line_of(copies).find(" for copies between the host and the GPUs") != std::string::npos);
}

TEST_CASE("explain: for a stopped run, SM time and access time add up") {
  auto const whole = transpose(2, {"memory.placement=interleave"});
  auto const end = explained(made("whole.h5", whole))["end_ps"].get<std::uint64_t>();
  for (auto const ps : {end / 3, end / 2, 2 * end / 3}) {
    auto const path = made("stopped.h5", whole, {"--until", std::to_string(ps) + "ps"});
    auto const e = explained(path);
    CHECK(e["end_reason"] == "time_limit");
    CHECK(e["end_ps"] == ps);
    std::uint64_t sms = 0, stages = 0, outstanding = 0;
    for (auto const& p : e["sms"]) sms += p["ps"].get<std::uint64_t>();
    for (auto const& p : e["stages"]) {
      stages += p["ps"].get<std::uint64_t>();
      if (p["name"] == "sm_time_outstanding") outstanding = p["ps"].get<std::uint64_t>();
    }
    CHECK(sms == e["sm_ps"]);
    CHECK(sms == 16 * ps);
    CHECK(stages == e["access_ps"]);
    CHECK(outstanding > 0);
    CHECK(e["idle"].get<double>() < 0.9);
  }
}

TEST_CASE("explain: a file that is not a result is rejected in one sentence") {
  auto const r = farfault_program({"explain", "nothing.h5"});
  CHECK(r.code == 2);
  CHECK(r.out == "");
  CHECK(r.err == "farfault: cannot read 'nothing.h5': no such file\n");
}

}  // namespace explain_test
