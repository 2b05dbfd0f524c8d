// SPDX-License-Identifier: Apache-2.0
// The output of ibnetdiscover (infiniband-diags), with any of its options that print a topology: switches,
// routers and channel adapters of an InfiniBand fabric, each followed by its ports, one per line:
//   [port] "GUID"[port] ... # ... width and speed
// Both ends list a link; it is added once. The rules are in import_rules.cpp, with names "ib:...".
//
// The file contains no hosts and no GPUs. Adapters whose description begins with the same host name share a
// CPU; one GPU behind each adapter is assumed.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "import_rules.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {
namespace {

// Data rate of one lane in Mbit/s, without line code (InfiniBand Trade Association).
constexpr struct {
  std::string_view name;
  std::uint64_t megabits;
} kLaneRates[] = {{"SDR", 2000},  {"DDR", 4000},  {"QDR", 8000},   {"FDR10", 10000}, {"FDR", 13640},
                  {"EDR", 25000}, {"HDR", 50000}, {"NDR", 100000}, {"XDR", 200000}};

// Removes the text up to the second quotation mark from the front of `line`; returns the quoted text.
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

std::string_view trimmed(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

// The record that begins on a line: "Switch", "Ca" or "Rt", followed by the number of ports and the quoted
// name.
std::string_view record_of(std::string_view line) {
  auto const end = line.find_first_of(" \t");
  auto const word = line.substr(0, end);
  if (end == line.npos || (word != "Switch" && word != "Ca" && word != "Rt")) return {};
  auto const number = trimmed(line.substr(end));
  return !number.empty() && number[0] >= '0' && number[0] <= '9' ? word : std::string_view{};
}

// "H-0xa0..." and "H-a0..." name the same adapter.
std::string key_of(std::string name) {
  for (auto& c : name)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  if (name.size() > 4 && name[1] == '-' && name.substr(2, 2) == "0x") name.erase(2, 2);
  return name;
}

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), defaults_(defaults), builder_(where, "ibnetdiscover", limits) {}

  MachineBuilder read(std::string_view text) {
    for (auto rest = text; !rest.empty();) {
      auto const end = std::min(rest.find('\n'), rest.size());
      ++line_number_;
      read_line(trimmed(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    find_ends();
    for (std::uint32_t d = 0; d < devices_.size(); ++d) add(devices_[d]);
    for (auto const& link : links_) join(link);
    decisions_.report("ib:insides", {std::to_string(adapters_)});
    tally_.note_defaults(decisions_, defaults_, builder_.machine());
    decisions_.write(builder_);
    return std::move(builder_);
  }

 private:
  struct Device {
    std::string name, description;
    ImportAs import_as = ImportAs::omitted;
    bool linked = false;
    std::uint32_t node = 0;
  };
  struct Link {
    std::uint32_t from = 0, to = 0;  // devices
    std::string remote, description;
    std::optional<Bandwidth> bandwidth;
    bool omitted = false;
  };

  [[noreturn]] void fail(std::string const& what) const {
    throw UserError(where_ + ":" + std::to_string(line_number_) + ": " + what);
  }

  ImportAs decide(std::string_view element, std::string_view text, std::string_view detail,
                  std::uint32_t facts, std::string const& example) {
    return decisions_.decide({.format = FileFormat::ibnetdiscover,
                              .element = element,
                              .text = text,
                              .detail = detail,
                              .facts = facts},
                             example);
  }

  void read_line(std::string_view line) {
    if (auto const record = record_of(line); !record.empty()) {
      auto const name = quoted(line);
      if (name.size() < 3) fail("a record has no GUID");
      auto const description = quoted(line);
      if (known_.contains(key_of(name))) fail("a second record has the GUID '" + shown(name) + "'");
      current_ = add_device(name, description, decide(record, description, {}, 0, "'" + shown(name) + "'"));
    } else if (line.starts_with("[") && current_) {
      read_port(line);
    }
  }

  std::uint32_t add_device(std::string const& name, std::string const& description, ImportAs import_as) {
    auto const index = static_cast<std::uint32_t>(devices_.size());
    devices_.push_back({name, description, import_as});
    known_[key_of(name)] = index;
    return index;
  }

  void read_port(std::string_view line) {
    auto const here = key_of(devices_[*current_].name) + port_of(line);
    auto const remote = quoted(line);
    if (remote.empty()) fail("a port has no remote end");
    auto const there = key_of(remote) + port_of(line);
    auto const description = quoted(line);
    auto const [seen, fresh] =
        seen_.try_emplace({std::min(here, there), std::max(here, there)}, links_.size());
    auto const rate = bandwidth(line);
    if (fresh)
      links_.push_back(
          {.from = *current_, .to = 0, .remote = remote, .description = description, .bandwidth = rate});
    auto& link = links_[seen->second];
    if (!link.bandwidth) link.bandwidth = rate;
  }

  // "4xNDR", followed by more text with some options.
  static std::optional<Bandwidth> bandwidth(std::string_view line) {
    while (!line.empty()) {
      auto const end = std::min(line.find_first_of(" \t"), line.size());
      auto word = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
      std::uint64_t lanes = 0;
      auto const [number_end, error] = std::from_chars(word.data(), word.data() + word.size(), lanes);
      if (error != std::errc{} || lanes == 0 || lanes > 16) continue;
      word.remove_prefix(static_cast<std::size_t>(number_end - word.data()));
      if (!word.starts_with('x')) continue;
      for (auto const& rate : kLaneRates)
        if (rate.name == word.substr(1)) return Bandwidth{lanes * rate.megabits * 1'000'000 / 8};
    }
    return std::nullopt;
  }

  void find_ends() {
    for (auto& link : links_) {
      auto const known = known_.find(key_of(link.remote));
      auto const facts = known != known_.end() ? kThere : 0U;
      auto const example = "'" + shown(link.remote) + "'";
      auto const end = decide("end", link.remote, link.description, facts, example);
      if (end == ImportAs::refused)
        throw UserError(where_ + ": '" + shown(devices_[link.from].name) + "' has a link to '" +
                        shown(link.remote) + "', but the file has no record of it");
      link.to = end == ImportAs::named ? known->second : add_device(link.remote, link.description, end);
      link.omitted =
          decide("link", {}, {}, link.from == link.to ? kSelf : 0U, example) == ImportAs::omitted ||
          devices_[link.from].import_as == ImportAs::omitted ||
          devices_[link.to].import_as == ImportAs::omitted;
      if (!link.omitted) devices_[link.from].linked = devices_[link.to].linked = true;
    }
  }

  void add(Device& device) {
    if (device.import_as == ImportAs::omitted) return;
    // A file of one device represents that device.
    bool const linked = device.linked || links_.empty();
    if (decide("adapter links", {}, {}, linked ? kNumber : 0U, "'" + shown(device.name) + "'") ==
        ImportAs::omitted)
      return;
    if (device.import_as == ImportAs::network_switch) {
      device.node = builder_.add_node({.name = device.name,
                                       .kind = NodeKind::network_switch,
                                       .numa = -1,
                                       .model = device.description,
                                       .machine = kShared});
      return;
    }
    auto const host = host_of(device);
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
    device.node = builder_.add_node({.name = device.name,
                                     .kind = NodeKind::nic,
                                     .numa = -1,
                                     .model = device.description,
                                     .machine = machine});
    auto const gpu =
        builder_.add_node({"gpu" + std::to_string(adapters_++), NodeKind::gpu, -1, 0, "", machine});
    pcie(cpu->second, device.node);
    pcie(cpu->second, gpu);
  }

  // "node7 mlx5_0" belongs to node7; an adapter with only its maker's name is a separate host.
  std::string host_of(Device const& device) {
    auto const space = device.description.find(' ');
    auto const first = device.description.substr(0, space);
    auto second = space == std::string::npos ? std::string() : device.description.substr(space + 1);
    for (auto& c : second)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    auto const known = first.empty()
                           ? ImportAs::unknown
                           : decide("description", second, first, 0, "'" + shown(device.description) + "'");
    return known == ImportAs::stated ? first : device.name;
  }

  void join(Link const& link) {
    if (link.omitted) return;
    decide("rate", {}, {}, link.bandwidth ? kSpeed | kWidth : 0U, {});
    tally_.no_latency(LinkKind::network, 1);
    if (!link.bandwidth) tally_.no_bandwidth(LinkKind::network, 1);
    auto const bandwidth = link.bandwidth.value_or(defaults_.network_bandwidth);
    for (auto const end : {devices_[link.from].node, devices_[link.to].node})
      if (auto& node = builder_.machine().nodes[end]; node.kind == NodeKind::nic && link.bandwidth)
        node.bandwidth.bytes_per_second += link.bandwidth->bytes_per_second;
    builder_.add_link(devices_[link.from].node, devices_[link.to].node, LinkKind::network,
                      defaults_.network_latency, bandwidth, bandwidth);
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_;
  Decisions decisions_;
  std::map<std::string, std::uint32_t> known_;  // devices by name
  std::vector<Device> devices_;
  std::map<std::string, std::uint32_t> hosts_;
  std::map<std::pair<std::string, std::string>, std::size_t> seen_;  // links by their ports
  std::vector<Link> links_;
  std::optional<std::uint32_t> current_;
  LinkTally tally_;
  std::uint64_t adapters_ = 0;
  std::size_t line_number_ = 0;
};

bool opens_record(std::string_view text) {
  while (!text.empty()) {
    auto const end = std::min(text.find('\n'), text.size());
    auto const line = trimmed(text.substr(0, end));
    bool const quotes = line.find('"') != line.npos || line.find('\t') != line.npos;
    if (quotes && !record_of(line).empty()) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  return Reader(where, defaults, limits).read(text);
}

}  // namespace

MachineFormat ibnetdiscover_format() {
  return {"ibnetdiscover", "ibnetdiscover output", opens_record, parse};
}

}  // namespace farfault::topologies
