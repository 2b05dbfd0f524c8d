// SPDX-License-Identifier: Apache-2.0
// The output of ibnetdiscover (infiniband-diags): switches and channel adapters of an InfiniBand fabric, each
// followed by its ports, one per line: [port] "GUID"[port] ... # ... width and speed. Both ends list a link;
// it is taken once.
//
// The file knows no hosts and no GPUs. Adapters whose description begins with the same host name share a CPU;
// one GPU behind each adapter is assumed. A switch's own aggregation node (SHARP) is not a host and is
// left out.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {
namespace {

// Data rate of one lane in Mbit/s, line code taken off (InfiniBand Trade Association).
constexpr struct {
  std::string_view name;
  std::uint64_t megabits;
} kLaneRates[] = {{"SDR", 2000},  {"DDR", 4000},  {"QDR", 8000},   {"FDR10", 10000}, {"FDR", 13640},
                  {"EDR", 25000}, {"HDR", 50000}, {"NDR", 100000}, {"XDR", 200000}};

// The text between the next two quotation marks, which is cut off the front of `line`.
std::string quoted(std::string_view& line) {
  auto const begin = line.find('"');
  auto const end = begin == std::string_view::npos ? begin : line.find('"', begin + 1);
  if (end == std::string_view::npos) return {};
  std::string found(line.substr(begin + 1, end - begin - 1));
  line.remove_prefix(end + 1);
  return found;
}

std::string port_of(std::string_view text) {
  return std::string(text.substr(0, text.find(']') + 1));
}

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), defaults_(defaults), builder_(where, "ibnetdiscover", limits) {}

  MachineBuilder read(std::string_view text) {
    for (auto rest = text; !rest.empty();) {
      auto const end = std::min(rest.find('\n'), rest.size());
      ++line_number_;
      read_line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    for (auto const& link : links_) join(link);
    builder_.assume("the file knows no GPUs: one behind each of the " + std::to_string(adapters_) +
                    " channel adapters is assumed, on PCIe links of the link defaults");
    builder_.assume("adapters whose description begins with the same host name are assumed to share a CPU");
    tally_.note_defaults(builder_, defaults_);
    return std::move(builder_);
  }

 private:
  struct Link {
    std::string from, to;
    Bandwidth bandwidth;
  };

  [[noreturn]] void fail(std::string const& what) const {
    throw UserError(where_ + ":" + std::to_string(line_number_) + ": " + what);
  }

  void read_line(std::string_view line) {
    if (line.starts_with("Switch") || line.starts_with("Ca")) {
      auto const is_switch = line.starts_with("Switch");
      current_ = quoted(line);
      if (current_.size() < 3) fail("a record names no GUID");
      add_device(is_switch, quoted(line));
    } else if (line.starts_with("[") && !current_.empty()) {
      auto const here = current_ + port_of(line);
      auto const remote = quoted(line);
      if (remote.empty()) fail("a port names no other end");
      auto const there = remote + port_of(line);
      if (seen_.insert({std::min(here, there), std::max(here, there)}).second) {
        links_.push_back({current_, remote, bandwidth(line)});
      }
    }
  }

  void add_device(bool is_switch, std::string const& description) {
    if (known_.contains(current_)) fail("a second record has the GUID '" + shown(current_) + "'");
    if (is_switch) {
      known_[current_] = builder_.add_node({current_, NodeKind::network_switch, -1, 0, description, kShared});
      return;
    }
    if (description.find("Aggregation Node") != std::string::npos) {
      known_[current_] = kLeftOut;
      return;
    }
    auto const host = host_of(description);
    auto const pcie = [&](std::uint32_t a, std::uint32_t b) {
      builder_.add_link(a, b, LinkKind::pcie, defaults_.pcie_latency, defaults_.pcie_bandwidth,
                        defaults_.pcie_bandwidth);
    };
    auto const [cpu, added] = hosts_.try_emplace(host, 0);
    if (added) {
      auto const next = static_cast<int>(hosts_.size()) - 1;
      cpu->second = builder_.add_node({"host." + host, NodeKind::cpu, -1, 0, "", next});
    }
    auto const machine = builder_.machine().nodes[cpu->second].machine;
    auto const nic = builder_.add_node({current_, NodeKind::nic, -1, 0, description, machine});
    auto const gpu =
        builder_.add_node({"gpu" + std::to_string(adapters_++), NodeKind::gpu, -1, 0, "", machine});
    pcie(cpu->second, nic);
    pcie(cpu->second, gpu);
    known_[current_] = nic;
  }

  // "node7 mlx5_0" is of node7; an adapter that bears only its maker's name is a host of its own.
  std::string host_of(std::string const& description) const {
    auto const space = description.find(' ');
    auto const device = space == std::string::npos ? std::string() : description.substr(space + 1);
    auto const named = device.starts_with("mlx") || device.starts_with("HCA");
    auto const host = description.substr(0, space);
    return named && host != "localhost" ? host : current_;
  }

  // "... 4xNDR" at the end of the line.
  Bandwidth bandwidth(std::string_view line) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    auto word = line.substr(std::min(line.find_last_of(" \t") + 1, line.size()));
    std::uint64_t lanes = 0;
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), lanes);
    word.remove_prefix(static_cast<std::size_t>(end - word.data()));
    if (error == std::errc{} && lanes > 0 && lanes <= 16 && word.starts_with('x')) {
      for (auto const& rate : kLaneRates)
        if (rate.name == word.substr(1)) return {lanes * rate.megabits * 1'000'000 / 8};
    }
    tally_.no_bandwidth(LinkKind::network, 1);
    return defaults_.network_bandwidth;
  }

  void join(Link const& link) {
    auto const a = known_.find(link.from);
    auto const b = known_.find(link.to);
    if (b == known_.end()) {
      throw UserError(where_ + ": '" + shown(link.from) + "' has a link to '" + shown(link.to) +
                      "', but the file has no record of it");
    }
    if (a->second == kLeftOut || b->second == kLeftOut || a->second == b->second) return;
    tally_.no_latency(LinkKind::network, 1);
    builder_.add_link(a->second, b->second, LinkKind::network, defaults_.network_latency, link.bandwidth,
                      link.bandwidth);
  }

  static constexpr std::uint32_t kLeftOut = UINT32_MAX;

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_;
  std::map<std::string, std::uint32_t> known_;
  std::map<std::string, std::uint32_t> hosts_;
  std::set<std::pair<std::string, std::string>> seen_;
  std::vector<Link> links_;
  std::string current_;
  LinkTally tally_;
  std::uint64_t adapters_ = 0;
  std::size_t line_number_ = 0;
};

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  return Reader(where, defaults, limits).read(text);
}

}  // namespace

MachineFormat ibnetdiscover_format() {
  return {"ibnetdiscover", "ibnetdiscover output",
          [](std::string_view text) {
            return opens_line(text, {"Switch\t", "Ca\t"});
          },
          parse};
}

}  // namespace farfault::topologies
