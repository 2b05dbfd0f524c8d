// SPDX-License-Identifier: Apache-2.0
// Machines that must be refused, in one sentence, without crashing, hanging or using much memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "data.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/topologies/graphml.hpp"
#include "farfault/topologies/load.hpp"

namespace malformed_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

// The message of the refusal, or "accepted".
std::string refusal(std::string const& text) {
  try {
    parse_machine(text, "f");
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

std::string const kGpu = "[[node]]\nname = \"g\"\nkind = \"gpu\"\n";
std::string const kCpu = "[[node]]\nname = \"c\"\nkind = \"cpu\"\n";
std::string link(std::string const& rest) {
  return "[[link]]\na = \"g\"\nb = \"c\"\nkind = \"pcie\"\n" + rest;
}

std::string repeated(std::string const& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string nccl(std::string const& content) {
  return "<system version=\"1\">" + content + "</system>";
}

}  // namespace

TEST_CASE("a machine without a GPU is rejected") {
  CHECK(refusal(kCpu) == "f: the machine has no GPU, but it needs at least one");
  CHECK(refusal(nccl("")) == "f: the machine has no GPU, but it needs at least one");
  CHECK(refusal("<topology/>") == "f: the machine has no GPU, but it needs at least one");
  CHECK(refusal("<graphml><graph/></graphml>") == "f: the machine has no GPU, but it needs at least one");
}

TEST_CASE("a machine in two disconnected parts is rejected with one node of each") {
  CHECK(refusal(kGpu + kCpu) ==
        "f: no path of links joins 'g' and 'c', but every node must be reachable from every other");
}

TEST_CASE("a link without bandwidth, to itself, or to an unknown node is rejected") {
  CHECK(refusal(kGpu + kCpu + link("bandwidth = \"0GB/s\"")).find("bandwidth is 0") != std::string::npos);
  CHECK(refusal(kGpu + kCpu + link("bandwidth = \"1kB/s\"")).find("but it must be") != std::string::npos);
  CHECK(refusal(kGpu + kCpu + link("latency = \"0ns\"")).find("a latency of 0") != std::string::npos);
  CHECK(refusal(kGpu + "[[link]]\na = \"g\"\nb = \"g\"\nkind = \"pcie\"\n") ==
        "f:4: the link joins 'g' to itself");
  CHECK(refusal(kGpu + link("")) == "f:6: 'b' is 'c', but no node has this name");
  CHECK(refusal(kGpu + kCpu + link("count = 0")) == "f:11: 'count' must be a whole number from 1 to 65536");
  CHECK(refusal(kGpu + kCpu + link("bandwidth = 3")) == "f:11: 'bandwidth' must be a string");
}

TEST_CASE("validate rejects machines that no importer accepts") {
  Machine m;
  m.nodes = {{"g", NodeKind::gpu, -1, 0, ""}, {"c", NodeKind::cpu, -1, 0, ""}};
  MachineLink const good{.a = 0,
                         .b = 1,
                         .kind = LinkKind::pcie,
                         .latency = 1ns,
                         .forward = Bandwidth{1'000'000'000},
                         .backward = Bandwidth{1'000'000'000},
                         .count = 1};
  m.links = {good};
  CHECK_NOTHROW(validate(m, "f"));
  auto const why = [&](std::function<void(Machine&)> const& change) {
    auto bad = m;
    change(bad);
    try {
      validate(bad, "f");
    } catch (UserError const& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(why([](Machine& b) { b.nodes[1].name = "g"; }) ==
        "f: two nodes are named 'g', but names must be unique");
  CHECK(why([](Machine& b) { b.nodes[1].name = ""; }) == "f: a node has no name");
  CHECK(why([](Machine& b) { b.links[0].b = 0; }).find("to itself") != std::string::npos);
  CHECK(why([](Machine& b) { b.links[0].b = 9; }) ==
        "f: link 0 of the list ends at node 9, but the nodes are numbered 0 to 1");
  CHECK(why([&](Machine& b) { b.links.push_back(good); }).find("listed twice") != std::string::npos);
  CHECK(why([](Machine& b) { b.links[0].forward = {0}; }).find("bandwidth of 0") != std::string::npos);
  CHECK(why([](Machine& b) { b.links[0].backward = {0}; }).find("bandwidth of 0") != std::string::npos);
  CHECK(why([](Machine& b) { b.links[0].count = 0; }).find("count of 0") != std::string::npos);
  CHECK(why([](Machine& b) { b.links[0].latency = 2s; }).find("at most 1") != std::string::npos);
  CHECK(why([](Machine& b) { b.nodes.resize(kMaxNodes + 1); }) ==
        "f: 1000001 nodes, but a machine may have at most 1000000");
}

TEST_CASE("TOML errors name the line, the key and the nearest known one") {
  CHECK(refusal(kGpu + "sm_cuont = 3\n") == "f:4: unknown key 'sm_cuont'; did you mean 'sm_count'?");
  CHECK(refusal("[[node]]\nname = \"g\"\nkind = \"gpus\"\n").find("f:3: 'gpus' is not a kind of node") == 0);
  CHECK(refusal("[[node]]\nkind = \"gpu\"\n") == "f:1: a node needs 'name'");
  CHECK(refusal(kGpu + kGpu) == "f:4: a second node is named 'g', but names must be unique");
  CHECK(refusal(kGpu + "numa = 99999999999\n").find("f:4: 'numa' must be a whole number") == 0);
  CHECK(refusal(kGpu + "x = [[[").find("f:4: ") == 0);
  for (std::string const header : {"[=]", "[[[node]]", "[ ", "[", "[[", "[#]", "[.a]"})
    CHECK(refusal(kGpu + header + "\n" + kGpu).find("f:4: ") == 0);
  CHECK(refusal("\xEF\xBB\xBF[=]\n[[node]]\n") == "f:1: this is not valid TOML");
  CHECK(refusal(kGpu + "model = \"\\\"# \xC3\xA9\"\n") == "accepted");
  CHECK(refusal(kGpu + "\xC3\xA9 = 1\n").find("f:4: ") == 0);
  CHECK(refusal(kGpu + "model = \"a\"  # \xC2\xB5s\n") == "accepted");
  CHECK(refusal(kGpu + "a" + repeated(".a", 5'000) + " = 1\n") == "f:4: the line has more than 4096 dots");
  CHECK(refusal(kGpu + "x = " + repeated("[ ", 2'000)).find("f:4: ") == 0);
  CHECK(refusal("[[node]]\n" + repeated(repeated("a.", 60) + "a = { \n", 500)).find("f:") == 0);
}

TEST_CASE("a machine in TOML is recognized by its tables, with any indentation and preceding lines") {
  for (std::string const before : {"", "# a\n\n", "\t  ", "name = \"x\"\n  "})
    CHECK(refusal(before + "[[node]]\nkind = 3\n").find("not a machine") == std::string::npos);
  CHECK(refusal("x [[node]]\n").find("f: not a machine: expected") == 0);
}

TEST_CASE("a file that is not a machine is rejected, including an empty file") {
  for (std::string const text :
       {"", " \n", "hello", "{\"kind\": 1}", "<html></html>", "<", "<!--", "<?xml", "\0\1\2"})
    CHECK(refusal(text).find("f: not a machine: expected") == 0);
}

TEST_CASE("truncated XML is rejected at every length") {
  auto const path = data_file("topologies/topo_3p_pcie.xml");
  if (!path) return;
  std::ifstream in(*path);
  std::string const text(std::istreambuf_iterator<char>(in), {});
  REQUIRE(text.size() > 2000);
  auto const end = text.rfind("</system>");
  for (std::size_t size = 0; size < end + 8; ++size) REQUIRE(refusal(text.substr(0, size)) != "accepted");
  CHECK(refusal(text) == "accepted");
}

TEST_CASE("invalid XML is reported with its line") {
  CHECK(refusal("<system>\n<cpu>\n</system>").find("f:3: not valid XML") == 0);
}

TEST_CASE("infinitely nested XML is rejected") {
  std::string const pci = "<pci class=\"0x060400\" busid=\"";
  std::string text = "<cpu numaid=\"0\">";
  for (int i = 0; i < 1000; ++i) text += pci + std::to_string(i) + "\">";
  text += repeated("</pci>", 1000) + "</cpu>";
  CHECK(refusal(nccl(text)) == "f: elements nest deeper than 64, the most that a machine file may have");
  auto const objects = repeated("<object>", 500'000) + repeated("</object>", 500'000);
  CHECK(refusal("<topology>" + objects + "</topology>") ==
        "f: elements nest deeper than 64, the most that a machine file may have");
  CHECK(refusal(nccl(repeated("<a>", 500'000) + repeated("</a>", 500'000))).find("no GPU") !=
        std::string::npos);
  CHECK(refusal(nccl(repeated("<a>", 500'000))).find("not valid XML") != std::string::npos);
}

TEST_CASE("XML with too many tags is rejected before it is parsed") {
  CHECK(refusal(nccl(repeated("<a/>", 4'000'001))).find("more than 4000000 tags") != std::string::npos);
}

TEST_CASE("entities are not expanded") {
  std::string const text =
      "<!DOCTYPE system><system><cpu numaid=\"0\" vendor=\"&lol;\"><pci busid=\"1\" "
      "class=\"0x0302\"/></cpu></system>";
  CHECK(parse_machine(text, "f").nodes[0].model == "&lol;");
}

TEST_CASE("an NCCL link to a GPU outside the file is omitted, and an invalid count is rejected") {
  auto const gpu = [](std::string const& inside) {
    return nccl("<cpu numaid=\"0\"><pci busid=\"1\" class=\"0x0302\"><gpu sm=\"80\">" + inside +
                "</gpu></pci></cpu>");
  };
  auto const alone = parse_machine(gpu("<nvlink target=\"2\" count=\"1\" tclass=\"0x030200\"/>"), "f");
  CHECK(alone.count(LinkKind::nvlink) == 0);
  CHECK(std::ranges::find(alone.assumed,
                          "links to GPUs that are not in the file are ignored: 'gpu0' (1 to 2)") !=
        alone.assumed.end());
  CHECK(refusal(gpu("<xgmi target=\"2\" count=\"many\" tclass=\"0x030200\"/>")).find("count=\"many\"") !=
        std::string::npos);
  CHECK(refusal(gpu("<nvlink target=\"2\" count=\"-1\" tclass=\"0x068000\"/>")).find("whole number") !=
        std::string::npos);
  auto const m = parse_machine(gpu("<nvlink target=\"2\" count=\"6\" tclass=\"0x068000\"/>"), "f");
  CHECK(m.count(NodeKind::nvswitch) == 1);
  CHECK(m.count(LinkKind::nvlink) == 6);
}

TEST_CASE("an NCCL file with two GPUs of one busid, or thousands of CPUs in a host, is rejected") {
  std::string const gpu = "<pci busid=\"1\" class=\"0x0302\"/>";
  CHECK(refusal(nccl("<cpu numaid=\"0\">" + gpu + gpu + "</cpu>")) ==
        "f: two GPUs of a host have the busid 1");
  CHECK(refusal(nccl("<cpu numaid=\"0\">" + gpu + "</cpu>" + repeated("<cpu/>", 2'000))).find("CPUs, but") !=
        std::string::npos);
}

TEST_CASE(
    "NCCL links with different counts at their two ends have the larger one, and an assumption is listed") {
  auto const gpu = [](std::string const& id, std::string const& target, std::string const& count) {
    return "<pci busid=\"" + id + "\" class=\"0x0302\"><gpu sm=\"70\"><nvlink target=\"" + target +
           "\" count=\"" + count + "\" tclass=\"0x030200\"/></gpu></pci>";
  };
  auto const m =
      parse_machine(nccl("<cpu numaid=\"0\">" + gpu("A", "b", "2") + gpu("b", "a", "1") + "</cpu>"), "f");
  CHECK(m.count(LinkKind::nvlink) == 2);
  CHECK(m.pairs(LinkKind::nvlink) == 1);
  bool printed = false;
  for (auto const& s : m.assumed)
    printed |= s == "'gpu0' lists 2 nvlink links to 'gpu1', which lists 1: 2 assumed";
  CHECK(printed);
}

TEST_CASE("an hwloc bandwidth matrix that does not match its objects is rejected") {
  auto const file = [](std::string const& matrix) {
    return "<topology version=\"2.0\"><object type=\"Package\"><object type=\"PCIDev\" gp_index=\"1\" "
           "pci_type=\"0302 [10de:1db8]\"/><object type=\"PCIDev\" gp_index=\"2\" pci_type=\"0302 "
           "[10de:1db8]\"/>"
           "</object>" +
           matrix + "</topology>";
  };
  auto const matrix = [](std::string const& n, std::string const& indexes, std::string const& values) {
    return "<distances2 type=\"PCIDev\" name=\"NVLinkBandwidth\" nbobjs=\"" + n + "\"><indexes>" + indexes +
           "</indexes><u64values>" + values + "</u64values></distances2>";
  };
  auto const m = parse_machine(file(matrix("2", "1 2", "0 50000 25000 0")), "f");
  REQUIRE(m.count(LinkKind::nvlink) == 2);
  auto const& link = *std::find_if(m.links.begin(), m.links.end(),
                                   [](MachineLink const& l) { return l.kind == LinkKind::nvlink; });
  CHECK(link.forward == Bandwidth{50'000'000'000});
  CHECK(link.backward == Bandwidth{25'000'000'000});
  CHECK(refusal(file(matrix("2", "1 2", "0 1 1"))).find("needs 2 and 4") != std::string::npos);
  CHECK(refusal(file(matrix("3", "1 2", "0 1 1 0"))).find("needs 3 and 9") != std::string::npos);
  CHECK(parse_machine(file(matrix("2", "1 3", "0 1 1 0")), "f").count(LinkKind::nvlink) == 0);
  CHECK(refusal(file(matrix("2", "1 2", "0 x 1 0"))).find("'x'") != std::string::npos);
  CHECK(refusal(file(matrix("2", "1 2", "0 99999999999999 1 0")))
            .find("must be a whole number of MB/s, at most 1000000000000") != std::string::npos);
  CHECK(refusal(file(matrix("99999999999", "1 2", "0"))).find("at most 4096") != std::string::npos);
}

TEST_CASE("GraphML errors name the node or edge") {
  auto const file = [](std::string const& graph, std::string const& direction = "undirected") {
    return "<graphml><graph edgedefault=\"" + direction + "\">" + graph + "</graph></graphml>";
  };
  std::string const a = "<node id=\"a\"><data key=\"kind\">gpu</data></node>";
  std::string const b = "<node id=\"b\"><data key=\"kind\">gpu</data></node>";
  auto const edge = [](std::string const& from, std::string const& to, std::string const& data) {
    return "<edge source=\"" + from + "\" target=\"" + to + "\"><data key=\"kind\">nvlink</data>" + data +
           "</edge>";
  };
  CHECK(refusal(file(a + b + edge("a", "c", ""))) ==
        "f: edge 'a' - 'c': its target is not a node of the graph");
  CHECK(refusal(file("<node id=\"a\"/>")).find("f: node 'a': it has no kind; expected") == 0);
  CHECK(refusal(file(a + a)) == "f: node 'a': a second node has this id");
  CHECK(refusal(file(a + edge("a", "a", ""))) ==
        "f: edge 'a' - 'a': its source and target are the same node");
  CHECK(refusal(file(a + b + edge("a", "b", "<data key=\"latency\">5</data>")))
            .find("f: edge 'a' - 'b': latency") == 0);
  CHECK(refusal(file(a + b + edge("a", "b", "<data key=\"count\">-5</data>"))).find("count is '-5'") !=
        std::string::npos);
  CHECK(refusal("<graphml/>") == "f: <graphml> contains no <graph>");
  auto const m = parse_machine(file(a + b + edge("b", "a", "<data key=\"bandwidth\">2GB/s</data>") +
                                        edge("a", "b", "<data key=\"bandwidth\">3GB/s</data>"),
                                    "directed"),
                               "f");
  REQUIRE(m.links.size() == 1);
  CHECK(m.links[0].forward == Bandwidth{3'000'000'000});
  CHECK(m.links[0].backward == Bandwidth{2'000'000'000});
}

TEST_CASE("parallel links are merged: counts and bandwidths add up, per direction") {
  auto const m =
      parse_machine(kGpu + kCpu + link("latency = \"50ns\"\nforward = \"2GB/s\"\nbackward = \"1GB/s\"\n") +
                        "[[link]]\na = \"c\"\nb = \"g\"\nkind = \"pcie\"\nlatency = \"60ns\"\nforward = "
                        "\"10GB/s\"\nbackward = \"20GB/s\"\ncount = 2\n",
                    "f");
  REQUIRE(m.links.size() == 1);
  CHECK(m.links[0].count == 3);
  CHECK(m.links[0].latency == 50ns);
  CHECK(m.links[0].forward == Bandwidth{42'000'000'000});
  CHECK(m.links[0].backward == Bandwidth{21'000'000'000});
}

TEST_CASE("a folder, a missing file and a huge file are rejected by name") {
  auto const folder = std::filesystem::temp_directory_path();
  CHECK_THROWS_WITH_AS(load_machine(folder.string()),
                       (folder.string() + ": it is a directory, not a regular file").c_str(), UserError);
  CHECK_FALSE(looks_like_machine(folder.string()));
  CHECK_FALSE(looks_like_machine("/nowhere/at/all"));
  auto const huge = folder / "farfault_huge_machine.xml";
  std::ofstream(huge) << "<system>";
  std::filesystem::resize_file(huge, 65U << 20U);  // sparse
  CHECK_THROWS_AS(load_machine(huge.string()), UserError);
  CHECK(looks_like_machine(huge.string()));
  std::filesystem::remove(huge);
}

TEST_CASE("errors in ibnetdiscover output and topograph models are named") {
  CHECK(refusal("Switch\t2 \"S-1\"\t# \"s\"\n[1]\t\"H-2\"[1](2) # \"x\" lid 1 4xNDR\n") == "accepted");
  CHECK(refusal("Switch\t2 \"S-1\"\t# \"s\"\n[1]\t\"?-2\"[1](2) # \"x\" lid 1 4xNDR\n")
            .find("no record of it") != std::string::npos);
  CHECK(refusal("Switch\t2\n") == "f:1: a record has no GUID");
  CHECK(refusal("Ca\t1 \"H-1\"\t# \"n mlx5_0\"\nCa\t1 \"H-1\"\t# \"n mlx5_0\"\n") ==
        "f:2: a second record has the GUID 'H-1'");
  CHECK(refusal("switches:\n  a:\n    switches:\n    - a\nblocks:\n") == "f: switch 'a' is below itself");
  CHECK(refusal("switches:\nblocks:\n- switch: a\n  nodes:\n  - n[1-999999999]\n")
            .find("f:5: 'n[1-999999999]'") == 0);
  CHECK(refusal("switches:\nblocks:\n- switch: a\n  nodes:\n  - n[2-1]\n").find("is not a range") !=
        std::string::npos);
  CHECK(refusal("switches:\nblocks:\n- switch: a\n  nodes:\n  - n[\n").find("is not a range") !=
        std::string::npos);
  CHECK(refusal("switches:\nblocks:\n  nonsense\n") == "f:3: 'blocks' must be a list");
}

TEST_CASE("files with random damage are accepted or rejected with a message, without crashes") {
  std::vector<std::string> texts = {write_graphml(load_machine("single-gpu")),
                                    kGpu + kCpu + link("count = 2\n")};
  for (auto const* file :
       {"p4d-24xl-topo.xml", "topo_3p_pcie.xml", "topograph-medium.yaml", "nvidiaDGX2.xml"}) {
    if (auto const path = data_file(std::string("topologies/") + file)) {
      std::ifstream in(*path);
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  std::mt19937_64 random(1);
  int refused = 0;
  for (auto const& text : texts) {
    for (int i = 0; i < 300; ++i) {
      auto damaged = text;
      for (int j = 0; j < 3; ++j) {
        auto const at = random() % damaged.size();
        switch (random() % 4) {
          case 0:
            damaged[at] = static_cast<char>(random());
            break;
          case 1:
            damaged.erase(at, random() % 40);
            break;
          case 2:
            damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 60));
            break;
          default:
            damaged[at] = "<>\"'=[]{}0.\n"[random() % 12];
            break;
        }
      }
      auto const answer = refusal(damaged);
      refused += answer != "accepted";
      CHECK(answer.size() < 2000);
    }
  }
  CHECK(refused > 0);
}

}  // namespace malformed_test
