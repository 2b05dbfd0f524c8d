// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <tuple>

#include "farfault/engine/error.hpp"
#include "nccl_devices.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

constexpr std::uint64_t kMegabytePerSecond = 1'000'000;
constexpr std::uint64_t kMaxMegabytes = 1'000'000'000;

std::string_view class_digits(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return text;
}

class Links {
 public:
  explicit Links(NcclDevices& d) : d_(d) {}

  void join() {
    for (auto const& gpu : d_.gpus) {
      for (auto link : gpu.element.children("nvlink")) read(gpu, link, LinkKind::nvlink);
      for (auto link : gpu.element.children("xgmi")) read(gpu, link, LinkKind::xgmi);
      for (auto link : gpu.element.children("c2c")) read_c2c(gpu, link);
    }
    for (auto const& [key, listed] : listed_) add(key, listed);
    for (auto const& [key, count] : of_bandwidth_)
      d_.decisions.report("nccl:link-rate",
                          {std::to_string(count), std::string(name_of(key.first)), to_text(key.second)});
    for (auto const& link : d_.pci_links) read_pcilink(link);
    bool const any = !listed_.empty();
    if (d_.gpus.size() > 1)
      d_.decisions.decide(
          {.format = FileFormat::nccl_xml, .element = "gpu links", .facts = any ? kNumber : 0U}, {});
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, LinkKind>;
  struct Listed {
    Bandwidth bandwidth;
    std::uint64_t count[2] = {0, 0};  // as listed by the lower-numbered node, and by the other
    bool one_sided = false;           // the other end lists nothing: a switch or a CPU
  };

  std::uint32_t nvswitch_of(std::string const& target, NcclGpu const& gpu) {
    // All hosts of an NVLink domain share its switches.
    auto const [known, fresh] = d_.nvswitches.try_emplace(busid_key(target), 0);
    if (!fresh) return known->second;
    MachineNode node;
    node.kind = NodeKind::nvswitch;
    node.name = d_.next_name("nvswitch");
    node.model = target;
    node.machine = d_.hosts > 1 ? kShared : d_.node(gpu.node).machine;
    return known->second = d_.builder.add_node(std::move(node));
  }

  [[noreturn]] void refuse(NcclGpu const& gpu, pugi::xml_node link, std::string const& target,
                           std::string const& why) const {
    throw UserError(d_.where + ": GPU " + shown(gpu.busid) + " has a <" + link.name() + "> to '" +
                    shown(target) + "', but " + why);
  }

  void read(NcclGpu const& gpu, pugi::xml_node link, LinkKind kind) {
    auto const target = lower(link.attribute("target").value());
    auto const target_class = lower(link.attribute("tclass").value());
    auto const count = xml_number(link, "count", 1, kMaxParallelLinks, d_.where);
    auto const key = busid_key(target);
    auto const known = d_.by_busid.find({gpu.host, key});
    // A link leads to a GPU or an NVSwitch, even if other devices have the same busid.
    bool const there = known != d_.by_busid.end();
    auto const at = there ? d_.node(known->second.node).kind : NodeKind::cpu;
    std::uint32_t facts = key == busid_key(gpu.busid) ? kSelf : 0U;
    if (there && (at == NodeKind::gpu || at == NodeKind::nvswitch)) facts |= kThere;
    if (there && at != NodeKind::gpu && known->second.times > 1) facts |= kThere | kSeveral;
    auto const example = d_.quoted(gpu.node) + " (" + std::to_string(count) + " to " + shown(target) + ")";
    std::uint32_t to = gpu.cpu;
    switch (d_.decisions.decide({.format = FileFormat::nccl_xml,
                                 .element = link.name(),
                                 .text = class_digits(target_class),
                                 .detail = gpu.arch + " " + target,
                                 .facts = facts},
                                example)) {
      case ImportAs::omitted:
        return;
      case ImportAs::refused:
        refuse(gpu, link, target, "several devices of the file have that busid");
      case ImportAs::named:
        to = known->second.node;
        break;
      case ImportAs::nvswitch:
        to = nvswitch_of(target, gpu);
        break;
      default:
        break;
    }
    auto& listed = listed_[{std::min(gpu.node, to), std::max(gpu.node, to), kind}];
    listed.count[gpu.node < to ? 0 : 1] += count;
    listed.one_sided = d_.node(to).kind != NodeKind::gpu;
    auto const sm = static_cast<unsigned>(xml_number(gpu.element, "sm", 0, 100'000, d_.where));
    listed.bandwidth = kind == LinkKind::nvlink ? d_.defaults.nvlink_for(gpu.maker == ImportAs::amd ? 0 : sm)
                                                : d_.defaults.xgmi_for(d_.node(gpu.node).model);
  }

  void add(Key const& key, Listed const& listed) {
    auto const& [a, b, kind] = key;
    auto const count = std::max(listed.count[0], listed.count[1]);
    bool const differ = !listed.one_sided && listed.count[0] != listed.count[1];
    if (!differ) d_.decisions.note("nccl:count");
    if (differ)
      d_.decisions.report("nccl:count-differs",
                          {d_.node(a).name, std::to_string(listed.count[0]), std::string(name_of(kind)),
                           d_.node(b).name, std::to_string(listed.count[1]), std::to_string(count)});
    if (count > kMaxParallelLinks) {
      throw UserError(d_.where + ": " + d_.quoted(a) + " and " + d_.quoted(b) + " are joined by " +
                      std::to_string(count) + " links, but at most " + std::to_string(kMaxParallelLinks) +
                      " may be parallel");
    }
    d_.tally.no_latency(kind, count);
    of_bandwidth_[{kind, listed.bandwidth}] += count;
    d_.builder.add_link(a, b, kind, d_.defaults.latency(kind), listed.bandwidth, listed.bandwidth,
                        static_cast<std::uint32_t>(count));
  }

  // NVLink-C2C: the file states the bandwidth of one link, in MB/s per direction.
  void read_c2c(NcclGpu const& gpu, pugi::xml_node link) {
    auto const count = xml_number(link, "count", 1, kMaxParallelLinks, d_.where);
    auto const megabytes = xml_number(link, "bw", 0, kMaxMegabytes, d_.where);
    auto const example = d_.quoted(gpu.node);
    d_.decisions.decide({FileFormat::nccl_xml, "c2c"}, example);
    auto const stated = d_.decisions.decide(
        {.format = FileFormat::nccl_xml, .element = "c2c rate", .facts = megabytes > 0 ? kNumber : 0U},
        example);
    auto const bandwidth = stated == ImportAs::stated ? Bandwidth{megabytes * kMegabytePerSecond}
                                                      : d_.defaults.bandwidth(LinkKind::nvlink).take();
    if (count == 0) return;
    d_.tally.no_latency(LinkKind::nvlink, count);
    d_.builder.add_link(gpu.node, gpu.cpu, LinkKind::nvlink, d_.defaults.latency(LinkKind::nvlink), bandwidth,
                        bandwidth, static_cast<std::uint32_t>(count));
  }

  // Both switches may list the link; it is added once.
  void read_pcilink(NcclPciLink const& link) {
    auto const known = d_.by_busid.find({link.host, busid_key(link.target)});
    std::uint32_t facts = 0;
    if (known != d_.by_busid.end() && d_.node(known->second.node).kind == NodeKind::pcie_switch)
      facts = kThere | (known->second.node == link.node ? kSelf : 0U);
    if (d_.decisions.decide({.format = FileFormat::nccl_xml, .element = "pcilink", .facts = facts},
                            shown(link.busid) + " to " + shown(link.target)) != ImportAs::named)
      return;
    auto const to = known->second.node;
    if (!pci_pairs_.insert({std::min(link.node, to), std::max(link.node, to)}).second) return;
    d_.tally.no_latency(LinkKind::pcie, 1);
    d_.tally.no_bandwidth(LinkKind::pcie, 1);
    d_.builder.add_link(link.node, to, LinkKind::pcie, d_.defaults.pcie_latency, d_.defaults.pcie_bandwidth,
                        d_.defaults.pcie_bandwidth);
  }

  NcclDevices& d_;
  std::map<Key, Listed> listed_;
  std::map<std::pair<LinkKind, Bandwidth>, std::uint64_t> of_bandwidth_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> pci_pairs_;
};

}  // namespace

std::string lower(std::string_view text) {
  std::string low(text);
  for (auto& c : low)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return low;
}

std::string busid_key(std::string_view text) {
  auto const low = lower(text);
  std::string digits;
  for (char const c : low) {
    if (c == ':' || c == '.') continue;
    bool const hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (!hex) return low;
    if (!digits.empty() || c != '0') digits += c;
  }
  return digits;
}

void join_nccl_devices(NcclDevices& devices) {
  Links(devices).join();
}

}  // namespace farfault::topologies
