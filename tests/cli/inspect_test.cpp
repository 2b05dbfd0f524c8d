// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/inspect.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "capture.hpp"
#include "data.hpp"
#include "farfault/engine/checkpoint.hpp"

namespace inspect_test {

namespace {

std::string scratch(std::string const& name, std::string const& text) {
  auto const folder = std::filesystem::path(FARFAULT_BINARY_DIR) / "inspect_test";
  std::filesystem::create_directories(folder);
  auto const path = (folder / name).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string json_of(std::string const& path) {
  auto const r = farfault_program({"inspect", path, "--json"});
  CHECK(r.err == "");
  CHECK(r.code == 0);
  return r.out;
}

std::string error_of(std::string const& path) {
  auto const r = farfault_program({"inspect", path});
  CHECK(r.code == 2);
  CHECK(r.out == "");
  return r.err;
}

}  // namespace

TEST_CASE("a graph file is described under any file name") {
  auto const metis = scratch("a.graph", "3 2\n2 3\n1\n1\n");
  CHECK(json_of(metis) ==
        "{\"kind\":\"graph\",\"format\":\"metis\",\"vertices\":3,\"edges\":2,\"directed\":false}\n");
  auto const market = scratch("b.bin", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n");
  CHECK(json_of(market) ==
        "{\"kind\":\"graph\",\"format\":\"matrix-market\",\"vertices\":3,\"edges\":2,\"directed\":true}\n");
  auto const r = farfault_program({"inspect", metis});
  CHECK(r.out == metis + ": graph (metis), undirected\n  vertices  3\n  edges     2\n");
}

TEST_CASE("a real citation graph is described") {
  auto const path = data_file("graphs/cit-HepTh.mtx.gz");
  if (!path) return;
  auto const json = json_of(*path);
  CHECK(json.find("\"vertices\":27770,\"edges\":352807,\"directed\":true") != std::string::npos);
}

TEST_CASE("a built-in machine is described by name, as text, JSON and Graphviz") {
  auto const json = json_of("paper-gmmu-bypass");
  CHECK(json.find("{\"kind\":\"topology\",\"format\":\"builtin\",") == 0);
  CHECK(json.find("\"nodes\":{\"gpu\":4,") != std::string::npos);
  auto const dot = farfault_program({"inspect", "paper-gmmu-bypass", "--dot"});
  CHECK(dot.code == 0);
  CHECK(dot.out.substr(0, 6) == "graph ");
  CHECK(dot.out.find("\"gpu0\" [shape=box];") != std::string::npos);
}

TEST_CASE("a real trace is described, given as a folder") {
  auto const path = data_file("traces/accelsim-vectoradd-a100");
  if (!path) return;
  auto const json = json_of(*path);
  CHECK(json.find("{\"kind\":\"trace\",") == 0);
  CHECK(json.find("\"memory_instructions\":4689") != std::string::npos);
}

TEST_CASE("a real NCCL file is recognized as a topology") {
  auto const path = data_file("topologies/ndv4-topo.xml");
  if (!path) return;
  auto const json = json_of(*path);
  CHECK(json.find("{\"kind\":\"topology\",\"format\":\"nccl-xml\",") == 0);
  CHECK(json.find("\"nodes\":{\"gpu\":8,\"cpu\":4,") != std::string::npos);
}

TEST_CASE("an unknown file gives one sentence") {
  auto const text = scratch("text", "just some words\n");
  CHECK(error_of(text) ==
        "farfault: " + text +
            ": not a machine, configuration, graph, trace, result or checkpoint that farfault supports\n");
  auto const empty = scratch("empty", "");
  CHECK(error_of(empty) == "farfault: " + empty + ": file is empty\n");
  CHECK(error_of("/no/such")
            .starts_with("farfault: /no/such: neither a file nor a built-in machine or preset (dgx-a100, "));
  CHECK(error_of("dgx3").ends_with("; did you mean 'dgx1'?\n"));
  CHECK(error_of("/dev/zero") ==
        "farfault: /dev/zero: it is a device, not a regular file; copy its contents to a file first\n");
  error_of(scratch("cut.gz", std::string("\x1f\x8b\x08\0\0\0", 6)));
  error_of(scratch("cut.h5", std::string("\x89HDF\r\n\x1a\n\0\0\0\0", 12)));
}

TEST_CASE("a message about a file is one line of text, whatever the file contains") {
  auto const path = scratch("escapes.toml",
                            "[[node]]\nname = \"a\\u001b[2J\\nfarfault: all is well\"\nkind = \"gpu\"\n"
                            "[[node]]\nname = \"a\\u001b[2J\\nfarfault: all is well\"\nkind = \"gpu\"\n");
  CHECK(error_of(path) == "farfault: " + path +
                              ":4: a second node is named 'a [2J farfault: all is well', but names must be "
                              "unique\n");
  auto const bytes = scratch("bytes.xml", "<graphml><graph><node id=\"\xff\x9b\"/></graph></graphml>");
  CHECK(error_of(bytes).find("node '\ufffd\ufffd': it has no kind") != std::string::npos);
  CHECK(error_of("no\nsuch\x1b")
            .starts_with("farfault: no such : neither a file nor a built-in machine or preset ("));
}

TEST_CASE("inspect has options for the input limits") {
  auto const graph = scratch("limited.txt", "# c\n1 2\n2 3\n3 4\n");
  auto r = farfault_program({"inspect", graph, "--set", "limits.edges=2"});
  CHECK(r.code == 2);
  CHECK(r.err == "farfault: " + graph +
                     ":4: there are more edges than limits.edges (now 2); --set limits.edges=N raises it\n");
  r = farfault_program({"inspect", graph, "--set", "limits.edges=3", "--set", "limits.vertices=3"});
  CHECK(r.err ==
        "farfault: " + graph +
            ":5: 4 vertices are more than limits.vertices (now 3); --set limits.vertices=N raises it\n");
  CHECK(farfault_program({"inspect", graph, "--set", "limits.edges=3"}).code == 0);
  r = farfault_program({"inspect", graph, "--set", "limits.edge=3"});
  CHECK(r.code == 2);
  CHECK(r.err.find("limits.edges") != std::string::npos);
  auto const model = scratch("limited.yaml", "switches:\nblocks:\n- nodes: [\"n[1-100]\"]\n");
  r = farfault_program({"inspect", model, "--set", "limits.nodes=99"});
  CHECK(r.err == "farfault: " + model +
                     ":3: there are more nodes than limits.nodes (now 99); --set limits.nodes=N raises it\n");
}

TEST_CASE("only machines and configurations are drawn") {
  auto const metis = scratch("c.graph", "3 2\n2 3\n1\n1\n");
  auto const r = farfault_program({"inspect", metis, "--dot"});
  CHECK(r.code == 2);
  CHECK(r.err ==
        "farfault: " + metis + ": not a machine; --dot works only for machines and configurations\n");
}

TEST_CASE("of a configuration, the inside of a GPU is described, and its translation is drawn") {
  auto const path =
      scratch("levels.toml",
              "# a GPU\ninclude = [\"gpu-a100\"]\ngpu.sms = 6\n[[gpu.translation.level]]\nname = "
              "\"utlb\"\nsms = 2\nentries = 16\nways = 4\n[[gpu.translation.level]]\nname = "
              "\"l2_tlb\"\nbanks = 4\nhash = \"xor\"\nrequest_latency = 9\n");
  auto const text = farfault_program({"inspect", path}).out;
  auto const has = [](std::string const& all, std::string const& part) {
    CAPTURE(all);
    CHECK(all.find(part) != all.npos);
  };
  has(text, path + ": configuration of machine single-gpu: 1 GPU, 1 CPU\ninside of each GPU:\n   6 sm  ");
  has(text, "\n   6 scalar_cache  for each SM ");
  has(text, "\n   3 utlb          for every 2 SMs, 4 cycles away ");
  has(text, "  plain, 16 entries in 4 ways, 1 port, 4 cycles, 64 MSHRs\n");
  has(text, "\n   4 l2_tlb        4 banks (xor, 2 MiB) for all SMs, 9 cycles away ");
  has(text, "\n  40 l2_slice      in turns, 34 cycles away ");
  auto const json = json_of(path);
  has(json, R"({"kind":"configuration","machine":{"kind":"topology",)");
  has(json, R"("gpu":{"sms":6,"levels":[{"name":"utlb","groups":3,"banks":1,)");
  auto const dot = farfault_program({"inspect", path, "--dot"}).out;
  has(dot, "digraph \"translation of a GPU\" {\n");
  has(dot, "  \"SMs 2 to 3\" -> \"utlb1\" [label=\"4 cycles\"];\n");
  has(dot, "  \"utlb2\" -> \"l2_tlb\" [label=\"9 cycles\"];\n");
  has(dot, "  \"l2_tlb\" -> \"gmmu\" [label=\"4 cycles\"];\n");
  CHECK(dot.find("utlb3") == dot.npos);
  // A preset by its name; without levels, the L2 TLB.
  has(farfault_program({"inspect", "paper-mask"}).out, " l2_tlb        for all SMs, 1 cycle away ");
  // Chiplets.
  auto const chiplets = farfault_program({"inspect", "published-mgvm"}).out;
  has(chiplets, "\n   32 scalar_cache  for every 4 SMs ");
  has(chiplets, "(turns, 4 MiB) for all SMs, 4 cycles away, 360 cycles more between partitions  ");
  has(chiplets, "16 MiB in all, 4 partitions, 360 cycles apart\n");
  CHECK(error_of(scratch("wrong.toml", "gpu.smss = 3\n")).find("unknown key 'gpu.smss'") !=
        std::string::npos);
}

TEST_CASE("a checkpoint is described, and a damaged one is rejected") {
  auto const path = scratch("run.checkpoint", "");
  farfault::write_checkpoint(
      path,
      {{0xabcd, farfault::Time{farfault::Duration{1'500'000}}, 7, 3}, {}, {{}, std::vector<std::byte>(5)}});
  CHECK(json_of(path) ==
        "{\"kind\":\"checkpoint\",\"time_ps\":1500000,\"config_hash\":\"000000000000abcd\",\"components\":7,"
        "\"pending_events\":3,\"ranks\":2,\"state_bytes\":5}\n");
  auto const r = farfault_program({"inspect", path});
  CHECK(r.code == 0);
  CHECK(r.out.find(path + ": checkpoint, complete\n"
                          "  simulated time   1500 ns\n") == 0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK(error_of(path).find("farfault: checkpoint " + path) == 0);
}

}  // namespace inspect_test
