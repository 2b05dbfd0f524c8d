// SPDX-License-Identifier: Apache-2.0
// Limits of the content of a file: small inputs that describe gigabytes are refused early, by a sentence that
// names the limit to raise.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/load.hpp"
#include "machine_texts.hpp"

namespace input_limits_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

std::string refusal(std::string const& text, InputLimits const& limits = {}) {
  try {
    parse_machine(text, "f", {}, limits);
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

std::string topograph(std::string const& node) {
  return "switches:\nblocks:\n- switch: leaf\n  nodes:\n  - " + node + "\n";
}

}  // namespace

TEST_CASE("a range of a topograph model is checked against the limits during expansion") {
  InputLimits limits;
  limits.names = {1 << 20};
  CHECK(refusal(topograph(std::string(200, 'k') + "[1-100000]"), limits) ==
        "f:5: the names up to here take more than limits.names (now 1 MiB); --set limits.names=N raises it");
  CHECK(refusal(topograph(std::string(1000, 'k') + "[1-100000]")) ==
        "f:5: the name '" + std::string(80, 'k') + "...' has 1001 bytes, but it may have at most 255");
  limits = {};
  limits.nodes = 50;
  CHECK(refusal(topograph("n[1-51]"), limits) ==
        "f:5: there are more nodes than limits.nodes (now 50); --set limits.nodes=N raises it");
  CHECK(refusal(topograph("n[1-50]"), limits) ==
        "f: there are more nodes than limits.nodes (now 50); --set limits.nodes=N raises it");
  limits.nodes = 6 * 50 + 1;
  CHECK(refusal(topograph("n[1-50]"), limits) == "accepted");
}

TEST_CASE("names of nodes are checked against the limits in every format") {
  InputLimits limits;
  limits.names = {100};
  std::string const name(60, 'n');
  auto const toml = "[[node]]\nname = \"" + name + "\"\nkind = \"gpu\"\n[[node]]\nname = \"c" + name +
                    "\"\nkind = \"cpu\"\n[[link]]\na = \"" + name + "\"\nb = \"c" + name +
                    "\"\nkind = \"pcie\"\n";
  CHECK(refusal(toml, limits) ==
        "f: the names of the first 2 nodes take more than limits.names (now 100 B); --set limits.names=N "
        "raises it");
  limits.names = {121};
  CHECK(refusal(toml, limits) == "accepted");
}

TEST_CASE("the links of a bandwidth matrix are counted before any is created") {
  InputLimits limits;
  limits.links = 40 + 780;  // PCIe, NVLink
  CHECK(refusal(test::hwloc_matrix(40), limits) == "accepted");
  limits.links = 40 + 779;
  CHECK(refusal(test::hwloc_matrix(40), limits) ==
        "f: there are 820 links, more than limits.links (now 819); --set limits.links=N raises it");
  limits.links = 39;
  CHECK(refusal(test::hwloc_matrix(40), limits) ==
        "f: there are more links than limits.links (now 39); --set limits.links=N raises it");
}

TEST_CASE("a name of more than 255 bytes is rejected, and truncated in the message") {
  auto const machine = [](std::size_t length) {
    return "[[node]]\nkind = \"gpu\"\nname = \"" + std::string(length, 'n') + "\"\n";
  };
  CHECK(refusal(machine(255)) == "accepted");
  CHECK(refusal(machine(256)) ==
        "f: the node name '" + std::string(80, 'n') + "...' has 256 bytes, but it may have at most 255");
  auto const named = "name = \"" + std::string(1'000'000, 'm') + "\"\n" + machine(1);
  CHECK(refusal(named) == "f: the machine's name, '" + std::string(80, 'm') +
                              "...', has 1000000 bytes, but it may have at most 255");
}

TEST_CASE("assumptions take the same number of messages for 80 equal devices as for 40") {
  auto const few = parse_machine(test::nccl_nics(40), "f");
  auto const many = parse_machine(test::nccl_nics(80), "f");
  CHECK(many.count(NodeKind::nic) == 80);
  CHECK(few.assumed.size() == many.assumed.size());
  auto const slotless =
      "NICs without a PCI slot in the file are joined to their CPU by an assumed PCIe link: 'n0' and 39 more";
  CHECK(std::ranges::find(few.assumed, slotless) != few.assumed.end());
}

TEST_CASE("YAML is parsed with flow style, quotes and comments") {
  auto const m = parse_machine(
      "# a cluster\nswitches: {spine: {switches: [leaf, 'other leaf']}}\n"
      "blocks: [{switch: leaf, nodes: [\"n[08-10]\"], annotations: {accelerator/domain: d0}},\n"
      "  {switch: other leaf, nodes: [m]}]\nunknown: {a: [b, {c: d}]}\n",
      "f");
  CHECK(m.format == "topograph-yaml");
  CHECK(m.count(NodeKind::network_switch) == 3);
  CHECK(m.count(NodeKind::nvswitch) == 1);
  CHECK(m.count(NodeKind::cpu) == 4);
  CHECK(m.find("n08.gpu0").has_value());
  CHECK(m.find("n10.nic0").has_value());
  CHECK(m.find("m").has_value());
}

TEST_CASE("hostile YAML is rejected by line") {
  std::string const head = "switches:\nblocks:\n";
  CHECK(refusal("a: &a [x, x]\nb: [*a, *a]\n" + head) == "f:2: aliases ('*') are not supported");
  CHECK(refusal(head + "x: " + std::string(100, '[') + std::string(100, ']')) ==
        "f:3: lists and maps nest deeper than 32");
  CHECK(refusal(head + "x: " + std::string(100'000, '[')) ==
        "f: more than 1000 brackets are open at the same time");
  CHECK(refusal(head + "- [a: b\n").find("f:") == 0);
  CHECK(refusal(head + "x: \"\\q\"\n").find("f:3: not valid YAML: ") != std::string::npos);
  CHECK(refusal("switches: x\nblocks:\n") == "f:1: 'switches' must be a map of switches");
  CHECK(refusal("switches:\nblocks:\n- x\n") == "f:3: a block must be a map, with 'switch' and 'nodes'");
  CHECK(refusal("switches:\nblocks:\n- nodes: {a: b}\n") == "f:3: the nodes of a block must be a list");
  CHECK(refusal("switches:\nblocks:\n- nodes: a\n") == "f:3: the nodes of a block must be a list");
  CHECK(refusal("switches:\nblocks:\n- switch: \"a\\e[2J\"\n  nodes: [\"b[\\n\"]\n") ==
        "f:4: 'b[ ' is not a range of at most 1000000 nodes");
  CHECK(refusal(head + std::string(9 << 20, ' ')).find("it may have at most 8 MiB") != std::string::npos);
}

TEST_CASE("NVLinks of an hwloc matrix may connect a CPU and a GPU, as on POWER8") {
  std::string const gpu = "<object type=\"PCIDev\" pci_type=\"0302 [10de:15f9]\" gp_index=\"";
  auto const m = parse_machine(
      "<topology version=\"2.0\"><object type=\"Package\" gp_index=\"3\">" + gpu + "10\"/>" + gpu +
          "11\"><object type=\"OSDev\" gp_index=\"21\"/></object></object>"
          "<object type=\"Package\" gp_index=\"134\"/>"
          "<distances2hetero nbobjs=\"4\" name=\"NVLinkBandwidth\"><indexes>PCIDev:10 OSDev:21 Package:3 "
          "Package:134 </indexes><u64values>1000000 40000 40000 0 40000 1000000 40000 0 </u64values>"
          "<u64values>40000 40000 1000000 0 0 0 0 1000000 </u64values></distances2hetero></topology>",
      "f");
  CHECK(m.count(NodeKind::cpu) == 2);
  CHECK(m.pairs(LinkKind::nvlink) == 3);
  CHECK(m.count(LinkKind::nvlink) == 6);
  auto const cpu = m.find("cpu0").value();
  int joined = 0;
  for (auto const& link : m.links)
    if (link.kind == LinkKind::nvlink && (link.a == cpu || link.b == cpu)) {
      CHECK(link.forward == Bandwidth{40'000'000'000});
      ++joined;
    }
  CHECK(joined == 2);
}

TEST_CASE("a busid may identify several switches and NICs of an NCCL file, and is local to a host") {
  auto const gpu = [](std::string const& id, std::string const& peer) {
    return "<pci busid=\"" + id + "\" class=\"0x038000\"><gpu sm=\"120\" gcn=\"908\"><xgmi target=\"" + peer +
           "\" count=\"1\" tclass=\"0x038000\"/></gpu></pci>";
  };
  auto const below = [](std::string const& inside) {
    return "<pci busid=\"c5\" class=\"0x060400\">" + inside + "</pci>";
  };
  auto const host = [&](std::string const& hash) {
    return "<cpu numaid=\"0\" host_hash=\"" + hash + "\">" + below(gpu("1", "2")) + below(gpu("2", "1")) +
           "<pci busid=\"c5\" class=\"0x020000\"/></cpu>";
  };
  auto const one = parse_machine("<system>" + host("") + "</system>", "f");
  CHECK(one.count(NodeKind::pcie_switch) == 2);
  CHECK(one.count(NodeKind::nic) == 1);
  CHECK(one.count(LinkKind::xgmi) == 1);
  CHECK(std::ranges::find(one.assumed, "PCI devices with the same busid are separate devices: c5") !=
        one.assumed.end());

  // Two hosts that are connected only by a common switch.
  auto const nvlink = [](std::string const& id) {
    return "<pci busid=\"" + id +
           "\" class=\"0x030200\"><gpu sm=\"90\"><nvlink target=\"ffff\" count=\"4\" "
           "tclass=\"0x068000\"/></gpu></pci>";
  };
  auto const two =
      parse_machine("<system><cpu numaid=\"0\" host_hash=\"0xa\">" + nvlink("1") +
                        "</cpu><cpu numaid=\"0\" host_hash=\"0xb\">" + nvlink("1") + "</cpu></system>",
                    "f");
  CHECK(two.count(NodeKind::gpu) == 2);
  CHECK(two.count(NodeKind::nvswitch) == 1);
  CHECK(two.count(LinkKind::nvlink) == 8);
  CHECK(two.find("host1.cpu0").has_value());

  CHECK(refusal("<system><cpu numaid=\"0\">" + below("") + below("") + gpu("1", "c5") + "</cpu></system>") ==
        "f: GPU 1 has a <xgmi> to 'c5', but several devices of the file have that busid");
}

}  // namespace input_limits_test
