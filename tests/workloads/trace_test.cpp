// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/trace.hpp"

#include "data.hpp"
#include "farfault/workloads/inspect.hpp"
#include "temp_file.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::trace_test {
using namespace test;
namespace {

std::string header(std::string const& version = "5", std::string const& more = "") {
  return "-kernel name = k\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n-shmem = 0\n-nregs = "
         "12\n"
         "-shmem base_addr = 0x00007f0010000000\n-local mem base_addr = 0x00007f0020000000\n-some new key = "
         "7\n"
         "-accelsim tracer version = " +
         version + "\n" + more + "\n#traces format = whatever\n\n";
}

// A trace whose block 0 has one warp 0 with these instruction lines.
std::string one_warp(std::vector<std::string> const& lines, std::string const& head = header()) {
  std::string text =
      head + "#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = " + std::to_string(lines.size()) + "\n";
  for (auto const& line : lines) text += line + "\n";
  return text + "\n#END_TB\n";
}

std::vector<WarpInstruction> steps(Workload const& w, std::uint32_t warp = 0) {
  std::vector<WarpInstruction> list;
  for (std::uint64_t s = 0;; ++s) {
    WarpInstruction in;
    w.kernel(0).instruction(0, warp, s, in);
    if (in.op == Op::end) return list;
    list.push_back(in);
  }
}

std::vector<WarpInstruction> steps_of(std::vector<std::string> const& lines,
                                      std::string const& head = header()) {
  TempFile const file("kernel-1.traceg", one_warp(lines, head));
  return steps(read_trace(file.path(), {}));
}

std::vector<VirtAddr> active(WarpInstruction const& in) {
  std::vector<VirtAddr> list;
  each_lane(in, [&](auto, VirtAddr a) { list.push_back(a); });
  return list;
}

std::string complaint(std::string const& content) {
  TempFile const file("kernel-1.traceg", content);
  auto text = error_of([&] { read_trace(file.path(), {}); });
  auto const at = text.find(file.folder());
  if (at != std::string::npos) text.erase(at, file.folder().size() + 1);
  return text;
}

}  // namespace

TEST_CASE("trace: the real vectorAdd trace has its 196 blocks and 4689 memory instructions") {
  auto const path = data_file("traces/accelsim-vectoradd-a100/kernelslist.g");
  if (!path) return;
  auto const summary = summarize_trace(*path);
  CHECK(summary.kernels == 1);
  CHECK(summary.blocks == 196);
  CHECK(summary.memory_instructions == 4689);
  CHECK(describe_trace_json(*path).find("\"kernels\":1") != std::string::npos);
  CHECK(describe_trace_json(*path).find("\"memory_instructions\":4689}") != std::string::npos);

  auto const w = read_trace(*path, {});
  CHECK(w.kernel_count() == 1);
  CHECK(w.kernel(0).shape().name == "_Z9vectorAddPKfS0_Pfi");
  CHECK(w.kernel(0).shape().blocks == 196);
  CHECK(w.kernel(0).shape().threads_per_block == 256);
  CHECK(w.kernel(0).shape().registers_per_thread == 12);
  CHECK(w.inputs().size() == 2);
  // Two host copies of 200,000 bytes and the result after them: one region.
  REQUIRE(w.buffers().size() == 1);
  CHECK(w.buffers()[0].base == 0x7fb0fc400000);
  CHECK(w.buffers()[0].bytes == 10 * 65536);
  CHECK(inside_buffers(w, 32));
  // 50,000 elements: each is read from both inputs and written.
  std::uint64_t loads = 0, stores = 0;
  std::vector<std::uint32_t> written(50'000, 0);
  walk(w.kernel(0), 32, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == Op::load) loads += static_cast<std::uint64_t>(std::popcount(in.lanes));
    if (in.op != Op::store) return;
    each_lane(in, [&](auto, VirtAddr a) {
      ++stores;
      ++written.at((a - 0x7fb0fc461c00) / 4);
    });
  });
  CHECK(loads == 100'000);
  CHECK(stores == 50'000);
  CHECK(all_equal(written, 1));
}

TEST_CASE("trace: the first warp of vectorAdd waits for its loads where it uses them") {
  auto const path = data_file("traces/accelsim-vectoradd-a100/kernelslist.g");
  if (!path) return;
  auto const s = steps(read_trace(*path, {}));
  std::vector<Op> ops;
  for (auto const& in : s) ops.push_back(in.op);
  // MOV .. IMAD.WIDE (10), two loads, IMAD.WIDE and FADD, FADD, store, EXIT.
  CHECK(s[0].work.vector == 10);
  CHECK(s[1].op == Op::load);
  CHECK(active(s[1])[31] == 0x7fb0fc430e00 + 31 * 4);
  CHECK(s[2].op == Op::load);
  bool waits = false;
  for (auto const& in : s) {
    if (in.op == Op::store) CHECK(waits);
    waits = waits || (in.op == Op::compute && in.wait_loads);
  }
  CHECK_FALSE(s[1].wait_loads);
}

TEST_CASE("trace: all three address encodings give the lanes' addresses") {
  auto const list = steps_of({"0100 0000000d 1 R1 LDG.E 1 R2 4 0 0x1000 0x5000 0x3000 0"});
  REQUIRE(list.size() == 1);
  CHECK(list[0].lanes == 0xd);
  CHECK(active(list[0]) == std::vector<VirtAddr>{0x1000, 0x5000, 0x3000});

  auto const stride = steps_of({"0100 000000f0 0 STG.E.64 2 R2 R4 8 1 0x2000 -8 0"});
  CHECK(stride[0].op == Op::store);
  CHECK(stride[0].bytes_per_lane == 8);
  CHECK(active(stride[0]) == std::vector<VirtAddr>{0x2000, 0x1ff8, 0x1ff0, 0x1fe8});

  // Each delta is relative to the previous lane; the number after the last delta is the immediate.
  auto const deltas = steps_of({"0100 00000007 1 R1 LDG.E 1 R2 4 2 0x1000 8 16 9"});
  CHECK(active(deltas[0]) == std::vector<VirtAddr>{0x1000, 0x1008, 0x1018});
  auto const single = steps_of({"0100 00000100 1 R1 LDG.E 1 R2 4 2 0x1000 64"});
  CHECK(single[0].lanes == 0x100);
  CHECK(active(single[0]) == std::vector<VirtAddr>{0x1000});
}

TEST_CASE("trace: a line of a published tracer-3 trace with 31 deltas is read to its last lane") {
  auto const s = steps_of(
      {"1020 ffffffff 1 R24 LDG.E.128.CONSTANT.SYS 1 R44 16 2 0x7efe7b60c300 16 16 16 2000 16 16 16 976 "
       "16 16 16 2000 16 16 16 6096 16 16 16 4048 16 16 16 3024 16 16 16 976 16 16 16 "},
      header("3"));
  REQUIRE(s.size() == 1);
  CHECK(s[0].bytes_per_lane == 16);
  auto const a = active(s[0]);
  REQUIRE(a.size() == 32);
  CHECK(a[1] == 0x7efe7b60c310);
  CHECK(a[4] == 0x7efe7b60c330 + 2000);
  CHECK(a[31] == 0x7efe7b60c300 + 24 * 16 + 2000 + 976 + 2000 + 6096 + 4048 + 3024 + 976);
}

TEST_CASE("trace: instructions state their offset in the code, from the lowest program counter on") {
  TempFile const file("kernel-1.traceg",
                      one_warp({"0150 ffffffff 1 R2 IADD3 1 R1 0", "0160 ffffffff 1 R3 IADD3 1 R2 0",
                                "0170 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f0000000000 4",
                                "0100 ffffffff 0 BAR.SYNC 0 0", "01f0 ffffffff 0 EXIT 0 0"}));
  auto const w = read_trace(file.path(), {});
  CHECK(w.kernel(0).shape().code_bytes == 0x1f0 - 0x100 + 16);
  CHECK(w.kernel(0).shape().instruction_bytes == 16);
  std::vector<std::uint32_t> offsets;
  for (auto const& i : steps(w)) offsets.push_back(i.offset);
  CHECK(offsets == std::vector<std::uint32_t>{0x50, 0x70, 0, 0xf0});
}

TEST_CASE("trace: offsets count across 4 GiB, up to a code of this size") {
  auto const of = [](char const* second) {
    TempFile const file("kernel-1.traceg", one_warp({"fffffff8 ffffffff 0 BAR.SYNC 0 0",
                                                     std::string(second) + " ffffffff 0 BAR.SYNC 0 0"}));
    auto const w = read_trace(file.path(), {});
    return std::pair{w.kernel(0).shape().code_bytes, steps(w)[1].offset};
  };
  CHECK(of("100000000") == std::pair{16U, 8U});
  CHECK(of("1fffffff8").first == ~0U);
}

TEST_CASE("trace: the code of the real vectorAdd trace takes the bytes of its instructions") {
  auto const path = data_file("traces/accelsim-vectoradd-a100/kernelslist.g");
  if (!path) return;
  auto const w = read_trace(*path, {});
  CHECK(w.kernel(0).shape().code_bytes == 17 * 16);
}

TEST_CASE("trace: a memory instruction without lanes accesses nothing") {
  auto const s = steps_of({"0100 00000000 1 R1 LDG.E 1 R2 4 1 0x0 0 ", "0110 ffffffff 1 R3 MOV 0 0 0 "});
  REQUIRE(s.size() == 1);
  CHECK(s[0].op == Op::compute);
  CHECK(s[0].work.vector == 2);
}

TEST_CASE("trace: shared, local and constant accesses are compute; generic ones depend on their address") {
  auto const s = steps_of(
      {"00 00000001 1 R1 LDS 1 R2 4 2 0x10 0", "10 00000001 1 R1 LDL 1 R2 4 2 0x10 0",
       "20 00000001 1 R1 LDC 0 4 2 0x10 0", "30 00000001 1 R1 LD.E 1 R2 4 2 0x7f0010000040 0",
       "40 00000001 1 R1 LD.E 1 R2 4 2 0x7f0020000040 0", "50 00000001 1 R1 LD.E 1 R2 4 2 0x7f0000000040 0",
       "60 00000001 0 RED.E.ADD 2 R2 R3 4 2 0x8000 0", "70 ffffffff 0 BAR.SYNC.DEFER_BLOCKING 0 0 0"});
  REQUIRE(s.size() == 4);
  CHECK(s[0].op == Op::compute);
  CHECK(s[0].work.vector == 5);
  CHECK(s[1].op == Op::load);
  CHECK(s[2].op == Op::store);
  CHECK(s[3].op == Op::barrier);
}

TEST_CASE(
    "trace: an instruction that uses any register of a wide load waits, one that uses others does not") {
  auto const s =
      steps_of({"00 ffffffff 1 R4 LDG.E.128 1 R2 16 1 0x1000 16 0", "10 ffffffff 1 R8 FADD 2 R9 R10 0 0",
                "20 ffffffff 1 R8 FADD 2 R7 R10 0 0", "30 ffffffff 1 R8 FADD 2 R4 R10 0 0"});
  REQUIRE(s.size() == 3);
  CHECK(s[1].work.vector == 1);
  CHECK_FALSE(s[1].wait_loads);
  CHECK(s[2].work.vector == 2);
  CHECK(s[2].wait_loads);
}

TEST_CASE("trace: old versions start a line with block and warp, and line information with the source line") {
  CHECK(active(steps_of({"0 0 0 0 0100 00000001 1 R1 LDG.E 1 R2 4 2 0x1000"}, header("2"))[0])[0] == 0x1000);
  CHECK(active(steps_of({"77 0100 00000001 1 R1 LDG.E 1 R2 4 2 0x1000 0"},
                        header("4", "-enable lineinfo = 1\n"))[0])[0] == 0x1000);
}

TEST_CASE("trace: tokens after the immediate and cluster ids of newer tracers are skipped") {
  TempFile const file(
      "k.traceg", header("6") + "#BEGIN_TB\nthread block = 1,0,0\ncluster id = 0,0,0\nwarp = 1\ninsts = 1\n" +
                      "00 00000001 1 R1 LDG.E 1 R2 4 2 0x1000 0 5 Val 1 1 0xff\n#END_TB\n");
  auto const w = read_trace(file.path(), {});
  CHECK(w.kernel(0).shape().blocks == 1);
  CHECK(steps(w, 0).empty());
  CHECK(active(steps(w, 1)[0])[0] == 0x1000);
}

TEST_CASE(
    "trace: a list gives the kernels in order and the copies as regions; a folder is read by its list") {
  TempFile const kernel("kernel-2.traceg", one_warp({"00 00000001 1 R1 LDG.E 1 R2 4 2 0x1000000 0"}));
  std::ofstream(kernel.folder() + "/kernelslist.g")
      << "MemcpyHtoD,0x0000000002000000,100\n\nMemcpyDtoH,0x1,5\nkernel-2.traceg\nkernel-2.traceg\n";
  for (auto const& path : {kernel.folder(), kernel.folder() + "/kernelslist.g"}) {
    CHECK(looks_like_trace(path));
    auto const w = read_trace(path, {});
    CHECK(w.kernel_count() == 2);
    REQUIRE(w.buffers().size() == 3);
    CHECK(w.buffers()[0].base == 0);
    CHECK(w.buffers()[1].base == 0x1000000);
    CHECK(w.buffers()[1].bytes == 65536);
    CHECK(w.buffers()[2].base == 0x2000000);
    CHECK(w.inputs().size() == 3);
  }
  CHECK(build("trace", {{"file", kernel.path()}}).kernel_count() == 1);
}

TEST_CASE("trace: errors in a trace are reported with file, line, value and rule") {
  CHECK(complaint("") ==
        "kernel-1.traceg: not an Accel-Sim trace: neither a kernel list nor a kernel's trace");
  CHECK(complaint("-kernel name = k\n#traces\n") ==
        "kernel-1.traceg:2: the kernel's header has no 'grid dim'");
  CHECK(complaint("-kernel name = k\n-grid dim = (9999999999,9999999999,9)\n#\n")
            .find("is not a size (x,y,z)") != std::string::npos);
  CHECK(complaint(header() + "#BEGIN_TB\nwarp = 2\n") ==
        "kernel-1.traceg:15: warp 2 is not one of the 2 of a block of 64 threads");
  CHECK(complaint(header() + "#BEGIN_TB\nwarp = 0\ninsts = 4000000000\n00 00000001 0 EXIT 0 0 \n") ==
        "kernel-1.traceg:18: a warp of 4000000000 instructions ends after 1");
  CHECK(complaint(header() + "#BEGIN_TB\nwarp = 0\ninsts = 1\n00 00000001 0 EXIT 0 0 0\nwarp = 0\n") ==
        "kernel-1.traceg:18: warp 0 occurs twice in its thread block");
  CHECK(complaint(one_warp({"0100 00000007 1 R1 LDG.E 1 R2 4 0 0x1000 0x1008"})).find("is not an address") !=
        std::string::npos);
  CHECK(complaint(one_warp({"0100 00000001 1 R1 LDG.E 1 R2 4 2 0xffff000000000000 0"}))
            .find("is not below 2^48") != std::string::npos);
  CHECK(complaint(one_warp({"0100 00000001 1 R1 LDG.E 1 R2 4 3 0x1000 0"}))
            .find("address mode 3 is not one of") != std::string::npos);
  CHECK(complaint(one_warp({"0100 zz 1 R1 LDG.E 1 R2 4 3 0x1000 0"})).find("'zz' is not a lane mask") !=
        std::string::npos);
  CHECK(complaint(header() + "#BEGIN_TB\n#END_TB\n#BEGIN_TB\n#END_TB\n#BEGIN_TB\n") ==
        "kernel-1.traceg:18: there are more thread blocks than the grid's 2");
  BuildContext wide;
  wide.warp_width = 64;
  CHECK(error_of([&] { read_trace("t.traceg", wide); }) ==
        "t.traceg: a trace has warps of 32 lanes, but the warps of this machine have 64; set "
        "gpu.warp_width to 32, or use the preset of an NVIDIA GPU");
  TempFile const file("k.traceg",
                      one_warp({"00 00000001 1 R1 LDG.E 1 R2 4 2 0x1000 0", "00 00000001 0 EXIT 0 0"}));
  TraceOptions small;
  small.max_instructions = 1;
  CHECK(error_of([&] { read_trace(file.path(), {}, small); }).find("more than max_instructions = 1") !=
        std::string::npos);
}

TEST_CASE("trace: a kernel list is checked against the limit of names before any kernel is read") {
  std::string list;
  for (int i = 0; i < 1000; ++i) list += "kernel-1.traceg\n";
  TempFile const file("kernelslist.g", list);
  BuildContext context;
  auto const line = 15 + file.folder().size();  // bytes, including the folder of a name
  context.limits.names = ByteSize{line * 500};
  CHECK(error_of([&] { read_trace(file.path(), context); }) ==
        file.path() + ":501: the lines read so far exceed " + limit_text("names", context.limits.names));
  context.limits.names = ByteSize{line * 1000};
  CHECK(error_of([&] { read_trace(file.path(), context); }) ==
        file.folder() + "/kernel-1.traceg: no such file");
  CHECK(error_of([&] { summarize_trace(file.path(), context.limits); }) ==
        file.folder() + "/kernel-1.traceg: no such file");
}

TEST_CASE("trace: copies and streams become the program's; the default stream is ordered with all others") {
  auto const in_stream = [](std::string const& id) {
    return one_warp({"00a0 ffffffff 1 R4 LDG.E 1 R4 4 1 0x7fb0fc430e00 4 0"},
                    header("5", "-cuda stream id = " + id + "\n"));
  };
  TempFile const files("kernelslist.g",
                       "MemcpyHtoD,0x00007fb0fc430e00,4096\nkernel-1.traceg\nkernel-2.traceg\n"
                       "kernel-3.traceg\nMemcpyDtoH,0x00007fb0fc430e00,128\nkernel-4.traceg\n");
  int number = 0;
  for (auto const* id : {"7", "94243434", "7", "0"})
    std::ofstream(files.folder() + "/kernel-" + std::to_string(++number) + ".traceg") << in_stream(id);
  auto const w = read_trace(files.path(), {});
  std::string text;
  for (auto const& o : w.operations())
    text += std::to_string(o.stream) +
            (o.kind == OperationKind::kernel         ? ":kernel "
             : o.kind == OperationKind::wait         ? ":wait "
             : o.kind == OperationKind::copy_to_gpus ? ":in "
                                                     : ":out ") +
            std::to_string(o.is_copy() ? o.bytes : o.number) + ", ";
  CHECK(text ==
        "0:in 4096, 1:wait 0, 1:kernel 0, 2:wait 0, 2:kernel 1, 1:kernel 2, 0:wait 5, 0:wait 4, 0:out 128, "
        "0:kernel 3, ");
  CHECK(w.streams() == 3);
}

TEST_CASE("trace: without operations in the default stream, the others are numbered from 0") {
  auto const in_stream = [](std::string const& id) {
    return one_warp({"00a0 ffffffff 1 R4 LDG.E 1 R4 4 1 0x7fb0fc430e00 4 0"},
                    header("5", "-cuda stream id = " + id + "\n"));
  };
  TempFile const one("kernel-1.traceg", in_stream("7"));
  auto const alone = read_trace(one.path(), {});
  CHECK(alone.streams() == 1);
  TempFile const files("kernelslist.g", "kernel-1.traceg\nkernel-2.traceg\n");
  std::ofstream(files.folder() + "/kernel-1.traceg") << in_stream("7");
  std::ofstream(files.folder() + "/kernel-2.traceg") << in_stream("9");
  auto const two = read_trace(files.path(), {});
  CHECK(two.streams() == 2);
  REQUIRE(two.operations().size() == 2);
  CHECK(two.operations()[0].stream == 0);
  CHECK(two.operations()[1].stream == 1);
}

TEST_CASE("trace: warps of earlier kernels count towards max_instructions") {
  auto const empty = header() + "#BEGIN_TB\n#END_TB\n#BEGIN_TB\n#END_TB\n";  // two blocks of two warps
  TempFile const list("kernelslist.g", "kernel-1.traceg\nkernel-1.traceg\n");
  std::ofstream(list.folder() + "/kernel-1.traceg") << empty;
  TraceOptions options;
  options.max_instructions = 8;
  CHECK(error_of([&] { read_trace(list.path(), {}, options); }) == "no error");
  options.max_instructions = 7;
  CHECK(error_of([&] { read_trace(list.path(), {}, options); }).find("more than max_instructions = 7") !=
        std::string::npos);
}

TEST_CASE("trace: every truncated trace gives a message or a whole number of blocks") {
  auto const text =
      one_warp({"0100 0000000f 1 R1 LDG.E 1 R2 4 2 0x1000 8 16 9 0", "10 ffffffff 1 R8 FADD 2 R7 R10 0 0"});
  std::size_t refused = 0;
  for (std::size_t n = 0; n < text.size(); ++n) refused += complaint(text.substr(0, n)) != "no error";
  CHECK(refused > text.size() - 60);
  CHECK(complaint(text) == "no error");
}

TEST_CASE("inspect: graphs, traces and other files are distinguished") {
  TempFile const graph("g.txt", "# c\n1 2\n2 3\n");
  TempFile const trace("k.traceg", one_warp({"00 00000001 0 EXIT 0 0"}));
  TempFile const toml("c.toml", "# a comment\nname = \"x\"\n");
  TempFile const csv("c.csv", "a,b\n1,2\n");
  CHECK(looks_like_graph(graph.path()));
  CHECK_FALSE(looks_like_trace(graph.path()));
  CHECK(looks_like_trace(trace.path()));
  for (auto const* other : {&trace, &toml, &csv}) CHECK_FALSE(looks_like_graph(other->path()));
  for (auto const* other : {&toml, &csv}) CHECK_FALSE(looks_like_trace(other->path()));
  CHECK_FALSE(looks_like_graph("/nonexistent"));
  CHECK_FALSE(looks_like_graph(graph.folder()));
  CHECK_FALSE(looks_like_trace(graph.folder()));
  CHECK(describe_graph_json(graph.path()) ==
        "{\"kind\":\"graph\",\"format\":\"snap\",\"vertices\":3,\"edges\":2,\"directed\":true}");
  CHECK(describe_graph_text(graph.path()) == "graph (snap), directed\n  vertices  3\n  edges     2\n");
}

TEST_CASE("inspect: none of the other files of the data folder is recognized as a graph or a trace") {
  for (auto const* name : {"topologies/ndv4-topo.xml", "topologies/ibnetdiscover-example.out", "README.md",
                           "topologies/topograph-nvl72.yaml", "measured/amd-utcl1-vcopy.csv",
                           "measured/cuda-gpu-tlb/K80-TLB-Test-1-5-64-256.csv", "training/chakra.0.et.gz",
                           "training/astrasim1-Resnet50_DataParallel.txt"})
    if (auto const path = data_file(name)) {
      CAPTURE(name);
      CHECK_FALSE(looks_like_graph(*path));
      CHECK_FALSE(looks_like_trace(*path));
    }
}

}  // namespace farfault::workloads::trace_test
