// SPDX-License-Identifier: Apache-2.0
// Cluster models of NVIDIA's topograph: YAML with `switches:` (a tree), and `blocks:` (a leaf switch, its
// nodes, and the NVLink domain that they share) or, in older files, `capacity_blocks:` and `nodes:`. Other
// sections are ignored. The rules are in import_rules.cpp, with names "topograph:...".
//
// The file does not describe the inside of nodes: each node becomes a CPU with a NIC and GPUs, whose number
// is a link default unless the file lists them. An NVLink domain becomes one NVSwitch, joined to every GPU of
// its nodes.
#include <algorithm>
#include <map>
#include <optional>

#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "topograph_model.hpp"

namespace farfault::topologies {
namespace {

// Builds the machine of a model.
class Cluster {
 public:
  Cluster(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), limits_(limits), defaults_(defaults), builder_(where, "topograph-yaml", limits) {}

  MachineBuilder build(std::string_view text) {
    auto const model = read_topograph(text, where_, limits_, decisions_);
    for (auto const& s : model.switches) add_switch(s);
    for (auto const& block : model.blocks) {
      if (!block.name.empty()) block_of_name_.try_emplace(block.name, &block);
      if (block.leaf.empty()) continue;
      auto const facts = switches_.contains(block.leaf) ? kThere : 0U;
      decide("block switch", {}, facts, "'" + shown(block.leaf) + "'");
      network_switch(block.leaf);
    }
    for (auto const& host : model.hosts) add_host(host, model);
    join_roots();
    if (open_ > 0)
      decisions_.report("topograph:gpus-open",
                        {std::to_string(open_), std::to_string(defaults_.gpus_per_host.shown())});
    if (!domains_.empty())
      decisions_.report(
          "topograph:nvswitch-open",
          {std::to_string(defaults_.nvlinks_per_domain_gpu.shown()), to_text(nvlink_),
           nvlinks_differ_ ? " (" + to_text(defaults_.nvlink_bandwidth.shown()) + " of an H100 or A100)"
                           : ""});
    decisions_.note("topograph:rates-open");
    decisions_.write(builder_);
    return std::move(builder_);
  }

 private:
  ImportAs decide(std::string_view element, std::string_view text, std::uint32_t facts,
                  std::string const& example) {
    return decisions_.decide(
        {.format = FileFormat::topograph_yaml, .element = element, .text = text, .facts = facts}, example);
  }

  std::uint32_t network_switch(std::string const& name) {
    auto const [it, added] = switches_.try_emplace(name, 0);
    if (added)
      it->second = builder_.add_node(
          {.name = name, .kind = NodeKind::network_switch, .numa = -1, .model = "", .machine = kShared});
    return it->second;
  }

  void add_switch(TopographSwitch const& s) {
    auto const above = network_switch(s.name);
    if (!s.domain.empty()) domain_of_[s.name] = s.domain;
    for (auto const& block : s.blocks) leaf_of_block_.try_emplace(block, s.name);
    for (auto const& child : s.below) {
      auto const below = network_switch(child);
      join(above, below, LinkKind::network, defaults_.network_bandwidth);
      parent_of_.try_emplace(child, s.name);
    }
  }

  void join(std::uint32_t a, std::uint32_t b, LinkKind kind, Bandwidth bandwidth, std::uint32_t count = 1) {
    if (a == b)
      throw UserError(where_ + ": switch '" + shown(builder_.machine().nodes[a].name) + "' is below itself");
    builder_.add_link(a, b, kind, defaults_.latency(kind), bandwidth, bandwidth, count);
  }

  // The switch that joins the parts that the file leaves unconnected.
  std::uint32_t assumed_network() {
    if (!assumed_) {
      std::string name = "network";
      while (switches_.contains(name)) name += "_";
      assumed_ = builder_.add_node(
          {.name = name, .kind = NodeKind::network_switch, .numa = -1, .model = "", .machine = kShared});
    }
    return *assumed_;
  }

  TopographBlock const* block_of(TopographHost const& host, TopographModel const& model) const {
    if (host.in_block != SIZE_MAX) return &model.blocks[host.in_block];
    auto const found = block_of_name_.find(host.block);
    return found == block_of_name_.end() ? nullptr : found->second;
  }

  std::string leaf_of(TopographHost const& host, TopographBlock const* block) const {
    if (!host.leaf.empty()) return host.leaf;
    if (block == nullptr) return {};
    if (!block->leaf.empty()) return block->leaf;
    auto const found = leaf_of_block_.find(block->name);
    return found == leaf_of_block_.end() ? std::string() : found->second;
  }

  // A node has the domain of its block or, without one, of the nearest switch above it.
  std::string domain_of(TopographHost const& host, TopographBlock const* block, std::string at) const {
    if (!host.domain.empty()) return host.domain;
    if (block != nullptr && !block->domain.empty()) return block->domain;
    for (std::size_t steps = 0; !at.empty() && steps <= switches_.size(); ++steps) {
      if (auto const found = domain_of_.find(at); found != domain_of_.end()) return found->second;
      auto const parent = parent_of_.find(at);
      at = parent == parent_of_.end() ? std::string() : parent->second;
    }
    return {};
  }

  void add_host(TopographHost const& host, TopographModel const& model) {
    auto const* block = block_of(host, model);
    auto const leaf = leaf_of(host, block);
    auto const domain = domain_of(host, block, leaf);
    auto const machine = machines_++;
    if (!domain.empty() && !domains_.contains(domain))
      domains_[domain] = builder_.add_node(
          {.name = domain, .kind = NodeKind::nvswitch, .numa = -1, .model = "", .machine = kShared});
    auto const cpu = builder_.add_node(
        {.name = host.name, .kind = NodeKind::cpu, .numa = -1, .model = "", .machine = machine});
    auto const nic = builder_.add_node(
        {.name = host.name + ".nic0", .kind = NodeKind::nic, .numa = -1, .model = "", .machine = machine});
    join(cpu, nic, LinkKind::pcie, defaults_.pcie_bandwidth);
    auto const import_as = decide("leaf", {}, leaf.empty() ? 0U : kThere, "'" + shown(host.name) + "'");
    auto const above = import_as == ImportAs::named ? network_switch(leaf) : assumed_network();
    join(nic, above, LinkKind::network, defaults_.network_bandwidth);
    auto const gpus = decide("gpus", {}, host.gpus > 0 ? kNumber : 0U, {}) == ImportAs::stated
                          ? host.gpus
                          : defaults_.gpus_per_host.take();
    if (host.gpus == 0) ++open_;
    auto const model_name = !host.gpu.empty() ? host.gpu : block != nullptr ? block->gpu : std::string();
    auto const& rate = decide("gpu model", model_name, 0, {}) == ImportAs::stated
                           ? defaults_.nvlink_bandwidth
                           : defaults_.nvlink5_bandwidth;
    if (!domain.empty()) note_rate(rate);
    for (std::uint32_t g = 0; g < gpus; ++g) {
      auto const gpu = builder_.add_node({.name = host.name + ".gpu" + std::to_string(g),
                                          .kind = NodeKind::gpu,
                                          .numa = -1,
                                          .model = model_name,
                                          .machine = machine});
      join(cpu, gpu, LinkKind::pcie, defaults_.pcie_bandwidth);
      if (!domain.empty())
        join(gpu, domains_[domain], LinkKind::nvlink, rate, defaults_.nvlinks_per_domain_gpu);
    }
  }

  void note_rate(Bandwidth rate) {
    nvlinks_differ_ = nvlinks_differ_ || (nvlink_.bytes_per_second != 0 && nvlink_ != rate);
    nvlink_ = std::max(nvlink_, rate);
  }

  // Joins switches that have no parent and no other connection.
  void join_roots() {
    std::vector<std::uint32_t> roots;
    for (auto const& [name, node] : switches_)
      if (!parent_of_.contains(name)) roots.push_back(node);
    bool const apart = roots.size() > 1 || (assumed_ && !roots.empty());
    auto const& nodes = builder_.machine().nodes;
    if (decide("roots", {}, apart ? kSeveral : 0U,
               roots.empty() ? std::string() : "'" + shown(nodes[roots.front()].name) + "'") ==
        ImportAs::network_switch)
      for (auto const root : roots)
        join(assumed_network(), root, LinkKind::network, defaults_.network_bandwidth);
  }

  std::string const& where_;
  InputLimits const& limits_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_;
  Decisions decisions_;
  std::map<std::string, std::uint32_t> switches_;
  std::map<std::string, std::string> parent_of_;      // of a switch
  std::map<std::string, std::string> domain_of_;      // of a switch
  std::map<std::string, std::string> leaf_of_block_;  // if a switch lists its blocks
  std::map<std::string, TopographBlock const*> block_of_name_;
  std::map<std::string, std::uint32_t> domains_;
  std::optional<std::uint32_t> assumed_;
  std::uint64_t open_ = 0;  // nodes whose GPUs are not listed
  Bandwidth nvlink_{0};     // the fastest of the domain
  bool nvlinks_differ_ = false;
  int machines_ = 0;
};

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  return Cluster(where, defaults, limits).build(text);
}

}  // namespace

MachineFormat topograph_yaml_format() {
  return {"topograph_yaml", "a topograph model (switches: and blocks:)",
          [](std::string_view text) {
            bool const blocks = opens_line(text, {"blocks:", "capacity_blocks:"});
            bool const switches = opens_line(text, {"switches:"});
            bool const nodes = text.find("nodes:") != text.npos;
            return (blocks || switches) && (blocks + switches == 2 || nodes);
          },
          parse};
}

}  // namespace farfault::topologies
