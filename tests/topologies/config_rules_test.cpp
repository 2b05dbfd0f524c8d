// Parameters that do not fit together, or that would stop time or divide by zero: one sentence each.
#include <doctest/doctest.h>

#include <string>

#include "farfault/topologies/assembly.hpp"

using namespace farfault;
using namespace farfault::topologies;

namespace {

std::string refusal(std::string const& toml) {
  try {
    Config config(find_preset);
    config.read_text(toml, "f");
    MachineConfig machine;
    machine.bind(config);
    machine.check(config);
    config.reject_mistakes();
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a rate, a clock or a latency of zero is refused, unless its text says what zero means") {
  MachineConfig machine;
  int tried = 0;
  machine.each_section([&](std::string_view section, std::string_view, auto& spec) {
    ParamTable table;
    spec.describe(table);
    for (auto const& p : table.all()) {
      auto const zero = p.kind == ParamKind::duration    ? "0s"
                        : p.kind == ParamKind::bandwidth ? "0 B/s"
                        : p.kind == ParamKind::frequency ? "0Hz"
                                                         : nullptr;
      auto const cycles = p.kind == ParamKind::count && p.name.find("latency") != std::string::npos;
      if ((zero == nullptr && !cycles) || p.text.find("0: ") != std::string::npos) continue;
      CAPTURE(std::string(section) + "." + p.name);
      CHECK_THROWS_AS(p.set(zero == nullptr ? "0" : zero), UserError);
      ++tried;
    }
  });
  CHECK(tried > 40);
}

TEST_CASE("a zero rate is answered with the key, the value and the range") {
  CHECK(refusal("gpu.dram.bandwidth = \"0 B/s\"\n").find("gpu.dram.bandwidth") != std::string::npos);
  CHECK(refusal("host.launch_latency = \"0 ns\"\n").find("host.launch_latency") != std::string::npos);
  CHECK(refusal("links.pcie_latency = \"0 ns\"\n").find("links.pcie_latency") != std::string::npos);
}

TEST_CASE("a link's buffer below a largest packet is refused, 0 follows the link") {
  CHECK(refusal("fabric.buffer = \"0 B\"\n") == "accepted");
  CHECK(refusal("fabric.buffer = \"88 B\"\n") == "accepted");  // a line of 64 bytes and 24 of header
  CHECK(refusal("fabric.buffer = \"87 B\"\n") ==
        "f:1: fabric.buffer = 87: must be 0 (as each link needs) or hold a largest packet, 88 bytes with its "
        "header");
  CHECK(refusal("fabric.buffer = \"88 B\"\ngpu.line_bytes = 128\n") ==
        "f:1: fabric.buffer = 88: must be 0 (as each link needs) or hold a largest packet, 152 bytes with "
        "its header");
  CHECK(refusal("fabric.nvlink_flit_bytes = 24\n") ==
        "f:1: fabric.nvlink_flit_bytes = 24: must be a power of two");
}
