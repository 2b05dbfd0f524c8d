// SPDX-License-Identifier: Apache-2.0
// hwloc XML, versions 1 to 3: <topology> of nested <object>s, and matrices of link bandwidths (<distances2>).
// The rules are in import_rules.cpp, with names "hwloc:...".
//
// - Packages become CPUs.
// - hwloc lists both ports of a PCIe switch: below a host bridge, root or downstream ports alternate with
//   upstream ports. A switch is one node, its upstream port; downstream ports are not nodes. A switch becomes
//   a node with the first device below it.
// - A PCIe link has the bandwidth of its slower end.
// - The PCIe link of an NVSwitch serves management. It is ignored, unless the file states no NVLink of it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <tuple>

#include "cpu_mesh.hpp"
#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "hwloc_objects.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

constexpr std::size_t kNone = SIZE_MAX;
constexpr double kFastestSlot = 1e6;  // GB/s; above any PCIe slot
constexpr double kIdleSlot = 4.01;    // GB/s: 16 lanes of 2.5 GT/s
constexpr double kSameRate = 0.05;    // relative: hwloc versions round differently

std::string lower(std::string_view text) {
  std::string low(text);
  for (auto& c : low)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return low;
}

// GB/s, without line code; 0: not stated.
double rate_of(pugi::xml_node object) {
  auto const rate = object.attribute("pci_link_speed").as_double();
  return std::isfinite(rate) && rate > 0 && rate < kFastestSlot ? rate : 0;
}

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), builder_(where, "hwloc-xml", limits), o_{where, defaults, builder_} {}

  MachineBuilder read(pugi::xml_node topology) {
    version3_ = std::string_view(topology.attribute("version").value()).starts_with('3');
    o_.in_matrices = objects_of_matrices(topology);
    for (auto object : topology.children("object")) survey(object, 0);
    if (cpus_.empty()) {
      o_.decide("no package", {}, {}, 0, {});
      add_cpu({});
    }
    Place root;
    root.cpus = cpus_.size();
    for (auto object : topology.children("object")) walk(object, root, 0);
    for (auto const& s : switches_)
      if (s.node == kNoNode) o_.decide("empty switch", {}, {}, 0, busid_of(s.object));
    join_hwloc_objects(o_, topology);
    attach_nvswitches();
    join_cpus(builder_, cpus_, o_.defaults, o_.tally, o_.decisions, where_);
    auto const& m = builder_.machine();
    auto const links = m.pairs(LinkKind::nvlink) + m.pairs(LinkKind::xgmi);
    if (m.count(NodeKind::gpu) > 1) o_.decide("gpu links", {}, {}, links > 0 ? kNumber : 0U, {});
    o_.tally.note_defaults(o_.decisions, o_.defaults, builder_.machine());
    o_.decisions.write(builder_);
    return std::move(builder_);
  }

 private:
  struct Switch {
    pugi::xml_node object;
    std::size_t above = kNone;  // the switch above it
    std::size_t cpu = 0;
    double port_rate = 0;
    std::uint32_t node = kNoNode;  // until a device below it is read
  };
  // The position of an object in the tree.
  struct Place {
    std::size_t cpu = 0;             // the first CPU that the object may belong to
    std::size_t cpus = 1;            // number of possible CPUs
    std::size_t switches = kNone;    // the PCIe switch above it
    bool below_port = false;         // the PCI bridge above is a downstream port,
    double port_rate = 0;            // with this rate
    std::uint32_t device = kNoNode;  // the PCI device above
    bool in_device = false;
  };

  static std::string_view type(pugi::xml_node object) { return object.attribute("type").value(); }
  static std::string key_of(pugi::xml_node object) {
    return std::string(type(object)) + ":" + object.attribute("gp_index").value();
  }
  static std::string busid_of(pugi::xml_node object) { return shown(object.attribute("pci_busid").value()); }
  static bool is_package(pugi::xml_node object) {
    return type(object) == "Package" || type(object) == "Socket";
  }
  static bool is_io(pugi::xml_node object) {
    return type(object) == "Bridge" || type(object) == "PCIDev" || type(object) == "OSDev";
  }

  static std::string info(pugi::xml_node object, std::string_view name) {
    for (auto entry : object.children("info"))
      if (entry.attribute("name").value() == name) return entry.attribute("value").value();
    return {};
  }

  std::string next_name(char const* stem) { return stem + std::to_string(named_[stem]++); }

  void add_cpu(pugi::xml_node package) {
    MachineNode node;
    node.kind = NodeKind::cpu;
    node.name = next_name("cpu");
    node.numa = static_cast<int>(cpus_.size());
    node.model = info(package, "CPUModel");
    cpus_.push_back(builder_.add_node(std::move(node)));
  }

  // First pass: CPUs, the number of CPUs below each object, and vendors of physical NICs.
  void survey(pugi::xml_node object, int depth) {
    check_depth(depth, where_);
    auto const before = cpus_.size();
    if (type(object) == "Machine" &&
        o_.decide("Machine", {}, {}, machines_++ > 0 ? kRepeated : 0U, {}) == ImportAs::refused)
      throw UserError(where_ + ": the file contains several machines, but an hwloc file must contain one");
    if (is_package(object)) {
      o_.decide(type(object), {}, {}, 0, {});
      add_cpu(object);
    }
    if (type(object) == "PCIDev" && !is_virtual(object)) physical_.insert(vendor_of(object).substr(0, 4));
    for (auto child : object.children("object")) survey(child, depth + 1);
    if (cpus_.size() > before) below_[object.hash_value()] = {before, cpus_.size() - before};
  }

  static bool is_virtual(pugi::xml_node object) {
    return (object.attribute("name").value() + info(object, "PCIDevice")).find("Virtual Function") !=
           std::string::npos;
  }

  // "0302 [10de:1db8] ...": the class, and "10de:1db8".
  static std::string class_of(pugi::xml_node object) {
    return lower(std::string_view(object.attribute("pci_type").value()).substr(0, 4));
  }
  static std::string vendor_of(pugi::xml_node object) {
    std::string_view const text = object.attribute("pci_type").value();
    return text.size() > 15 ? lower(text.substr(6, 9)) : std::string();
  }

  void walk(pugi::xml_node object, Place place, int depth) {
    if (auto const here = below_.find(object.hash_value()); here != below_.end() && place.cpus != 1)
      std::tie(place.cpu, place.cpus) = here->second;
    if (!is_io(object) && !o_.in_matrices.empty() && o_.in_matrices.contains(key_of(object)))
      o_.cpus.try_emplace(key_of(object), cpus_[place.cpu]);
    if (type(object) == "Bridge") bridge(object, place);
    if (type(object) == "PCIDev") {
      place.device = device(object, place);
      place.in_device = true;
    }
    if (type(object) == "OSDev") os_device(object, place);
    for (auto child : object.children("object")) walk(child, place, depth + 1);
  }

  void bridge(pugi::xml_node object, Place& place) {
    auto const import_as = o_.decide("Bridge", object.attribute("bridge_type").value(), {},
                                     place.below_port ? kPortAbove : 0U, {});
    if (import_as == ImportAs::pcie_switch) {
      note_locality(place, object);
      switches_.push_back({.object = object,
                           .above = place.switches,
                           .cpu = place.cpu,
                           .port_rate = place.port_rate,
                           .node = kNoNode});
      place.switches = switches_.size() - 1;
      place.below_port = false;
      place.port_rate = 0;
    } else if (!std::string_view(object.attribute("bridge_type").value()).starts_with("0-")) {
      place.below_port = true;
      place.port_rate = rate_of(object);
    }
  }

  void note_locality(Place const& place, pugi::xml_node object) {
    o_.decide("PCI root", {}, {}, place.cpus > 1 ? kSeveral : 0U, busid_of(object));
  }

  // The node that a device is attached to: the switch above it, which thereby becomes a node, or the CPU.
  std::uint32_t owner(std::size_t above, std::size_t cpu) {
    if (above == kNone) return cpus_[cpu];
    if (switches_[above].node != kNoNode) return switches_[above].node;
    auto const s = switches_[above];
    auto const parent = owner(s.above, s.cpu);
    auto const node = add(s.object, NodeKind::pcie_switch, "switch", cpus_[s.cpu]);
    link_pcie(parent, node, s.object, s.port_rate);
    return switches_[above].node = node;
  }

  std::uint32_t add(pugi::xml_node object, NodeKind kind, char const* stem, std::uint32_t cpu) {
    MachineNode node;
    node.kind = kind;
    node.name = next_name(stem);
    node.numa = o_.node(cpu).numa;
    node.model = object.attribute("pci_busid").value();
    return builder_.add_node(std::move(node));
  }

  void link_pcie(std::uint32_t parent, std::uint32_t child, pugi::xml_node object, double port_rate) {
    auto const own = rate_of(object);
    bool const differ = own > 0 && port_rate > 0 && std::abs(own - port_rate) > kSameRate * own;
    auto const rate = own > 0 && port_rate > 0 ? std::min(own, port_rate) : std::max(own, port_rate);
    bool const idle = o_.node(child).kind == NodeKind::gpu && rate <= kIdleSlot;
    std::uint32_t facts = rate > 0 ? kSpeed : 0U;
    if (differ) facts |= kSeveral;
    if (idle) facts |= kNegative;
    o_.decide("pcie rate", {}, {}, facts, o_.quoted(child));
    if (rate <= 0) o_.tally.no_bandwidth(LinkKind::pcie, 1);
    auto const bandwidth = rate > 0 ? Bandwidth{static_cast<std::uint64_t>(std::llround(rate * 1e9))}
                                    : o_.defaults.pcie_bandwidth.take();
    o_.tally.no_latency(LinkKind::pcie, 1);
    builder_.add_link(parent, child, LinkKind::pcie, o_.defaults.pcie_latency, bandwidth, bandwidth);
  }

  ImportAs driver_of(pugi::xml_node os_device) {
    auto name = lower(os_device.attribute("subtype").value());
    if (name.empty()) name = lower(os_device.attribute("name").value());
    // Versions 1 and 2 number the types, version 3 has a bit for each.
    auto const types = std::string(version3_ ? "3:" : "2:") + os_device.attribute("osdev_type").value();
    return o_.decide("OSDev", name, types, 0, {});
  }

  // The drivers of a PCI device, from the OS devices inside it, and the number of OS devices of each GPU
  // driver.
  void drivers(pugi::xml_node object, std::uint32_t& facts, std::map<std::string, int>& gpus, int depth) {
    if (depth > kDeepestXml) return;
    for (auto child : object.children("object")) {
      if (type(child) != "OSDev") continue;
      auto const driver = driver_of(child);
      if (driver == ImportAs::gpu) {
        facts |= kGpuInside;
        std::string stem = child.attribute("name").value();
        stem = stem.substr(0, stem.find_first_of("0123456789"));
        ++gpus[stem];
      }
      if (driver == ImportAs::nic) facts |= kNicInside;
      drivers(child, facts, gpus, depth + 1);
    }
  }

  std::uint32_t device(pugi::xml_node object, Place const& place) {
    std::uint32_t facts = 0;
    std::map<std::string, int> gpu_drivers;
    drivers(object, facts, gpu_drivers, 0);
    auto const vendor = vendor_of(object);
    if (is_virtual(object)) facts |= kVirtual | (physical_.contains(vendor.substr(0, 4)) ? kPhysicalToo : 0U);
    auto const text = object.attribute("subtype").value() + (" " + class_of(object));
    auto const example = busid_of(object) + " (class " + shown(class_of(object)) + ", " + shown(vendor) + ")";
    std::uint32_t node = kNoNode;
    switch (o_.decide("PCIDev", text, vendor, facts, example)) {
      case ImportAs::nvswitch: {
        note_locality(place, object);
        node = add(object, NodeKind::nvswitch, "nvswitch", cpus_[place.cpu]);
        nvswitches_.push_back({node, place, object});
        break;
      }
      case ImportAs::gpu: {
        note_locality(place, object);
        auto const parent = owner(place.switches, place.cpu);
        node = add(object, NodeKind::gpu, "gpu", cpus_[place.cpu]);
        link_pcie(parent, node, object, place.port_rate);
        bool const parts = std::ranges::any_of(gpu_drivers, [](auto const& d) { return d.second > 1; });
        o_.decide("gpu driver", {}, {}, parts ? kRepeated : 0U, o_.quoted(node));
        break;
      }
      case ImportAs::nic:
        node = nic(object, place);
        break;
      default:
        return kNoNode;
    }
    o_.devices[key_of(object)] = node;
    return node;
  }

  // PCI functions of one adapter share its slot: their busids differ only after the last dot.
  std::uint32_t nic(pugi::xml_node object, Place const& place) {
    std::string const busid = object.attribute("pci_busid").value();
    auto const slot = busid.substr(0, busid.rfind('.'));
    auto const known = busid.find('.') == busid.npos ? slots_.end() : slots_.find(slot);
    auto const repeated = known != slots_.end() ? kRepeated : 0U;
    if (o_.decide("nic function", {}, {}, repeated, repeated ? o_.quoted(known->second) : "") ==
        ImportAs::part)
      return known->second;
    note_locality(place, object);
    auto const parent = owner(place.switches, place.cpu);
    auto const node = add(object, NodeKind::nic, "nic", cpus_[place.cpu]);
    link_pcie(parent, node, object, place.port_rate);
    slots_[slot] = node;
    return node;
  }

  void os_device(pugi::xml_node object, Place const& place) {
    auto node_index = place.device;
    if (!place.in_device) {
      auto const driver = driver_of(object);
      if (driver != ImportAs::gpu && driver != ImportAs::nic) return;
      auto const name = lower(object.attribute("name").value());
      auto const facts = driver == ImportAs::nic ? kNicInside : 0U;
      if (o_.decide("OSDev alone", name, {}, facts, "'" + shown(name) + "'") != ImportAs::gpu) return;
      node_index = add(object, NodeKind::gpu, "gpu", cpus_[place.cpu]);
      link_pcie(cpus_[place.cpu], node_index, object, 0);
    }
    if (node_index == kNoNode) return;
    o_.devices[key_of(object)] = node_index;
    auto& node = o_.node(node_index);
    if (node.kind == NodeKind::nic) note_ports(object, node_index);
    if (node.kind != NodeKind::gpu) return;
    if (auto model = info(object, "GPUModel"); !model.empty()) node.model = model;
    auto const units = info(object, "CUDAMultiProcessors");
    std::uint32_t count = 0;
    std::from_chars(units.data(), units.data() + units.size(), count);
    if (count > 0 && count <= 100'000) node.sm_count = count;
  }

  // An InfiniBand device states each port's state; 4 is active.
  void note_ports(pugi::xml_node object, std::uint32_t node) {
    bool stated = false;
    bool active = false;
    for (auto entry : object.children("info")) {
      std::string_view const name = entry.attribute("name").value();
      if (!name.starts_with("Port") || !name.ends_with("State")) continue;
      stated = true;
      active = active || std::string_view(entry.attribute("value").value()) == "4";
    }
    o_.decide("nic port", {}, {}, stated && !active ? kNegative : 0U, o_.quoted(node));
  }

  // An NVSwitch that no matrix names is attached by its PCIe link.
  void attach_nvswitches() {
    std::vector<bool> linked(builder_.machine().nodes.size(), false);
    for (auto const& link : builder_.machine().links) linked[link.a] = linked[link.b] = true;
    for (auto const& n : nvswitches_)
      if (o_.decide("nvswitch pcie", {}, {}, linked[n.node] ? kNvlinkTarget : 0U, o_.quoted(n.node)) ==
          ImportAs::pcie)
        link_pcie(owner(n.place.switches, n.place.cpu), n.node, n.object, n.place.port_rate);
  }

  std::string const& where_;
  MachineBuilder builder_;
  HwlocObjects o_;
  bool version3_ = false;
  int machines_ = 0;
  std::map<std::string, std::uint32_t> named_;
  std::vector<std::uint32_t> cpus_;
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> below_;  // first CPU and number of CPUs
  std::set<std::string> physical_;                                    // vendors
  std::vector<Switch> switches_;
  std::map<std::string, std::uint32_t> slots_;  // of NICs
  struct Nvswitch {
    std::uint32_t node;
    Place place;
    pugi::xml_node object;
  };
  std::vector<Nvswitch> nvswitches_;
};

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  pugi::xml_document document;
  parse_xml(document, text, where);
  return Reader(where, defaults, limits).read(document.child("topology"));
}

}  // namespace

MachineFormat hwloc_xml_format() {
  return {"hwloc_xml", "hwloc XML (<topology>)",
          [](std::string_view text) { return xml_root_name(text) == "topology"; }, parse};
}

}  // namespace farfault::topologies
