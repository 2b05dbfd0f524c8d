// SPDX-License-Identifier: Apache-2.0
// [[application]]: valid content, precedence, and the effect of several applications on all parts of the
// program.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "farfault/results/reader.hpp"
#include "model/model.hpp"
#include "read_applications.hpp"
#include "run/agreement.hpp"
#include "run/opening.hpp"

namespace applications_test {

using namespace farfault;
using namespace farfault::cli;
using namespace two_applications;

namespace {

std::string applications_of(Model const& model) {
  auto const text = model.config.resolved();
  auto const at = text.find("[[application]]");
  return at == text.npos ? "" : text.substr(at);
}

std::string const kTrace =
    "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = "
    "8\n-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n-local mem "
    "base_addr = 0x00007f1000000000\n-nvbit version = 1.4\n-accelsim tracer version = "
    "3\n\n#BEGIN_TB\n\nthread "
    "block = 0,0,0\n\nwarp = 0\ninsts = 2\n0000 ffffffff 1 R1 LDG.E 1 R2 4 1 0x100000000 4\n0010 ffffffff 0 "
    "EXIT 0 0\n\n#END_TB\n";

}  // namespace

TEST_CASE("without [[application]], the workload is the only application and uses the whole machine") {
  Built const built(kBase + "workload.name = \"stream\"\nworkload.stream.bytes = \"16KiB\"\n");
  auto const& applications = built.model.applications.applications();
  CHECK(applications.count() == 1);
  CHECK(applications.spaces() == 1);
  CHECK(built[0].name == "stream");
  CHECK(built[0].gpus.empty());
  CHECK(built[0].sms.empty());
  CHECK(built[0].repeats == 1);
  CHECK_FALSE(built.model.applications.are_listed());
  CHECK(applications_of(built.model) == "");
}

TEST_CASE("an application has the parameters of its workload, including defaults, and reads back unchanged") {
  auto const options = options_of(kTwo, {"application.sort.start=5us", "application.sort.repeats=3"});
  Model const model(options);
  auto const text = applications_of(model);
  CHECK(
      text ==
      "[[application]]\nname = \"fir\"\nworkload = \"fir\"\nspace = \"own\"\ngpus = \"all\"\nsms = \"all\"\n"
      "start = \"0 ps\"\nrepeats = 1\nrelaunch = false\ncopies = false\nallocates = "
      "false\nsmall_buffers = \"0 B\"\n\n[application.fir]\nsize = \"16 "
      "KiB\"\ntaps = "
      "16\nblock = 256\n\n"
      "[[application]]\nname = \"sort\"\nworkload = \"stream\"\nspace = \"own\"\ngpus = \"all\"\n"
      "sms = \"all\"\nstart = \"5 us\"\nrepeats = 3\nrelaunch = false\ncopies = false\nallocates = "
      "false\nsmall_buffers = \"0 B\"\n\n[application.stream]\n" +
          text.substr(text.find("bytes = ")));
  CHECK(text.find("[workload]") == text.npos);
  auto const again = options_of(model.config.resolved(), {});
  Model const second(again);
  CHECK(second.config.resolved() == model.config.resolved());
  CHECK(second.hash() == model.hash());
}

TEST_CASE("an application without a name is named after its workload") {
  Built const built(kBase + "[[application]]\nworkload = \"stream\"\nstream.bytes = \"16KiB\"\n");
  CHECK(built[0].name == "stream");
  CHECK(applications_of(built.model).starts_with("[[application]]\nname = \"stream\"\n"));
}

TEST_CASE("--set addresses an application and its workload's parameters by name") {
  Built const built(kTwo, {"application.sort.sms=15", "application.fir.fir.size=32KiB",
                           "application.sort.gpus=1", "application.fir.space=7"});
  CHECK(list_of(built[1].gpus) == "1");
  CHECK(built[1].sms.size() == 15);
  CHECK(applications_of(built.model).find("size = \"32 KiB\"\n") != std::string::npos);
  CHECK(refusal(kTwo, {"application.srt.sms=15", "application.srt.gpus=1"}) ==
        "--set application.srt.gpus: unknown application 'srt'; did you mean 'sort'?");
  CHECK(refusal(kTwo, {"application.sms=15"}) == "--set application.sms: unknown application 'sms'");
  CHECK(refusal(kTwo, {"application.sort.shares=15"}) ==
        "--set: unknown key 'application.sort.shares'; did you mean 'application.sort.space'?");
  CHECK(refusal(kTwo, {"application.sort.name=other"}) ==
        "--set application.sort.name = other must be the name of its table");
}

TEST_CASE("a file's applications replace the applications and the workload of a preset") {
  auto const base = scratch("base.toml", kTwo);
  Built const others("include = [\"base.toml\"]\n[[application]]\nworkload = \"stream\"\n");
  CHECK(others.model.applications.applications().count() == 1);
  CHECK(others[0].name == "stream");

  scratch("workload.toml", kBase + "workload.name = \"bfs\"\nworkload.bfs.rmat.scale = 9\n");
  Built const instead("include = [\"workload.toml\"]\n[[application]]\nworkload = \"stream\"\n");
  CHECK(instead[0].name == "stream");
  CHECK(instead.model.config.unused().empty());
  CHECK(instead.model.config.resolved().find("\n[workload") == std::string::npos);

  Built const by_name("include = [\"base.toml\"]\n[application.sort]\nsms = 3\n");
  CHECK(by_name.model.applications.applications().count() == 2);
  CHECK(by_name[1].sms.size() == 3);
}

TEST_CASE("[workload] together with [[application]] is one error") {
  CHECK(refusal(kTwo + "[workload]\nname = \"bfs\"\n[workload.bfs]\nsource = 3\n") ==
        "11: workload.name: [[application]] (2) excludes [workload]; remove one of them");
  CHECK(refusal(kTwo, {"workload.stream.bytes=1MiB"}) ==
        "--set workload.stream.bytes: [[application]] (2) excludes [workload]; remove one of them");
  CHECK(refusal(kTwo + "[workload]\n") ==
        "10: workload: [[application]] (2) excludes [workload]; remove one of them");
}

TEST_CASE("keys of applications without any [[application]] are one error") {
  auto const rest =
      ": belongs to no table [[application]]; write the heading of the table in double brackets";
  CHECK(refusal(kBase, {"application.sort.sms=15"}) == "--set application.sort.sms" + std::string(rest));
  CHECK(refusal(kBase + "[application]\nname = \"a\"\nworkload = \"fir\"\n") ==
        "3: application.name" + std::string(rest));
  CHECK(refusal(kBase + "application = []\n") == "2: application" + std::string(rest));
}

TEST_CASE("application names are words and unique") {
  CHECK(
      refusal_of("name = \"a b\"\n") ==
      "4: application.0.name: 'a b' is not a valid name; use letters, digits, '_' and '-', not only digits");
  CHECK(refusal_of("", "name = \"15\"\n") ==
        "6: application.1.name: '15' is not a valid name; use letters, digits, '_' and '-', not only digits");
  CHECK(refusal_of("", "name = \"fir\"\n") == "6: application.1.name: application 'fir' already exists (2)");
  CHECK(refusal(kBase + "[[application]]\nworkload = \"fir\"\n[[application]]\nworkload = \"fir\"\n") ==
        "4: application.1.name: application 'fir' already exists (2)");
  std::string many;
  for (int i = 0; i < 66; ++i)
    many += "[[application]]\nname = \"a" + std::to_string(i) + "\"\nworkload = \"fir\"\n";
  CHECK(refusal(kBase + many) == "194: 66 applications are defined; at most 64 can run concurrently");
}

TEST_CASE("an application names a workload; parameters of other workloads are checked and omitted") {
  CHECK(refusal(kBase + "[[application]]\nname = \"a\"\n") ==
        "2: application.a.workload is missing; set it to the workload to run");
  CHECK(refusal(kBase + "[[application]]\nworkload = \"firr\"\nfirr.length = 3\n") ==
        "3: application.firr.workload: unknown workload 'firr'; did you mean 'fir'?");
  CHECK(refusal_of("stream.bytes = \"none\"\n").starts_with("4: application.fir.stream.bytes: "));
  CHECK(refusal_of("stream.byte = 1\n").starts_with("4: unknown key 'application.fir.stream.byte'"));
  Built const changed(kTwo, {"application.sort.workload=stream", "application.sort.stream.bytes=16KiB",
                             "application.fir.relu.size=32KiB"});
  CHECK(changed[1].workload->name() == "stream");
  CHECK(applications_of(changed.model).find("relu") == std::string::npos);
  CHECK(refusal_of("fir.taps = 0\n") == "4: application.fir.fir.taps: '0' is outside 1 to 4096");
  CHECK(refusal(kBase + "[[application]]\nname = \"t\"\nworkload = \"trace\"\n") ==
        "2: application.t.trace.file = \"\" must name a trace");
  CHECK(refusal_of("fir.size = \"16KiB\"\n", "stream.bytes_per_lane = 3\n") ==
        "7: application.stream.stream.bytes_per_lane = 3 must be 1, 2, 4, 8 or 16");
  CHECK(refusal(kBase + "workload.name = \"lud\"\n", {"workload.lud.side=40"}) ==
        "--set workload.lud.side = 40 must be a multiple of 16");
}

TEST_CASE("each machine of a cluster has its own GPUs, unless the machines share memory") {
  std::vector<std::string> sets{"machine.cluster.machines=2", "application.fir.gpus=0-4"};
  CHECK(refusal(kTwo, sets) == "--set application.fir.gpus = 0-4 must be within 0 to 3, the GPUs of a host");
  sets.emplace_back("memory.scope=cluster");
  Built const built(kTwo, sets);
  CHECK(list_of(built[0].gpus) == "0 1 2 3 4");
}

TEST_CASE("a start is a time, and repeats are at least one") {
  CHECK(refusal_of("repeats = 0\n") == "4: application.fir.repeats: '0' is outside 1 to 1000000");
  CHECK(refusal_of("start = 5\n") ==
        "4: application.fir.start: 5 has no unit; write it in quotes with a unit, such as \"0 ps\"");
  Built const built(kTwo, {"application.sort.start=5us", "application.sort.repeats=3"});
  CHECK(built[1].start == Time{5us});
  CHECK(built[1].repeats == 3);
  std::uint64_t blocks = 0;
  for (std::uint64_t a = 0; a < 2; ++a) {
    auto const& w = built.model.applications.workload(a);
    for (std::size_t k = 0; k < w.kernel_count(); ++k)
      blocks += w.kernel(k).shape().blocks * (a == 0 ? 1 : 3);
  }
  CHECK(built.model.applications.blocks() == blocks);
  CHECK(built.model.applications.blocks_of(0) + built.model.applications.blocks_of(1) == blocks);
  CHECK(built.model.applications.blocks_of(1) % 3 == 0);
}

TEST_CASE("relaunch is a flag of an application") {
  Built const built(kTwo, {"application.sort.relaunch=true"});
  CHECK_FALSE(built[0].relaunch);
  CHECK(built[1].relaunch);
  CHECK(refusal_of("relaunch = 2\n") == "4: application.fir.relaunch: '2' is not one of: true, false");
}

TEST_CASE("each application has its own address space unless it names one, and spaces are numbered densely") {
  auto const spaces = [](std::vector<std::string> sets) {
    Built const built(kTwo + "[[application]]\nname = \"third\"\nworkload = \"stream\"\n", sets);
    auto const& all = built.model.applications.applications();
    return list_of({all[0].space, all[1].space, all[2].space, all.spaces()});
  };
  CHECK(spaces({}) == "0 1 2 3");
  CHECK(spaces({"application.fir.space=9", "application.third.space=9"}) == "0 1 0 2");
  CHECK(spaces({"application.sort.space=1", "application.third.space=1"}) == "0 1 1 2");
  CHECK(spaces({"application.fir.space=127"}) == "0 1 2 3");
  CHECK(refusal_of("space = 128\n") ==
        "4: application.fir.space: '128' is not \"own\" or a number from 0 to 127");
  CHECK(refusal_of("space = \"shared\"\n") ==
        "4: application.fir.space: 'shared' is not \"own\" or a number from 0 to 127");
}

TEST_CASE("applications in one space are placed after each other; each other space begins at 4 GiB") {
  Built const apart(kTwo);
  CHECK(apart[0].workload->buffers().front().base == workloads::kFirstAddress);
  CHECK(apart[1].workload->buffers().front().base == workloads::kFirstAddress);
  Built const shared(kTwo + "[[application]]\nname = \"third\"\nworkload = \"fir\"\nspace = 3\n",
                     {"application.fir.space=3", "application.sort.space=3"});
  VirtAddr end = 0;
  for (std::uint32_t a = 0; a < 3; ++a)
    for (auto const& b : shared[a].workload->buffers()) {
      CHECK(b.base >= std::max(end, workloads::kFirstAddress));
      CHECK(b.base % workloads::kBufferAlignment == 0);
      end = b.base + b.bytes;
    }
}

TEST_CASE("buffers of two applications in one space may be adjacent") {
  auto const stream = [](std::string const& name) {
    return "[[application]]\nname = \"" + name +
           "\"\nworkload = \"stream\"\nspace = 1\nstream.bytes = \"2MiB\"\n";
  };
  Built const built(kBase + stream("a") + stream("b"));
  auto const& first = built[0].workload->buffers();
  auto const& second = built[1].workload->buffers();
  CHECK(second.front().base == first.back().base + first.back().bytes);
}

TEST_CASE(
    "buffers of a trace that overlap another application's in the same space are rejected with both names") {
  scratch("k.traceg", kTrace);
  auto const traces =
      kBase +
      "gpu.warp_width = 32\n[[application]]\nname = \"a\"\nworkload = \"stream\"\nspace = 1\nstream.bytes = "
      "\"16KiB\"\n"
      "[[application]]\nname = \"b\"\nworkload = \"trace\"\nspace = 1\ntrace.file = \"k.traceg\"\n";
  CHECK(
      refusal(traces) ==
      "11: application.b.space = 1: buffer 'region0' of application 'b' (pages from 0x100000000 to "
      "0x10000ffff) overlaps buffer 'array' of application 'a' (pages from 0x100000000 to 0x100003fff); give "
      "the applications different values of space");
  Built const apart(traces, {"application.b.space=2"});
  CHECK(apart[1].space == 1);
}

TEST_CASE("input files of all applications are facts and inputs, relative to the file that names them") {
  std::filesystem::create_directories(folder() / "inner");
  std::string const graph = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n";
  scratch("inner/g.mtx", graph);
  scratch("inner/graphs.toml",
          kBase +
              "[[application]]\nname = \"a\"\nworkload = \"bfs\"\nbfs.graph = \"g.mtx\"\n"
              "[[application]]\nname = \"b\"\nworkload = \"pagerank\"\n"
              "pagerank.graph = \"g.mtx\"\n");
  Built const built("include = [\"inner/graphs.toml\"]\n");
  REQUIRE(built.model.inputs.size() == 2);
  CHECK(built.model.inputs[0].parameter == "application.a.bfs.graph");
  CHECK(built.model.inputs[1].parameter == "application.b.pagerank.graph");
  CHECK(built.model.inputs[0].bytes == graph.size());
  std::vector<std::string> subjects;
  for (auto const& fact : facts_of_workloads(built.model)) subjects.push_back(fact.subject);
  CHECK(subjects == std::vector<std::string>{"input file 1 (application.a.bfs.graph)",
                                             "input file 2 (application.b.pagerank.graph)", "application.a",
                                             "application.b"});
  for (auto const& fact : facts_of_configuration(built.options, built.model))
    CHECK(fact.subject != "application.a.bfs.graph");

  // Only the content of a file counts, not its name, also for the second application.
  scratch("inner/same.mtx", graph);
  scratch("inner/other.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n");
  auto const hash = [&](std::string const& file) {
    return Built("include = [\"inner/graphs.toml\"]\n",
                 {"application.b.pagerank.graph=" + (folder() / "inner" / file).string()})
        .model.hash();
  };
  CHECK(hash("same.mtx") == built.model.hash());
  CHECK(hash("other.mtx") != built.model.hash());

  auto const output = [](std::string const& file) { return (folder() / (file + ".h5")).string(); };
  for (std::string const file : {"g.mtx", "same.mtx"})
    CHECK(farfault_program({"run", (folder() / "inner/graphs.toml").string(), "--set",
                            "application.b.pagerank.graph=" + (folder() / "inner" / file).string(),
                            "--output", output(file), "--threads", "1", "--progress", "off"})
              .code == 0);
  auto const diff = farfault_program({"diff", output("g.mtx"), output("same.mtx")});
  CHECK(diff.code == 0);
  CHECK(diff.out ==
        "the results are equal; identical input files have different names: application.b.pagerank.graph\n");
}

TEST_CASE("a run opens with all applications, and all ranks must have the same ones") {
  Built const built(kTwo);
  CHECK(workloads_line(built.model, 1, 2) ==
        "farfault: 2 applications (fir, sort): 2 kernels on 32.1 KiB; 1 rank of 2 threads\n");
  Built const other(kTwo, {"application.sort.stream.bytes=32KiB"});
  CHECK(disagreement({facts_of_workloads(built.model), facts_of_workloads(other.model)})
            .value_or("they agree")
            .starts_with("rank 1 has application.sort = 1 kernel of "));
}

TEST_CASE("allocation by large frames needs at least one large frame of GPU memory per application") {
  std::string const conserving = "memory.frame_allocation=contiguity_conserving";
  CHECK(
      refusal(kTwo, {conserving, "gpu.dram.capacity=4MiB"}) ==
      "memory.frame_allocation = contiguity_conserving needs a large frame (memory.large_page_size) for each "
      "of the 2 applications that run on a GPU; gpu.dram.capacity leaves it 1 for data");
}

TEST_CASE("preoccupied memory that leaves no room for the applications' data is rejected") {
  std::string const large =
      "[[application]]\nworkload = \"transpose\"\ntranspose.width = 1024\ntranspose.height = 512\n";
  std::vector<std::string> const occupied{
      "machine.topology=generic",     "machine.generic.gpus=1",
      "memory.fragmentation_index=1", "memory.fragmentation_occupancy=0.998",
      "gpu.dram.capacity=16MiB",      "cpu.dram.capacity=2MiB"};
  CHECK(refusal(large, occupied) ==
        "workload 'transpose' needs at least 4 MiB, more than the machine's memory, less the pages "
        "occupied by memory.fragmentation_index; increase gpu.dram.capacity or cpu.dram.capacity");
  std::vector<std::string> in_batches(occupied.begin(), occupied.end() - 1);
  for (auto const* more :
       {"memory.placement=first_touch", "memory.fault_path=gpu", "driver.batch.replay=batch",
        "driver.migrations=80", "driver.batch.eviction_unit=64KiB"})
    in_batches.emplace_back(more);
  CHECK(refusal(large, in_batches) ==
        "memory.fragmentation_index leaves a GPU 7 free pages, fewer than the 16 of a "
        "driver.batch.eviction_unit; lower one of the two");
  auto whole = occupied;
  whole[3] = "memory.fragmentation_occupancy=1";
  CHECK(refusal(large, whole) ==
        "memory.fragmentation_index = 1 and memory.fragmentation_occupancy = 1 leave no free page on a GPU");
}

}  // namespace applications_test
