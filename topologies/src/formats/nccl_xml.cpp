// SPDX-License-Identifier: Apache-2.0
// NCCL and RCCL topology XML: <system> of <cpu> of nested <pci>, which hold <gpu> with <nvlink> or <xgmi>,
// and <nic>. The rules are in import_rules.cpp, with names "nccl:...".
//
// - `sm` is the compute capability of an NVIDIA GPU and the number of compute units of an AMD GPU.
// - A <nic> directly below a <cpu> has no separate PCI slot.
// - A busid belongs to a host: a file of several hosts names the host of each <cpu> (host_hash).
// - Within a host, a busid may name several switches and NICs (RCCL's models write one switch once for each
//   device below it); each is a separate device, as in NCCL's reader. Only GPUs need unique busids, because
//   links refer to them.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>

#include "cpu_mesh.hpp"
#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "nccl_devices.hpp"
#include "pcie_rate.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

constexpr std::int64_t kSlowestPort = 8;           // Mbit/s: the lowest bandwidth of a machine
constexpr std::int64_t kFastestPort = 10'000'000;  // Mbit/s; models of RCCL state 200,000,000 for a NIC
constexpr std::uint64_t kBroadcomLanes = 16;       // for a slot of unknown width
constexpr std::uint64_t kEmulated = 8;             // emulated switch: its uplink is slower by this factor

std::string without_0x(std::string_view text) {
  auto low = lower(text);
  if (low.starts_with("0x")) low.erase(0, 2);
  return low;
}

// "10de:2330"; empty if the file states neither.
std::string vendor_and_device(pugi::xml_node pci) {
  auto const vendor = without_0x(pci.attribute("vendor").value());
  auto const device = without_0x(pci.attribute("device").value());
  return vendor.empty() && device.empty() ? std::string() : vendor + ":" + device;
}

// Level of a Broadcom switch that appears as two: its generation, and 0 for the outer level, 1 for the inner
// one. PEX89000 numbers its levels in the subsystem's device; the levels of PEX88000 have equal ids.
struct SwitchLevel {
  int generation = 0;
  int level = 0;
};
SwitchLevel broadcom_level(pugi::xml_node pci, bool below_one) {
  if (without_0x(pci.attribute("vendor").value()) != "1000" ||
      without_0x(pci.attribute("subsystem_vendor").value()) != "1000")
    return {};
  auto const device = without_0x(pci.attribute("device").value());
  auto const subsystem = without_0x(pci.attribute("subsystem_device").value());
  if (device == "c010" && subsystem.size() == 4 && subsystem.starts_with("a0")) return {4, below_one ? 1 : 0};
  if (device != "c030" || subsystem.size() != 4) return {};
  if (subsystem.starts_with('0')) return {5, 0};
  return subsystem.starts_with('1') ? SwitchLevel{5, 1} : SwitchLevel{};
}

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), builder_(where, "nccl-xml", limits), d_{where, defaults, builder_} {}

  MachineBuilder read(pugi::xml_node system) {
    for (auto cpu : system.children("cpu")) find_targets(cpu, host_of(cpu), 1);
    d_.hosts = static_cast<std::uint32_t>(hosts_.size());
    note_misplaced(system, {"gpu", "pci", "nic", "net"});
    for (auto cpu : system.children("cpu")) read_cpu(cpu);
    join_nccl_devices(d_);
    join_cpus(builder_, cpus_, d_.defaults, d_.tally, d_.decisions, where_);
    join_hosts();
    d_.tally.note_defaults(d_.decisions, d_.defaults, builder_.machine());
    d_.decisions.write(builder_);
    return std::move(builder_);
  }

 private:
  // The position of a <pci> in the tree.
  struct Place {
    std::uint32_t parent = 0;
    std::uint32_t cpu = 0;
    std::uint32_t host = 0;
    int depth = 1;
    std::string arch = {};
    SwitchLevel above = {};
  };

  ImportAs decide(std::string_view element, std::string_view text, std::string_view detail,
                  std::uint32_t facts, std::string const& example) {
    return d_.decisions.decide(
        {.format = FileFormat::nccl_xml, .element = element, .text = text, .detail = detail, .facts = facts},
        example);
  }

  std::uint32_t host_of(pugi::xml_node cpu) {
    return hosts_.try_emplace(cpu.attribute("host_hash").value(), static_cast<std::uint32_t>(hosts_.size()))
        .first->second;
  }

  void note_misplaced(pugi::xml_node element, std::initializer_list<char const*> names) {
    for (auto const* name : names)
      if (element.child(name))
        decide("misplaced", name, {}, 0, "<" + std::string(name) + "> in <" + element.name() + ">");
  }

  // Collects the targets of NVLinks: a bridge among them is an NVSwitch.
  void find_targets(pugi::xml_node element, std::uint32_t host, int depth) {
    check_depth(depth, where_);
    for (auto link : element.child("gpu").children("nvlink"))
      targets_.insert({host, busid_key(link.attribute("target").value())});
    for (auto pci : element.children("pci")) find_targets(pci, host, depth + 1);
  }

  void read_cpu(pugi::xml_node element) {
    note_misplaced(element, {"gpu", "net"});
    Place place;
    place.host = host_of(element);
    place.arch = element.attribute("arch").value();
    place.cpu = place.parent = cpu_of(element, place.host);
    for (auto pci : element.children("pci")) read_pci(pci, place);
    for (auto nic : element.children("nic")) read_slotless(nic, place);
  }

  std::uint32_t cpu_of(pugi::xml_node element, std::uint32_t host) {
    std::string_view const text = element.attribute("numaid").value();
    bool const open = text.empty() || text.starts_with('-');
    auto const numa = open ? 0 : xml_number(element, "numaid", 0, 1'000'000, where_);
    auto const prefix = host == 0 ? std::string("cpu") : "host" + std::to_string(host) + ".cpu";
    auto const known = open ? cpu_by_numa_.end() : cpu_by_numa_.find({host, numa});
    std::uint32_t facts = open ? 0U : kNumber;
    if (known != cpu_by_numa_.end()) facts |= kRepeated;
    MachineNode node;
    for (auto number = numa;; ++number)
      if (node.name = prefix + std::to_string(number); !open || !cpu_names_.contains(node.name)) break;
    if (decide("cpu", {}, {}, facts, "'" + node.name + "'") == ImportAs::part) return known->second;
    cpu_names_.insert(node.name);
    node.kind = NodeKind::cpu;
    node.numa = open ? -1 : static_cast<int>(numa);
    node.model = element.attribute("vendor").value();
    node.machine = static_cast<int>(host);
    cpus_.push_back(builder_.add_node(std::move(node)));
    if (!open) cpu_by_numa_[{host, numa}] = cpus_.back();
    return cpus_.back();
  }

  std::uint32_t add(NodeKind kind, char const* stem, std::uint32_t cpu, std::string model) {
    MachineNode node;
    node.kind = kind;
    node.name = d_.next_name(stem);
    node.numa = d_.node(cpu).numa;
    node.machine = d_.node(cpu).machine;
    node.model = std::move(model);
    return builder_.add_node(std::move(node));
  }

  void read_pci(pugi::xml_node pci, Place place) {
    check_depth(place.depth, where_);
    auto const busid = lower(pci.attribute("busid").value());
    if (busid.empty()) throw UserError(where_ + ": a <pci> element has no busid");
    note_misplaced(pci, {"net", "nvlink", "xgmi"});
    auto const pci_class = without_0x(pci.attribute("class").value());
    auto const inner = broadcom_level(pci, place.above.generation != 0);
    std::uint32_t facts = 0;
    if (pci.child("gpu")) facts |= kGpuInside;
    if (pci.child("nic")) facts |= kNicInside;
    if (pci.child("pci")) facts |= kPciBelow;
    if (targets_.contains({place.host, busid_key(busid)})) facts |= kNvlinkTarget;
    if (inner.generation != 0 && inner.level == 1 && place.above.level == 0 &&
        place.above.generation == inner.generation)
      facts |= kInnerHalf;
    auto const example = shown(busid) + (pci_class.empty() ? "" : " (class 0x" + shown(pci_class) + ")");
    auto const import_as = decide("pci", pci_class, vendor_and_device(pci), facts, example);
    place.above = {};
    switch (import_as) {
      case ImportAs::gpu:
        attach(add_gpu(pci, place, busid), pci, busid, place);
        break;
      case ImportAs::nic:
        add_nic(pci, busid, place);
        break;
      case ImportAs::pcie_switch:
        attach(add(NodeKind::pcie_switch, "switch", place.cpu, busid), pci, busid, place);
        place.above = inner;
        break;
      case ImportAs::nvswitch:
        remember(busid, add(NodeKind::nvswitch, "nvswitch", place.cpu, busid), place.host);
        break;
      default:
        break;  // devices below a device without a node are attached to its parent
    }
    for (auto link : pci.children("pcilink"))
      d_.pci_links.push_back({place.parent, place.host, busid, lower(link.attribute("target").value())});
    ++place.depth;
    for (auto child : pci.children("pci")) read_pci(child, place);
  }

  void attach(std::uint32_t node, pugi::xml_node pci, std::string const& busid, Place& place) {
    remember(busid, node, place.host);
    link_pcie(place.parent, node, pci);
    place.parent = node;
  }

  void remember(std::string const& busid, std::uint32_t node, std::uint32_t host) {
    auto const [it, fresh] = d_.by_busid.try_emplace({host, busid_key(busid)}, NcclDevice{node, 1});
    decide("busid", {}, {}, !fresh && it->second.times == 1 ? kRepeated : 0U, shown(busid));
    if (fresh) return;
    auto const is_gpu = [&](std::uint32_t n) { return d_.node(n).kind == NodeKind::gpu; };
    if (is_gpu(node) && is_gpu(it->second.node))
      throw UserError(where_ + ": two GPUs of a host have the busid " + shown(busid));
    if (is_gpu(node)) it->second.node = node;
    ++it->second.times;
  }

  void link_pcie(std::uint32_t parent, std::uint32_t child, pugi::xml_node pci) {
    auto const width = pcie_width(pci.attribute("link_width").value());
    auto const lanes = width.value_or(kBroadcomLanes);
    auto const speed = pcie_lanes(pci.attribute("link_speed").value(), lanes);
    auto bandwidth = speed.value_or(d_.defaults.pcie_bandwidth);
    auto const facts = (speed ? kSpeed : 0U) | (width ? kWidth : 0U);
    auto const rate = decide("pcie rate", {}, {}, facts, d_.quoted(child));
    if (!speed && rate == ImportAs::assumed && width)
      bandwidth.bytes_per_second = bandwidth.bytes_per_second * lanes / kBroadcomLanes;
    else if (!speed)
      d_.tally.no_bandwidth(LinkKind::pcie, 1);
    d_.tally.no_latency(LinkKind::pcie, 1);
    builder_.add_link(parent, child, LinkKind::pcie, d_.defaults.pcie_latency, bandwidth, bandwidth);
    if (d_.node(child).kind == NodeKind::pcie_switch) uplinks_[child] = bandwidth;
    auto const up = uplinks_.find(parent);
    bool const slow =
        up != uplinks_.end() && up->second.bytes_per_second * kEmulated < bandwidth.bytes_per_second;
    decide("switch rate", {}, {}, slow && slow_.insert(parent).second ? kAbsurd : 0U, d_.quoted(parent));
  }

  std::uint32_t add_gpu(pugi::xml_node pci, Place const& place, std::string const& busid) {
    auto const gpu = pci.child("gpu");
    std::string gfx = gpu.attribute("gcn").value();
    gfx = gfx.substr(0, gfx.find(':'));
    if (gfx.starts_with("gfx")) gfx.erase(0, 3);
    if (gfx == "910") gfx = "90a";  // the number in older runtimes, before gfx90a was named
    auto const sm = gpu ? xml_number(gpu, "sm", 0, 100'000, where_) : 0;
    auto model = vendor_and_device(pci);
    auto const facts = (gfx.empty() ? 0U : kGfx) | (sm != 0 ? kNumber : 0U);
    auto const node = add(NodeKind::gpu, "gpu", place.cpu, {});
    auto const maker = decide("gpu maker", {}, model, facts, d_.quoted(node));
    if (maker == ImportAs::amd && !gfx.empty()) model = "gfx" + gfx;
    if (maker == ImportAs::nvidia && sm != 0) model = "sm_" + std::to_string(sm);
    if (maker == ImportAs::amd) d_.node(node).sm_count = static_cast<std::uint32_t>(sm);
    d_.node(node).model = std::move(model);
    for (auto further : pci.children("gpu"))
      decide("gpu", {}, {}, further == gpu ? 0U : kRepeated, d_.quoted(node));
    d_.gpus.push_back({.node = node,
                       .cpu = place.cpu,
                       .host = place.host,
                       .busid = busid,
                       .element = gpu,
                       .maker = maker,
                       .arch = place.arch});
    return node;
  }

  // PCI functions of one adapter share its slot: their busids differ only after the last dot.
  void add_nic(pugi::xml_node pci, std::string const& busid, Place& place) {
    auto const dot = busid.rfind('.');
    auto const slot = dot == busid.npos ? std::string() : busid_key(busid.substr(0, dot));
    auto const known = slot.empty() ? slots_.end() : slots_.find({place.parent, slot});
    auto const net = pci.child("nic").child("net");
    if (decide("nic function", {}, {}, known != slots_.end() ? kRepeated : 0U,
               known != slots_.end() ? d_.quoted(known->second) : std::string()) == ImportAs::part) {
      read_ports(pci.child("nic"), known->second, place.host);
      place.parent = known->second;
      return;
    }
    auto const above = place.parent;
    auto const node = add(NodeKind::nic, "nic", place.cpu, net.attribute("name").value());
    attach(node, pci, busid, place);
    if (!slot.empty()) slots_[{above, slot}] = node;
    read_ports(pci.child("nic"), node, place.host);
  }

  void read_ports(pugi::xml_node nic, std::uint32_t node, std::uint32_t host) {
    note_guids(nic, node, host);
    for (auto net : nic.children("net")) read_speed(net, node);
  }

  // A NIC has the total bandwidth of its ports; speeds are in Mbit/s.
  void read_speed(pugi::xml_node net, std::uint32_t node) {
    std::string const name = net.attribute("name").value();
    std::string_view const text = net.attribute("speed").value();
    std::int64_t speed = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    bool const too_large = error == std::errc::result_out_of_range && !text.starts_with('-');
    bool const number = error == std::errc{} && end == text.data() + text.size() && speed > 0;
    std::uint32_t facts = number ? kNumber : 0U;
    if (too_large || (number && (speed < kSlowestPort || speed > kFastestPort))) facts |= kAbsurd;
    if (!ports_.insert({node, name, net.attribute("port").value()}).second) facts |= kRepeated;
    auto const example = "'" + shown(name) + "' of " + d_.quoted(node) +
                         (text.empty() ? std::string() : " (" + shown(std::string(text)) + " Mbit/s)");
    if (decide("net speed", {}, {}, facts, example) != ImportAs::stated) return;
    d_.node(node).bandwidth.bytes_per_second += static_cast<std::uint64_t>(speed) * 125'000;
  }

  // Two slots of one adapter (Socket Direct) have one GUID.
  void note_guids(pugi::xml_node nic, std::uint32_t node, std::uint32_t host) {
    for (auto net : nic.children("net")) {
      auto const guid = without_0x(net.attribute("guid").value());
      if (guid.find_first_not_of('0') == guid.npos) continue;
      auto const known = guids_.try_emplace({host, guid}, node).first->second;
      decide("net guid", {}, {}, known != node ? kRepeated : 0U,
             d_.quoted(known) + " and " + d_.quoted(node));
    }
  }

  void read_slotless(pugi::xml_node nic, Place const& place) {
    auto const net = nic.child("net");
    std::string const name = net.attribute("name").value();
    bool const again = net && !interfaces_.insert({place.host, name}).second;
    auto const facts = (net ? kNicInside : 0U) | (again ? kRepeated : 0U);
    auto const import_as =
        decide("cpu nic", name, {}, facts, net ? "'" + shown(name) + "'" : "below " + d_.quoted(place.cpu));
    if (import_as != ImportAs::nic) return;
    auto const node = add(NodeKind::nic, "nic", place.cpu, name);
    link_pcie(place.cpu, node, {});
    for (auto port : nic.children("net")) read_speed(port, node);
  }

  // Joins hosts that are connected neither by an NVSwitch nor otherwise.
  void join_hosts() {
    auto const& m = builder_.machine();
    bool const joined = std::ranges::any_of(m.nodes, [](auto const& n) { return n.machine == kShared; });
    bool const apart = hosts_.size() > 1 && !joined;
    if (decide("hosts", {}, {}, apart ? kSeveral : 0U, {}) != ImportAs::network_switch) return;
    std::set<int> with_nic;
    for (auto const nic : m.nodes_of(NodeKind::nic)) with_nic.insert(d_.node(nic).machine);
    for (auto const cpu : cpus_) {
      auto const there = with_nic.contains(d_.node(cpu).machine);
      if (decide("host nic", {}, {}, there ? kNicInside : 0U, d_.quoted(cpu)) != ImportAs::nic) continue;
      with_nic.insert(d_.node(cpu).machine);
      link_pcie(cpu, add(NodeKind::nic, "nic", cpu, {}), {});
    }
    MachineNode node;
    node.kind = NodeKind::network_switch;
    node.name = "network";
    node.machine = kShared;
    auto const at = builder_.add_node(std::move(node));
    for (auto const nic : m.nodes_of(NodeKind::nic)) {
      d_.tally.no_latency(LinkKind::network, 1);
      auto const stated = m.nic_bandwidth(nic, at);
      if (!stated) d_.tally.no_bandwidth(LinkKind::network, 1);
      auto const bandwidth = stated.value_or(d_.defaults.network_bandwidth);
      builder_.add_link(nic, at, LinkKind::network, d_.defaults.network_latency, bandwidth, bandwidth);
    }
  }

  std::string const& where_;
  MachineBuilder builder_;
  NcclDevices d_;
  std::map<std::string, std::uint32_t> hosts_;               // host_hash -> number
  std::set<std::pair<std::uint32_t, std::string>> targets_;  // of NVLinks, by host
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> cpu_by_numa_;
  std::set<std::string> cpu_names_;
  std::vector<std::uint32_t> cpus_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> slots_;  // of NICs, by parent
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> guids_;  // by host
  std::set<std::pair<std::uint32_t, std::string>> interfaces_;            // without a slot, by host
  std::set<std::tuple<std::uint32_t, std::string, std::string>> ports_;   // by NIC, name and number
  std::map<std::uint32_t, Bandwidth> uplinks_;                            // of PCIe switches
  std::set<std::uint32_t> slow_;
};

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  pugi::xml_document document;
  parse_xml(document, text, where);
  return Reader(where, defaults, limits).read(document.child("system"));
}

}  // namespace

MachineFormat nccl_xml_format() {
  return {"nccl_xml", "NCCL/RCCL topology XML (<system>)",
          [](std::string_view text) { return xml_root_name(text) == "system"; }, parse};
}

}  // namespace farfault::topologies
