// SPDX-License-Identifier: Apache-2.0
// hwloc XML, versions 2 and 3: <topology> of nested <object>s, and matrices of link bandwidths
// (<distances2>).
//
// Packages become CPUs. hwloc lists both ports of a PCIe switch: below a host bridge come a root or
// downstream port and an upstream port in turn. A switch is one node here, its upstream port; ports that lead
// down are not nodes. GPUs are PCI devices of class 03xx or 1200 made by NVIDIA or AMD (which leaves out the
// display of a management controller), NICs those of class 0200 or 0207, NVSwitches have the subtype of that
// name; their PCIe link, for management only, is left out. NVLinks and xGMI links come from the matrices
// NVLinkBandwidth and XGMIBandwidth (MB/s in one direction), whose objects are PCI devices or the OS devices
// inside them, and on POWER also the packages: there NVLinks join CPUs and GPUs.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "cpu_mesh.hpp"
#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "link_tally.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::uint64_t kMostMatrixObjects = 4096;
constexpr double kFastestSlot = 1e6;  // GB/s; more is no PCIe slot
constexpr std::uint64_t kMegabyte = 1'000'000;

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), defaults_(defaults), builder_(where, "hwloc-xml", limits) {}

  MachineBuilder read(pugi::xml_node topology) {
    for (auto object : topology.children("object")) find_cpus(object, 0);
    if (cpus_.empty()) {
      add_cpu({});
      builder_.assume("the file names no CPU package: one CPU is assumed");
    }
    std::size_t package = 0;
    for (auto object : topology.children("object")) walk(object, {kNone, Port::none}, package, 0);
    for (char const* element : {"distances2", "distances2hetero"})
      for (auto matrix : topology.children(element)) read_matrix(matrix);
    attach_unlinked_nvswitches();
    join_cpus(builder_, cpus_, defaults_, tally_, where_);
    note_assumptions();
    return std::move(builder_);
  }

 private:
  enum class Port {
    none,
    downward,
    upward
  };  // of the bridge above: a root or downstream port, or an upstream port
  struct Above {
    std::uint32_t node;
    Port port;
  };

  static std::string_view type(pugi::xml_node object) { return object.attribute("type").value(); }
  static bool is_package(pugi::xml_node object) {
    return type(object) == "Package" || type(object) == "Socket";
  }

  std::string next_name(char const* stem) { return stem + std::to_string(named_[stem]++); }

  static std::string info(pugi::xml_node object, std::string_view name) {
    for (auto entry : object.children("info"))
      if (entry.attribute("name").value() == name) return entry.attribute("value").value();
    return {};
  }

  void add_cpu(pugi::xml_node package) {
    MachineNode node;
    node.kind = NodeKind::cpu;
    node.name = next_name("cpu");
    node.numa = static_cast<int>(cpus_.size());
    node.model = info(package, "CPUModel");
    cpus_.push_back(builder_.add_node(std::move(node)));
    if (package) remember(package, cpus_.back());
  }

  // As a matrix names it: "PCIDev:581".
  void remember(pugi::xml_node object, std::uint32_t node) {
    by_object_[std::string(type(object)) + ":" + object.attribute("gp_index").value()] = node;
  }

  void find_cpus(pugi::xml_node object, int depth) {
    check_depth(depth, where_);
    if (is_package(object)) add_cpu(object);
    for (auto child : object.children("object")) find_cpus(child, depth + 1);
  }

  // `above` is the nearest node that PCI devices are attached to; `package` counts the packages read so far.
  void walk(pugi::xml_node object, Above above, std::size_t& package, int depth) {
    if (is_package(object)) above = {cpus_[package++], Port::none};
    if (type(object) == "Bridge") above = bridge(object, above);
    if (type(object) == "PCIDev") above.node = device(object, above);
    if (type(object) == "OSDev") os_device(object, above);
    for (auto child : object.children("object")) walk(child, above, package, depth + 1);
  }

  std::uint32_t owner(Above above) {
    if (above.node != kNone) return above.node;
    if (cpus_.size() > 1) {
      builder_.assume("PCI devices outside of any CPU package are assumed to be attached to '" +
                      builder_.machine().nodes[cpus_.front()].name + "'");
    }
    return cpus_.front();
  }

  std::uint32_t add(pugi::xml_node object, NodeKind kind, char const* stem, Above above) {
    MachineNode node;
    node.kind = kind;
    node.name = next_name(stem);
    node.numa = builder_.machine().nodes[owner(above)].numa;
    node.model = object.attribute("pci_busid").value();
    return builder_.add_node(std::move(node));
  }

  void link_pcie(std::uint32_t parent, std::uint32_t child, pugi::xml_node object) {
    auto const speed = object.attribute("pci_link_speed").as_double();  // GB/s, coding overhead taken off
    Bandwidth bandwidth = defaults_.pcie_bandwidth;
    if (std::isfinite(speed) && speed > 0 && speed < kFastestSlot) {
      bandwidth.bytes_per_second = static_cast<std::uint64_t>(std::llround(speed * 1e9));
    } else {
      tally_.no_bandwidth(LinkKind::pcie, 1);
    }
    tally_.no_latency(LinkKind::pcie, 1);
    builder_.add_link(parent, child, LinkKind::pcie, defaults_.pcie_latency, bandwidth, bandwidth);
  }

  Above bridge(pugi::xml_node object, Above above) {
    if (std::string_view(object.attribute("bridge_type").value()).starts_with("0-"))
      return {owner(above), Port::none};
    if (above.port != Port::downward) return {owner(above), Port::downward};
    auto const node = add(object, NodeKind::pcie_switch, "switch", above);
    link_pcie(owner(above), node, object);
    return {node, Port::upward};
  }

  std::uint32_t device(pugi::xml_node object, Above above) {
    std::string_view const pci = object.attribute("pci_type").value();  // "0302 [10de:1db8] ..."
    auto const maker = pci.size() > 10 ? pci.substr(6, 4) : std::string_view{};
    auto const display = pci.starts_with("03") || pci.starts_with("12");
    std::uint32_t node = kNone;
    if (std::string_view(object.attribute("subtype").value()) == "NVSwitch") {
      node = add(object, NodeKind::nvswitch, "nvswitch", above);
      nvswitches_.push_back({node, owner(above), object});
    } else if (display && (maker == "10de" || maker == "1002")) {
      node = add(object, NodeKind::gpu, "gpu", above);
      link_pcie(owner(above), node, object);
    } else if (pci.starts_with("0200") || pci.starts_with("0207")) {
      node = add(object, NodeKind::nic, "nic", above);
      link_pcie(owner(above), node, object);
    } else {
      ++others_;
      return above.node;
    }
    remember(object, node);
    return node;
  }

  void os_device(pugi::xml_node object, Above above) {
    if (above.node == kNone) return;
    remember(object, above.node);
    auto& node = builder_.machine().nodes[above.node];
    if (node.kind != NodeKind::gpu) return;
    if (auto model = info(object, "GPUModel"); !model.empty()) node.model = model;
    auto const units = info(object, "CUDAMultiProcessors");
    std::uint32_t count = 0;
    std::from_chars(units.data(), units.data() + units.size(), count);
    if (count > 0 && count <= 100'000) node.sm_count = count;
  }

  // Calls f(word) for the words of all children of one name, which may be split anywhere between words.
  template <class F>
  static void each_word(pugi::xml_node parent, char const* element, F f) {
    for (auto child : parent.children(element)) {
      std::string_view text = child.text().get();
      while (!text.empty()) {
        auto const begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
        auto const end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
        if (begin < end) f(text.substr(begin, end - begin));
        text.remove_prefix(end);
      }
    }
  }

  void read_matrix(pugi::xml_node matrix) {
    std::string const name = matrix.attribute("name").value();
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth") return;
    auto const kind = name == "NVLinkBandwidth" ? LinkKind::nvlink : LinkKind::xgmi;
    auto const n = xml_number(matrix, "nbobjs", 0, kMostMatrixObjects, where_);
    std::vector<std::string> objects;
    each_word(matrix, "indexes", [&](std::string_view word) {
      if (objects.size() <= n) objects.emplace_back(word);
    });
    std::vector<std::uint64_t> values;
    each_word(matrix, "u64values", [&](std::string_view word) {
      if (values.size() <= n * n) values.push_back(value(word, name));
    });
    if (objects.size() != n || values.size() != n * n) {
      auto const count = [](std::size_t found, std::size_t needed) {
        return found > needed ? "more than " + std::to_string(needed) : std::to_string(found);
      };
      throw UserError(where_ + ": the matrix " + name + " has " + count(objects.size(), n) + " objects and " +
                      count(values.size(), n * n) + " values, but nbobjs=" + std::to_string(n) + " needs " +
                      std::to_string(n) + " and " + std::to_string(n * n));
    }
    std::vector<std::uint32_t> nodes;
    for (auto& key : objects) {
      if (key.find(':') == std::string::npos) key = matrix.attribute("type").value() + (":" + key);
      auto const found = by_object_.find(key);
      if (found == by_object_.end()) {
        throw UserError(where_ + ": the matrix " + name + " names the object '" + shown(key) +
                        "', but there is no GPU, NVSwitch or CPU of that index");
      }
      nodes.push_back(found->second);
    }
    auto const each_pair = [&](auto f) {
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j)
          if (nodes[i] != nodes[j] && (values[i * n + j] != 0 || values[j * n + i] != 0)) f(i, j);
    };
    std::uint64_t pairs = 0;
    each_pair([&](std::size_t, std::size_t) { ++pairs; });
    builder_.expect_links(pairs);
    each_pair([&](std::size_t i, std::size_t j) {
      join(nodes[i], nodes[j], kind, values[i * n + j], values[j * n + i]);
    });
  }

  std::uint64_t value(std::string_view text, std::string const& name) const {
    std::uint64_t megabytes = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), megabytes);
    if (error != std::errc{} || end != text.data() + text.size() ||
        megabytes > kHighestBandwidth.bytes_per_second / kMegabyte) {
      throw UserError(where_ + ": the matrix " + name + " has the value '" + shown(text) +
                      "', but it must be a whole number of MB/s");
    }
    return megabytes * kMegabyte;
  }

  // The matrix gives the sum over parallel links; how many they are follows from the bandwidth of one.
  void join(std::uint32_t a, std::uint32_t b, LinkKind kind, std::uint64_t forward, std::uint64_t backward) {
    if (forward == 0 || backward == 0) {
      one_way_ = true;
      forward = backward = std::max(forward, backward);
    }
    auto const one = defaults_.bandwidth(kind).bytes_per_second;
    auto const count =
        std::clamp<std::uint64_t>((std::max(forward, backward) + one / 2) / one, 1, kMostParallelLinks);
    tally_.no_latency(kind, count);
    builder_.add_link(a, b, kind, defaults_.latency(kind), {forward / count}, {backward / count},
                      static_cast<std::uint32_t>(count));
    if (kind == LinkKind::nvlink && builder_.machine().nodes[a].kind == NodeKind::nvswitch &&
        builder_.machine().nodes[b].kind == NodeKind::nvswitch) {
      trunks_ = true;
    }
  }

  // An NVSwitch that no matrix names is attached by its PCIe link.
  void attach_unlinked_nvswitches() {
    std::vector<bool> linked(builder_.machine().nodes.size(), false);
    for (auto const& link : builder_.machine().links) linked[link.a] = linked[link.b] = true;
    for (auto const& nvswitch : nvswitches_) {
      if (linked[nvswitch.node]) continue;
      link_pcie(nvswitch.parent, nvswitch.node, nvswitch.object);
      ++unlinked_;
    }
  }

  void note_assumptions() {
    tally_.note_defaults(builder_, defaults_);
    if (one_way_)
      builder_.assume("some bandwidths are given in one direction only: the same is assumed for the other");
    auto const& m = builder_.machine();
    if (unlinked_ > 0) {
      builder_.assume("the NVLinks of " + std::to_string(unlinked_) + " NVSwitches are not in the file");
    }
    if (nvswitches_.size() > unlinked_) {
      builder_.assume("the PCIe links of " + std::to_string(nvswitches_.size() - unlinked_) +
                      " NVSwitches serve management only and are left out");
      if (nvswitches_.size() > 1 && !trunks_) {
        builder_.assume(
            "the file lists no NVLink between NVSwitches: GPUs that share none are joined by PCIe only");
      }
    }
    if (m.pairs(LinkKind::nvlink) + m.pairs(LinkKind::xgmi) == 0 && m.count(NodeKind::gpu) > 1) {
      builder_.assume("the file lists no NVLink or xGMI link: the GPUs are joined by PCIe only");
    }
    if (others_ > 0) {
      builder_.assume(std::to_string(others_) +
                      " PCI devices that are neither GPU, NIC nor switch are left out");
    }
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_;
  std::map<std::string, std::uint32_t> by_object_;  // "PCIDev:581" -> node
  std::map<std::string, std::uint32_t> named_;
  std::vector<std::uint32_t> cpus_;
  LinkTally tally_;
  std::uint64_t others_ = 0;
  struct Nvswitch {
    std::uint32_t node;
    std::uint32_t parent;
    pugi::xml_node object;
  };
  std::vector<Nvswitch> nvswitches_;
  std::uint64_t unlinked_ = 0;
  bool trunks_ = false;
  bool one_way_ = false;
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
