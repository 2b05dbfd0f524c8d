// SPDX-License-Identifier: Apache-2.0
// NCCL and RCCL topology XML: <system> of <cpu> of nested <pci>, which hold <gpu> with <nvlink> or <xgmi>,
// and <nic>.
//
// The dialect is that of NCCL's own reader (graph/xml.cc, topo.cc). PCI classes: 0x0604 is a switch, 0x03xx
// and 0x1200 a GPU, 0x0200 and 0x0207 a NIC. Each end of an NVLink or xGMI link lists it, so the pair is one
// link. `sm` is the compute capability of an NVIDIA GPU, but the number of compute units of an AMD one (which
// has `gcn`). A <net> directly below a <cpu> is a NIC without a PCI slot of its own. An NVLink target that is
// no device of the file is an NVSwitch where its class says so (0x0680), or the CPU beside the GPU (0x0604,
// as on POWER).
//
// A busid belongs to a host: a file of several hosts says of each <cpu> which one it is in (host_hash).
// Within a host, a busid may stand for several switches and NICs (RCCL's models write one switch once for
// each device below it); each is a device of its own, as NCCL's reader has it. Only GPUs need busids of their
// own, because links lead to them.
#include <algorithm>
#include <map>
#include <optional>

#include "cpu_mesh.hpp"
#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "link_tally.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

std::string lower(std::string_view text) {
  std::string low(text);
  for (auto& c : low)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return low;
}

// Bytes per second of a slot in one direction: transfers per second x lanes, less the line code (8b/10b up to
// 5 GT/s, 128b/130b up to 32 GT/s, 242 of 256 bytes of a flit from 64 GT/s on). Nothing when the text is no
// such speed.
std::optional<Bandwidth> pcie_bandwidth(std::string_view speed, std::uint64_t lanes) {
  static constexpr struct {
    std::string_view number;
    std::uint64_t transfers, payload, coded;
  } kGenerations[] = {{"2.5", 2'500'000'000, 8, 10},    {"5", 5'000'000'000, 8, 10},
                      {"8", 8'000'000'000, 128, 130},   {"16", 16'000'000'000, 128, 130},
                      {"32", 32'000'000'000, 128, 130}, {"64", 64'000'000'000, 242, 256}};
  auto number = speed.substr(0, speed.find(' '));
  if (number.ends_with(".0")) number.remove_suffix(2);
  if (lanes == 0 || !speed.substr(std::min(speed.find(' '), speed.size())).starts_with(" GT/s"))
    return std::nullopt;
  for (auto const& g : kGenerations)
    if (g.number == number) return Bandwidth{g.transfers / 8 * lanes * g.payload / g.coded};
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), defaults_(defaults), builder_(where, "nccl-xml", limits) {}

  MachineBuilder read(pugi::xml_node system) {
    for (auto cpu : system.children("cpu")) read_cpu(cpu);
    join_gpus();
    join_cpus(builder_, cpus_, defaults_, tally_, where_);
    note_assumptions();
    return std::move(builder_);
  }

 private:
  struct Gpu {
    std::uint32_t node;
    std::uint32_t cpu;
    std::uint32_t host;
    std::string busid;
    pugi::xml_node element;  // <gpu>, or null
  };

  std::string next_name(char const* stem) { return stem + std::to_string(named_[stem]++); }

  void read_cpu(pugi::xml_node cpu) {
    MachineNode node;
    node.kind = NodeKind::cpu;
    auto const numa = xml_number(cpu, "numaid", cpus_.size(), 1'000'000, where_);
    node.numa = static_cast<int>(numa);
    auto const [host, fresh] =
        hosts_.try_emplace(cpu.attribute("host_hash").value(), static_cast<std::uint32_t>(hosts_.size()));
    host_ = host->second;
    node.name = (host_ == 0 ? "cpu" : "host" + std::to_string(host_) + ".cpu") + std::to_string(numa);
    node.model = cpu.attribute("vendor").value();
    node.machine = static_cast<int>(host_);
    auto const index = builder_.add_node(std::move(node));
    cpus_.push_back(index);
    for (auto pci : cpu.children("pci")) read_pci(pci, index, index, 1);
    for (auto nic : cpu.children("nic")) {
      if (!nic.child("net")) continue;
      auto const added = add(NodeKind::nic, "nic", index, nic.child("net").attribute("name").value());
      link_pcie(index, added, {});
      slotless_.push_back(added);
    }
  }

  std::uint32_t add(NodeKind kind, char const* stem, std::uint32_t cpu, std::string model) {
    MachineNode node;
    node.kind = kind;
    node.name = next_name(stem);
    node.numa = builder_.machine().nodes[cpu].numa;
    node.machine = builder_.machine().nodes[cpu].machine;
    node.model = std::move(model);
    return builder_.add_node(std::move(node));
  }

  void link_pcie(std::uint32_t parent, std::uint32_t child, pugi::xml_node pci) {
    auto const width = pci ? xml_number(pci, "link_width", 0, 64, where_) : 0;
    auto const speed = pcie_bandwidth(pci.attribute("link_speed").value(), width);
    if (!speed) tally_.no_bandwidth(LinkKind::pcie, 1);
    tally_.no_latency(LinkKind::pcie, 1);
    auto const bandwidth = speed.value_or(defaults_.pcie_bandwidth);
    builder_.add_link(parent, child, LinkKind::pcie, defaults_.pcie_latency, bandwidth, bandwidth);
  }

  void read_pci(pugi::xml_node pci, std::uint32_t parent, std::uint32_t cpu, int depth) {
    check_depth(depth, where_);
    auto const busid = lower(pci.attribute("busid").value());
    if (busid.empty()) throw UserError(where_ + ": a <pci> element has no busid");
    std::string_view const pci_class = pci.attribute("class").value();
    std::uint32_t node = 0;
    if (pci.child("gpu") || pci_class.starts_with("0x03") || pci_class.starts_with("0x12")) {
      node = add_gpu(pci, cpu, busid);
    } else if (pci_class.starts_with("0x0200") || pci_class.starts_with("0x0207") || pci.child("nic")) {
      node = add(NodeKind::nic, "nic", cpu, pci.child("nic").child("net").attribute("name").value());
    } else if (pci_class.starts_with("0x0604")) {
      node = add(NodeKind::pcie_switch, "switch", cpu, busid);
    } else {
      ++others_;
      return;
    }
    remember(busid, node);
    link_pcie(parent, node, pci);
    for (auto child : pci.children("pci")) read_pci(child, node, cpu, depth + 1);
  }

  void remember(std::string const& busid, std::uint32_t node) {
    auto const [it, fresh] = devices_.try_emplace({host_, busid}, Device{node, 1});
    if (fresh) return;
    auto const is_gpu = [&](std::uint32_t n) { return builder_.machine().nodes[n].kind == NodeKind::gpu; };
    if (is_gpu(node) && is_gpu(it->second.node))
      throw UserError(where_ + ": two GPUs of a host have the busid " + shown(busid));
    if (is_gpu(node)) it->second.node = node;
    if (++it->second.times == 2 && repeated_++ == 0) first_repeated_ = busid;
  }

  std::uint32_t add_gpu(pugi::xml_node pci, std::uint32_t cpu, std::string const& busid) {
    auto const gpu = pci.child("gpu");
    std::string const gfx = gpu.attribute("gcn").value();
    auto const sm = gpu ? xml_number(gpu, "sm", 0, 100'000, where_) : 0;
    std::string model = pci.attribute("vendor").value() + std::string(":") + pci.attribute("device").value();
    if (model == ":") model.clear();
    if (!gfx.empty()) {
      model = gfx.starts_with("gfx") ? gfx : "gfx" + gfx;
    } else if (sm != 0) {
      model = "sm_" + std::to_string(sm);
    }
    auto const node = add(NodeKind::gpu, "gpu", cpu, model);
    if (!gfx.empty()) builder_.machine().nodes[node].sm_count = static_cast<std::uint32_t>(sm);
    gpus_.push_back({node, cpu, host_, busid, gpu});
    return node;
  }

  struct Listed {
    Bandwidth bandwidth;
    std::uint64_t count[2] = {0, 0};  // as listed by the node with the lower index, and by the other
    bool one_sided = false;           // the other end lists nothing: a switch or a CPU
  };

  // Where a link leads that is not to a device of the file.
  std::optional<std::uint32_t> hidden_target(Gpu const& gpu, std::string const& target,
                                             std::string_view target_class) {
    if (target_class.starts_with("0x0604")) return gpu.cpu;
    if (!target_class.starts_with("0x0680")) return std::nullopt;
    // The switches of an NVLink domain are the same ones for all of its hosts.
    auto const [known, fresh] = nvswitches_.try_emplace(target, 0);
    if (!fresh) return known->second;
    MachineNode node;
    node.kind = NodeKind::nvswitch;
    node.name = next_name("nvswitch");
    node.model = target;
    node.machine = hosts_.size() > 1 ? kShared : builder_.machine().nodes[gpu.node].machine;
    return known->second = builder_.add_node(std::move(node));
  }

  void read_link(Gpu const& gpu, pugi::xml_node link, LinkKind kind) {
    auto const target = lower(link.attribute("target").value());
    auto const count = xml_number(link, "count", 1, kMostParallelLinks, where_);
    auto const text = std::string(name_of(kind));
    if (target == gpu.busid) {
      // A virtual machine that hides the peer shows a GPU's links as links to itself.
      builder_.assume("'" + builder_.machine().nodes[gpu.node].name + "' lists " + std::to_string(count) +
                      " " + text +
                      " links to itself: their other end is not in the file, and they are left out");
      return;
    }
    std::string_view const target_class = link.attribute("tclass").value();
    auto const known = devices_.find({gpu.host, target});
    auto const there = known != devices_.end();
    auto const to = there ? std::optional(known->second.node) : hidden_target(gpu, target, target_class);
    auto const refuse = [&](std::string const& why) {
      throw UserError(where_ + ": GPU " + shown(gpu.busid) + " has a <" + link.name() + "> to '" +
                      shown(target) + "', but " + why);
    };
    if (!to || *to == gpu.node) refuse("no device of the file has that busid");
    if (there && known->second.times > 1 && builder_.machine().nodes[*to].kind != NodeKind::gpu)
      refuse("several devices of the file have that busid");
    auto& listed = listed_[{std::min(gpu.node, *to), std::max(gpu.node, *to), kind}];
    listed.count[gpu.node < *to ? 0 : 1] += count;
    listed.one_sided = builder_.machine().nodes[*to].kind != NodeKind::gpu;
    auto const capability = static_cast<unsigned>(xml_number(gpu.element, "sm", 0, 100'000, where_));
    listed.bandwidth = kind == LinkKind::nvlink ? defaults_.nvlink_for(capability)
                                                : defaults_.xgmi_for(gpu.element.attribute("gcn").value());
  }

  void join_gpus() {
    for (auto const& gpu : gpus_) {
      for (auto link : gpu.element.children("nvlink")) read_link(gpu, link, LinkKind::nvlink);
      for (auto link : gpu.element.children("xgmi")) read_link(gpu, link, LinkKind::xgmi);
    }
    std::map<std::pair<LinkKind, Bandwidth>, std::uint64_t> of_bandwidth;
    for (auto const& [key, listed] : listed_) {
      auto const& [a, b, kind] = key;
      auto const& nodes = builder_.machine().nodes;
      auto const count = std::max(listed.count[0], listed.count[1]);
      if (!listed.one_sided && listed.count[0] != listed.count[1]) {
        builder_.assume("'" + nodes[a].name + "' lists " + std::to_string(listed.count[0]) + " " +
                        std::string(name_of(kind)) + " links to '" + nodes[b].name + "', which lists " +
                        std::to_string(listed.count[1]) + ": " + std::to_string(count) + " assumed");
      }
      if (count > kMostParallelLinks) {
        throw UserError(where_ + ": '" + nodes[a].name + "' and '" + nodes[b].name + "' are joined by " +
                        std::to_string(count) + " links, but at most " + std::to_string(kMostParallelLinks) +
                        " may be parallel");
      }
      tally_.no_latency(kind, count);
      of_bandwidth[{kind, listed.bandwidth}] += count;
      builder_.add_link(a, b, kind, defaults_.latency(kind), listed.bandwidth, listed.bandwidth,
                        static_cast<std::uint32_t>(count));
    }
    for (auto const& [key, count] : of_bandwidth) {
      builder_.assume("the bandwidth of " + std::to_string(count) + " " + std::string(name_of(key.first)) +
                      " links is not in the file: " + to_text(key.second) +
                      " per physical link and direction, by the GPU's generation");
    }
  }

  void note_assumptions() {
    tally_.note_defaults(builder_, defaults_);
    if (listed_.empty() && gpus_.size() > 1) {
      builder_.assume(
          "the file lists no NVLink or xGMI link between GPUs (NCCL finds NVLinks at run time): the GPUs "
          "are joined by PCIe only");
    }
    if (slotless_.size() == 1) {
      builder_.assume("NIC '" + shown(builder_.machine().nodes[slotless_.front()].model) +
                      "' has no PCI slot in the file: a PCIe link to its CPU is assumed");
    } else if (!slotless_.empty()) {
      builder_.assume(std::to_string(slotless_.size()) +
                      " NICs have no PCI slot in the file: a PCIe link to their CPU is assumed for each");
    }
    if (repeated_ > 0) {
      builder_.assume("several PCI devices have one busid, each is taken as a device of its own: " +
                      shown(first_repeated_) +
                      (repeated_ == 1 ? "" : " and " + std::to_string(repeated_ - 1) + " more"));
    }
    if (others_ > 0) {
      builder_.assume(std::to_string(others_) +
                      " PCI devices that are neither GPU, NIC nor switch are left out");
    }
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_;
  struct Device {
    std::uint32_t node;
    std::uint32_t times;  // that its busid was met
  };
  std::map<std::string, std::uint32_t> hosts_;                       // host_hash -> number
  std::uint32_t host_ = 0;                                           // of the <cpu> being read
  std::map<std::pair<std::uint32_t, std::string>, Device> devices_;  // by host and busid; a GPU before others
  std::uint64_t repeated_ = 0;
  std::string first_repeated_;
  std::map<std::string, std::uint32_t> nvswitches_;
  std::vector<std::uint32_t> slotless_;  // NICs
  std::map<std::string, std::uint32_t> named_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, LinkKind>, Listed> listed_;
  std::vector<std::uint32_t> cpus_;
  std::vector<Gpu> gpus_;
  LinkTally tally_;
  std::uint64_t others_ = 0;
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
