// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "capture.hpp"
#include "data.hpp"
#include "farfault/cli/simulation.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/topologies/load.hpp"

namespace run_test {

namespace {

std::filesystem::path folder() {
  auto const path = std::filesystem::path(FARFAULT_BINARY_DIR) / "run_test";
  std::filesystem::create_directories(path);
  return path;
}

std::string scratch(std::string const& name, std::string const& text) {
  auto const path = (folder() / name).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string content(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A stream workload of a few microseconds, with additional keys.
Called run(std::string const& config, std::vector<std::string> const& sets, std::string const& output) {
  std::vector<std::string> words{"run", config, "--output", output, "--threads", "1", "--progress", "off"};
  for (auto const& s : sets) {
    words.push_back("--set");
    words.push_back(s);
  }
  return farfault_program(words);
}

std::vector<std::string> const kSmall{"workload.name=stream", "workload.stream.bytes=16KiB", "gpu.sms=2"};

// The bytes of a valid result.
std::string const& sound_result() {
  static auto const bytes = [] {
    auto const path = (folder() / "sound.h5").string();
    std::filesystem::remove(path);
    REQUIRE(run("paper-gmmu-bypass", kSmall, path).code == 0);
    return content(path);
  }();
  return bytes;
}

// The one-sentence error of a run. An earlier result must survive it, and no other file may remain.
std::string refusal(std::string const& config, std::vector<std::string> const& sets) {
  auto const output = scratch("earlier.h5", sound_result());
  auto const r = run(config, sets, output);
  CHECK(r.code == 2);
  CHECK(r.out == "");
  CHECK((content(output) == sound_result()));
  CHECK_FALSE(std::filesystem::exists(output + ".partial"));
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  REQUIRE(r.err.substr(0, 10) == "farfault: ");
  return r.err.substr(10, r.err.size() - 11);
}

std::string refusal_of_sets(std::vector<std::string> const& more) {
  auto sets = kSmall;
  sets.insert(sets.end(), more.begin(), more.end());
  return refusal("paper-gmmu-bypass", sets);
}
std::string refusal_of_set(std::string const& key_and_value) {
  return refusal_of_sets({key_and_value});
}

std::string refusal_of_graph(std::string const& path) {
  return refusal("paper-gmmu-bypass", {"workload.name=bfs", "workload.bfs.graph=" + path});
}

std::string const kCpu = "[[node]]\nname = \"c\"\nkind = \"cpu\"\n";
std::string const kGpu = "[[node]]\nname = \"g\"\nkind = \"gpu\"\n";

}  // namespace

TEST_CASE("a run writes its result and prints a summary to standard output") {
  auto const output = (folder() / "small.h5").string();
  auto const r = run("paper-gmmu-bypass", kSmall, output);
  CHECK(r.code == 0);
  CHECK(r.err == "");
  CHECK(r.out.find("  workload              stream, 1 kernel,") == 0);
  CHECK(r.out.find("  ended                 completed, digest ") != std::string::npos);
  CHECK(farfault_program({"validate", output}).code == 0);
  auto const again = (folder() / "again.h5").string();
  CHECK(run("paper-gmmu-bypass", kSmall, again).code == 0);
  CHECK(farfault_program({"diff", output, again}).code == 0);
}

TEST_CASE("the summary of a stopped run counts the kernels that it had started") {
  auto const words = [](std::string const& until) {
    return std::vector<std::string>{"run",        "paper-gmmu-bypass",
                                    "--output",   (folder() / "stopped.h5").string(),
                                    "--threads",  "1",
                                    "--progress", "off",
                                    "--set",      "workload.name=stream",
                                    "--set",      "workload.stream.bytes=16KiB",
                                    "--set",      "workload.stream.passes=3",
                                    "--set",      "gpu.sms=2",
                                    "--until",    until};
  };
  // A launch takes 5.4 us.
  CHECK(farfault_program(words("6us"))
            .out.find("  workload              stream, 0 of 1 started kernels completed, 0.0 MiB\n") !=
        std::string::npos);
  CHECK(farfault_program(words("1ms")).out.find("  workload              stream, 3 kernels, 0.0 MiB\n") !=
        std::string::npos);
}

TEST_CASE("settings without effect are checked and reported, and do not affect the digest") {
  auto const digest = [](std::string const& out) {
    auto const at = out.find("digest ");
    REQUIRE(at != std::string::npos);
    return out.substr(at, 39);
  };
  auto const plain = run("paper-gmmu-bypass", kSmall, (folder() / "plain.h5").string());
  auto sets = kSmall;
  for (auto const* s : {"workload.bfs.rmat.scale=14", "gpu.router.gmmu_bypass.epoch=3us",
                        "memory.migrate.after=5", "machine.generic.gpus=2", "machine.cluster.radix=8"})
    sets.emplace_back(s);
  auto const more = run("paper-gmmu-bypass", sets, (folder() / "more.h5").string());
  CHECK(more.code == 0);
  CHECK(more.err ==
        "farfault: warning: machine.generic.gpus (--set) has no effect: it acts only with machine.topology = "
        "\"generic\"\n"
        "farfault: warning: machine.cluster.radix (--set) has no effect: it acts only with "
        "machine.cluster.machines above 1\n"
        "farfault: warning: memory.migrate.after (--set) has no effect: it acts only with "
        "memory.remote_touch = \"migrate\"\n"
        "farfault: warning: gpu.router.gmmu_bypass.epoch (--set) has no effect: it acts only with "
        "gpu.router.policy = \"gmmu_bypass\"\n"
        "farfault: warning: workload.bfs.rmat.scale (--set) has no effect: it acts only with workload.name = "
        "\"bfs\"\n");
  CHECK(digest(more.out) == digest(plain.out));
  CHECK(refusal_of_set("workload.bfs.rmat.scale=99") ==
        "--set workload.bfs.rmat.scale: '99' is outside 1 to 31");
  CHECK(refusal_of_set("workload.bfs.rmat.scales=9") ==
        "--set: unknown key 'workload.bfs.rmat.scales'; did you mean 'workload.bfs.rmat.scale'?");
}

TEST_CASE("machines of a cluster without shared memory are independent, with separate statistics") {
  auto sets = kSmall;
  sets.emplace_back("machine.cluster.machines=2");
  sets.emplace_back("memory.placement=first_touch");
  auto const output = (folder() / "nodes.h5").string();
  auto const r = run("paper-gmmu-bypass", sets, output);
  CHECK(r.code == 0);
  CHECK(r.err == "");
  CHECK(r.out.find("  workload              stream, 2 kernels in 2 instances, 0.0 MiB\n") == 0);
  CHECK(farfault_program({"validate", output}).code == 0);
  auto const summary = farfault::results::read_summary(output);
  CHECK(summary.hosts == std::vector<std::string>{"m0.host", "m1.host"});
  CHECK(summary.drivers == std::vector<std::string>{"m0.driver", "m1.driver"});
  REQUIRE(summary.tables.size() == 7);  // including outstanding, which is empty here
  for (auto const& table : summary.tables)
    CHECK(std::ranges::find(table.columns, "machine") != table.columns.end());
  CHECK(summary.tables[1].name == "kernels");
  CHECK(summary.tables[1].rows == 2);
  auto const of_application = [&](std::string const& metric) {
    for (auto const& row : summary.summary)
      if (row.scope == "application" && row.metric == metric) return row.value;
    return std::uint64_t{0};
  };
  CHECK(of_application("kernels") == 2);
  CHECK(of_application("footprint") == 2 * 16384);
  CHECK(of_application("start") == 0);

  sets.emplace_back("memory.scope=cluster");
  CHECK(run("paper-gmmu-bypass", sets, output).code == 0);
  auto const together = farfault::results::read_summary(output);
  CHECK(together.machines == std::vector<std::string>{"m0", "m1"});
  CHECK(together.hosts == std::vector<std::string>{"host"});
  CHECK(together.drivers == std::vector<std::string>{"driver"});
  for (auto const& table : together.tables)
    CHECK(std::ranges::find(table.columns, "machine") == table.columns.end());

  CHECK(refusal_of_set("memory.scope=rack") == "--set memory.scope: 'rack' is not one of: cluster, node");
  auto alone = kSmall;
  alone.emplace_back("memory.scope=cluster");
  CHECK(run("paper-gmmu-bypass", alone, output).err ==
        "farfault: warning: memory.scope (--set) has no effect: it acts only with a cluster: "
        "machine.cluster.machines above 1\n");
  alone.back() = "nic.latency=1us";
  CHECK(run("paper-gmmu-bypass", alone, output).err ==
        "farfault: warning: nic.latency (--set) has no effect: it acts only with accesses to the memory of a "
        "NIC, which no workload makes\n");
}

TEST_CASE("a study file with keys of two workloads runs with either") {
  auto const file = scratch("either.toml",
                            "include = ['paper-gmmu-bypass']\n[gpu]\nsms = 2\n[workload]\nname = 'stream'\n"
                            "[workload.stream]\nbytes = '16KiB'\n[workload.relu]\nsize = '16KiB'\n");
  auto const output = (folder() / "either.h5").string();
  auto const first = run(file, {}, output);
  CHECK(first.code == 0);
  CHECK(first.err == "farfault: warning: workload.relu.size (" + file +
                         ":9) has no effect: it acts only with workload.name = \"relu\"\n");
  auto const second = run(file, {"workload.name=relu"}, output);
  CHECK(second.code == 0);
  CHECK(second.out.find("  workload              relu") == 0);
}

TEST_CASE("each configuration error is one line") {
  auto const file =
      scratch("mistakes.toml",
              "include = ['paper-gmmu-bypass']\n[gpu]\nsmss = 2\nclock = 5\n[workload]\nname = 'stre'\n");
  auto const r = run(file, {"gpu.sms=many"}, (folder() / "mistakes.h5").string());
  CHECK(r.code == 2);
  CHECK(r.out == "");
  CHECK(r.err == "farfault: " + file + ":3: unknown key 'gpu.smss'; did you mean 'gpu.sms'?\n" +
                     "farfault: " + file +
                     ":4: gpu.clock: 5 has no unit; write it in quotes with a unit, such as \"1 GHz\"\n" +
                     "farfault: " + file +
                     ":6: workload.name: unknown workload 'stre'; did you mean 'stream'?\n"
                     "farfault: --set gpu.sms: 'many' is not a non-negative integer\n");
  // Contradictions are reported only after every value is valid on its own.
  auto const mismatch_error =
      run(file, {"gpu.l1_tlb.ways=3", "gpu.dram.banks=3"}, (folder() / "m.h5").string());
  CHECK(mismatch_error.err.find("ways = 3") == std::string::npos);
  auto sets = kSmall;
  sets.emplace_back("gpu.l1_tlb.ways=3");
  sets.emplace_back("gpu.dram.banks=3");
  auto const both = run("paper-gmmu-bypass", sets, (folder() / "m.h5").string());
  CHECK(both.code == 2);
  CHECK(both.err ==
        "farfault: --set gpu.dram.banks = 3 must be a power of two\n"
        "farfault: --set gpu.l1_tlb.ways = 3 must divide the number of entries, 32\n");
}

TEST_CASE("a missing configuration is rejected") {
  CHECK(refusal("no-such", {}) ==
        "'no-such' is neither a file nor a preset (dgx-a100, dgx-h100, dgx1, dgx2, gpu-a100, gpu-h100, "
        "gpu-mi100, "
        "gpu-mi210, gpu-mi300x, gpu-v100, mi300x-8, nvidia-uvm, paper-batch-aware, paper-gmmu-bypass, "
        "paper-grit, "
        "paper-mask, paper-mask-fermi, paper-mask-integrated, paper-mosaic, paper-tlb-compression, "
        "published-mask, "
        "published-mgvm, published-mosaic)");
  CHECK(refusal(folder().string(), {}).find(folder().string() + ": it is a directory, not a regular file") ==
        0);
  // A file of /proc has no size.
  CHECK(refusal("/proc/version", {}).find("/proc/version:1: ") == 0);
  auto const config = scratch("includes.toml", "include = [\"absent.toml\"]\n");
  CHECK(refusal(config, {}).find(config + ":1: ") == 0);
}

TEST_CASE("keys and values of --set are checked before any output is written") {
  CHECK(refusal_of_set("gpu.l2_tlb.entriess=12") ==
        "--set: unknown key 'gpu.l2_tlb.entriess'; did you mean 'gpu.l2_tlb.entries'?");
  CHECK(refusal_of_set("gpu.l2_tlb.entries=abc") ==
        "--set gpu.l2_tlb.entries: 'abc' is not a non-negative integer");
  CHECK(refusal_of_set("gpu.l2_tlb.entries=99999999999") ==
        "--set gpu.l2_tlb.entries: '99999999999' is outside 0 to 1048576");
  CHECK(refusal_of_set("gpu.clock=1") ==
        "--set gpu.clock: '1' has no unit; write a frequency such as '1500 MHz'");
  CHECK(refusal_of_set("gpu.clock=1GB") ==
        "--set gpu.clock: '1GB' is not a frequency such as '1500 MHz' (units: Hz, kHz, MHz, GHz, THz)");
  CHECK(refusal_of_set("gpu.clock") == "--set 'gpu.clock': expected KEY=VALUE");
  CHECK(refusal_of_set("workload.name=bsf") ==
        "--set workload.name: unknown workload 'bsf'; did you mean 'bfs'?");
  CHECK(refusal_of_set("gpu.l1_tlb.ways=5") ==
        "--set gpu.l1_tlb.ways = 5 must divide the number of entries, 32");
  CHECK(refusal_of_set("memory.page_size=8KiB") ==
        "--set memory.page_size = 8KiB must be 4KiB, 64KiB or 2MiB");
  CHECK(refusal_of_sets({"memory.large_pages=all", "memory.large_page_size=1MiB"}) ==
        "--set memory.large_page_size = 1MiB must be 512 or 512 x 512 times memory.page_size, 4 KiB");
  CHECK(
      refusal_of_sets({"memory.large_pages=all", "memory.page_size=64KiB", "memory.large_page_size=32MiB"}) ==
      "--set memory.large_page_size = 32MiB must be 32 or 32 x 512 times memory.page_size, 64 KiB");
  CHECK(refusal_of_sets({"memory.large_pages=all", "memory.page_size=2MiB"}) ==
        "memory.large_page_size = 2 MiB must be 512 or 512 x 512 times memory.page_size, 2 MiB");
  CHECK(refusal_of_sets({"memory.large_pages=all", "memory.large_page_size=2GiB"})
            .find("--set memory.large_page_size: '2GiB' is outside ") == 0);
  CHECK(refusal_of_sets({"memory.large_pages=all", "gpu.dram.capacity=2MiB"}) ==
        "memory.large_page_size = 2 MiB must not exceed the space for data in gpu.dram.capacity, 1792 KiB");
  CHECK(refusal_of_sets({"memory.large_pages=all", "memory.remote_touch=duplicate", "memory.fault_path=gpu",
                         "memory.first_touch_by=driver"}) ==
        "--set memory.large_pages = all: large pages cannot have copies, but memory.remote_touch = duplicate "
        "makes copies");
  CHECK(refusal_of_sets(
            {"memory.placement=first_touch", "memory.first_touch_by=iommu", "memory.fault_path=gpu"}) ==
        "--set memory.fault_path = gpu: GPUs record faults for the driver, but with memory.first_touch_by = "
        "iommu the IOMMU maps pages itself");
  CHECK(refusal_of_sets({"memory.large_pages=ary", "workload.stream.bytes=4MiB"}) ==
        "memory.large_pages: workload 'stream' has no buffer 'ary'; its buffers: array");
  CHECK(refusal_of_set("workload.stream.bytes=1TiB").find("workload 'stream' needs ") == 0);
}

TEST_CASE("an impossible compressed TLB is rejected in one sentence") {
  // For 8 sets of 32 ways: entries of 2 + 33 + 19 bits.
  auto const refused = [](std::vector<std::string> more) {
    more.insert(more.begin(), "gpu.l2_tlb.organization=compressed");
    return refusal_of_sets(more);
  };
  std::string const key = "gpu.l2_tlb.compressed.";
  CHECK(refused({key + "virtual_delta=34"}) ==
        "--set " + key + "virtual_delta = 34 must not be above the tag's 33 bits");
  CHECK(refused({key + "physical_delta=20"}) ==
        "--set " + key + "physical_delta = 20 must not be above the frame's 19 bits");
  CHECK(refused({key + "virtual_delta=17"}) ==
        "--set " + key +
            "ratio = 2: deltas of 17 and 9 bits, each with 2 status bits, take 56 bits, but an "
            "entry has 54");
  CHECK(refused({key + "ratio=3"}) ==
        "--set " + key +
            "ratio = 3: deltas of 13 and 9 bits, each with 2 status bits, take 72 bits, but an "
            "entry has 54");
  for (std::string const percent : {"0", "100", "40"})
    CHECK(refused({key + "compressed_percent=" + percent}) ==
          "--set " + key + "compressed_percent = " + percent +
              " must leave both partitions a whole number of the 32 ways, at least one");
  CHECK(refused({key + "sets_per_base=16"}) ==
        "--set " + key + "sets_per_base = 16 must not be above the number of sets, 8");
  CHECK(refused({key + "sets_per_base=3"}) ==
        "--set " + key + "sets_per_base = 3 must divide the number of sets, 8");
  CHECK(refused({key + "rebasing=never"}) ==
        "--set " + key + "rebasing: 'never' is not one of: cumulative, consecutive, stream, none");
  CHECK(refused({key + "rebase_after=0"}).find("--set " + key + "rebase_after: '0' is outside 1 to ") == 0);
  CHECK(refusal_of_sets(
            {"gpu.l1_tlb.organization=compressed", "gpu.l1_tlb.compressed.latency=2", "gpu.l1_tlb.ways=4"}) ==
        "--set gpu.l1_tlb.compressed.latency = 2 must be 0: only the L2 TLB has an additional latency of "
        "compressed translations");
  CHECK(refusal_of_sets({"gpu.l2_tlb.organization=range", "gpu.l2_tlb.range.range_entries=0"})
            .find("--set gpu.l2_tlb.range.range_entries: '0' is outside 1 to ") == 0);
}

TEST_CASE("an error in a file is reported with its line") {
  auto const config = scratch("wrong.toml",
                              "include = [\"paper-gmmu-bypass\"]\n\n[gpu]\n"
                              "clok = \"1GHz\"\n");
  CHECK(refusal(config, kSmall) == config + ":4: unknown key 'gpu.clok'; did you mean 'gpu.clock'?");
  auto const broken = scratch("broken.toml", "[gpu]\nsms = \n");
  CHECK(refusal(broken, {}).find(broken + ":2: ") == 0);
}

TEST_CASE("a machine that cannot be simulated is rejected") {
  auto const with = [](std::string const& path) { return refusal_of_set("machine.topology=" + path); };
  CHECK(with("absent.xml").find("absent.xml: neither a file nor a built-in machine (dgx-a100, ") == 0);
  auto const text = scratch("text.xml", "hello\n");
  CHECK(with(text).find(text + ": not a machine: expected ") == 0);
  auto const cut = scratch("cut.xml", "<system version=\"1\">\n  <cpu numaid=\"0\">\n    <pci bus");
  CHECK(with(cut).find(cut + ":3: not valid XML: ") == 0);
  auto const no_gpu = scratch("no_gpu.toml", "name = \"x\"\n" + kCpu);
  CHECK(with(no_gpu) == no_gpu + ": the machine has no GPU, but it needs at least one");
  auto const no_cpu = scratch("no_cpu.toml", "name = \"x\"\n" + kGpu);
  CHECK(with(no_cpu) == "machine 'x' has no CPU, but the IOMMU and the driver need one");
  auto const apart = scratch("apart.toml", "name = \"x\"\n" + kCpu + kGpu);
  CHECK(with(apart) ==
        apart + ": no path of links joins 'c' and 'g', but every node must be reachable from every other");
}

TEST_CASE("an unreadable graph is rejected, whatever its header declares") {
  CHECK(refusal_of_graph("/no/such.mtx") == "/no/such.mtx: no such file");
  auto const text = scratch("text.mtx", "hello\n");
  CHECK(refusal_of_graph(text) ==
        text + ": not a graph of a known format (Matrix Market, SNAP edge list or METIS)");
  std::string const market = "%%MatrixMarket matrix coordinate pattern general\n";
  auto const huge = scratch("huge.mtx", market + "100000000 100000000 100000000\n1 2\n");
  CHECK(refusal_of_graph(huge) ==
        huge + ":4: the header specifies 100000000 entries, but the file ends after 1");
  auto const beyond = scratch("beyond.mtx", market + "3 3 2\n1 2\n2 9\n");
  CHECK(refusal_of_graph(beyond) == beyond + ":4: column 9 is not in 1 to 3, the size in the header");
  auto const metis = scratch("beyond.graph", "3 2\n2 9\n1\n1\n");
  CHECK(refusal_of_graph(metis) == metis + ":2: neighbour 9 is not in 1 to 3, the vertices in the header");
}

TEST_CASE("an output path that cannot be written is rejected") {
  auto const r = run("paper-gmmu-bypass", kSmall, "/no/such/folder/x.h5");
  CHECK(r.code == 2);
  CHECK(r.err == "farfault: cannot write '/no/such/folder/x.h5.partial': No such file or directory\n");
  auto const in_the_way = run("paper-gmmu-bypass", kSmall, folder().string());
  CHECK(in_the_way.code == 2);
  CHECK(in_the_way.err == "farfault: cannot write '" + folder().string() + "': it is a directory\n");
}

TEST_CASE("every built-in machine runs to completion") {
  for (auto const& name : farfault::topologies::builtin_machines()) {
    auto sets = kSmall;
    sets.push_back("machine.topology=" + name);
    sets.push_back("workload.stream.write_fraction=0.5");
    auto const r = run("paper-gmmu-bypass", sets, (folder() / "machine.h5").string());
    CHECK_MESSAGE(r.code == 0, name << ": " << r.err);
    CHECK(r.out.find("ended                 completed") != std::string::npos);
  }
}

TEST_CASE("real topology files run to completion") {
  for (std::string const name :
       {"ndv4-topo.xml", "topo_8p_rome_4n_1.xml", "nvidiaDGX2.xml", "p4d-24xl-topo.xml"}) {
    auto const path = data_file("topologies/" + name);
    if (!path) continue;
    auto sets = kSmall;
    sets.push_back("machine.topology=" + *path);
    auto const r = run("paper-gmmu-bypass", sets, (folder() / "machine.h5").string());
    CHECK_MESSAGE(r.code == 0, name << ": " << r.err);
    CHECK(r.out.find("ended                 completed") != std::string::npos);
  }
}

TEST_CASE("the command line is stored in the result with shell quoting") {
  auto const output = (folder() / "it's.h5").string();
  auto sets = kSmall;
  sets.push_back("run.seed=7");
  REQUIRE(run("paper-gmmu-bypass", sets, output).code == 0);
  CHECK(content(output).find("farfault run paper-gmmu-bypass --output '" + folder().string() +
                             "/it'\\''s.h5' --threads 1 --progress off --set workload.name=stream") !=
        std::string::npos);
}

TEST_CASE("a run with page migrations has one row per migration; other runs lack the table") {
  auto const output = (folder() / "moving.h5").string();
  auto const moves = [&](std::vector<std::string> sets) -> std::int64_t {
    sets.insert(sets.end(), kSmall.begin(), kSmall.end());
    auto const r = run("paper-gmmu-bypass", sets, output);
    CHECK(r.code == 0);
    for (auto const& t : farfault::results::read_summary(output).tables)
      if (t.name == "migrations") {
        CHECK(r.out.find("  page migrations       " + std::to_string(t.rows) + ", ") != std::string::npos);
        return static_cast<std::int64_t>(t.rows);
      }
    CHECK(r.out.find("page migrations") == std::string::npos);
    return -1;
  };
  CHECK(moves({"memory.placement=cpu", "memory.remote_touch=migrate"}) == 16 / 4);
  CHECK(moves({"memory.placement=cpu"}) == -1);
}

TEST_CASE("the critical path is printed with the speedup on 2 to 1024 cores, at least Graham's bound") {
  auto const output = (folder() / "path.h5").string();
  auto const r =
      farfault_program({"run", "paper-gmmu-bypass", "--output", output, "--progress", "off",
                        "--critical-path", "--set", "workload.name=fir", "--set", "workload.fir.size=32KiB"});
  CHECK(r.code == 0);
  auto const figure = [&](std::string const& before) {
    auto const at = r.out.find(before);
    REQUIRE(at != std::string::npos);
    return std::stod(r.out.substr(at + before.size()));
  };
  CHECK(r.out.find("bound by cores        2: ") != std::string::npos);
  auto const infinite = figure("speedup at most ");
  for (int const cores : {2, 4, 16, 64, 1024}) {
    CAPTURE(cores);
    auto const reached = figure((cores == 2 ? "  " : ", ") + std::to_string(cores) + ": ");
    CHECK(reached <= infinite + 0.05);  // printed with one decimal
    CHECK(reached >= 1 / (1.0 / cores + (1 - 1.0 / cores) / (infinite - 0.05)) - 0.005);
  }
}

}  // namespace run_test
