// SPDX-License-Identifier: Apache-2.0
// Cluster models of NVIDIA's topograph: YAML with `switches:` (a tree) and `blocks:` (a leaf switch, its
// nodes, and the NVLink domain that they share). Other sections are passed over.
//
// Nodes have no inside in the file: each becomes a CPU with a NIC and GPUs, whose number is a link default;
// an NVLink domain becomes one NVSwitch to which every GPU of its nodes is joined.
//
// The text is read as events, never as a tree, and aliases are refused: what a hostile file takes is what its
// names take, which the limits bound.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <map>
#include <sstream>

#include "farfault/engine/error.hpp"
#include "formats.hpp"

namespace farfault::topologies {
namespace {

constexpr std::size_t kLongestText = 8U << 20U;
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMostOpenBrackets = 1000;
constexpr std::uint64_t kMostHosts = InputLimits::kMostNodes;

struct Block {
  std::string leaf, domain;
  std::vector<std::string> hosts;
};

struct Model {
  std::vector<std::pair<std::string, std::vector<std::string>>> parents;  // a switch, the switches below it
  std::vector<Block> blocks;
  std::uint64_t hosts = 0;
};

// Fills a Model from the events of one document.
class Reader final : public YAML::EventHandler {
 public:
  Reader(std::string const& where, InputLimits const& limits)
      : where_(where), limits_(limits.of_this_machine()) {}

  Model take() { return std::move(model_); }

  void OnDocumentStart(YAML::Mark const&) override {}
  void OnDocumentEnd() override {}
  void OnNull(YAML::Mark const& mark, YAML::anchor_t) override { word(mark, {}); }
  void OnAlias(YAML::Mark const& mark, YAML::anchor_t) override {
    fail(mark, "an alias ('*') stands here, but aliases are not read");
  }
  void OnScalar(YAML::Mark const& mark, std::string const&, YAML::anchor_t,
                std::string const& value) override {
    word(mark, value);
  }
  void OnSequenceStart(YAML::Mark const& mark, std::string const&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    begin(mark, false);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(YAML::Mark const& mark, std::string const&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    begin(mark, true);
  }
  void OnMapEnd() override { end(); }

 private:
  // A map or list that is open; of a map, the key whose value is being read.
  struct Level {
    bool map;
    bool has_key = false;
    std::string key;
  };

  [[noreturn]] void fail(YAML::Mark const& mark, std::string const& what) const {
    throw UserError(where_ + ":" + std::to_string(mark.line + 1) + ": " + what);
  }

  bool in(std::string_view section) const { return !levels_.empty() && levels_[0].key == section; }
  // Whether a list stands at `depth`, and how many levels are open.
  bool list_at(std::size_t depth) const { return levels_.size() == depth + 1 && !levels_[depth].map; }

  void begin(YAML::Mark const& mark, bool map) {
    if (levels_.size() == kDeepest) fail(mark, "lists and maps nest deeper than " + std::to_string(kDeepest));
    if (!levels_.empty() && levels_.back().map && !levels_.back().has_key)
      fail(mark, "a key must be a word, not a list or map");
    if (levels_.empty() && !map) fail(mark, "expected 'switches:' and 'blocks:', and found a list");
    if (levels_.size() == 1 && in("switches") && !map) fail(mark, "'switches' must be a map of switches");
    if (levels_.size() == 1 && in("blocks") && map) fail(mark, "'blocks' must be a list");
    if (levels_.size() == 3 && in("switches") && levels_[2].key == "switches" && map)
      fail(mark, "the switches below a switch must be a list");
    if (levels_.size() == 3 && in("blocks") && levels_[2].key == "nodes" && map)
      fail(mark, "the nodes of a block must be a list");
    if (in("blocks") && levels_.size() == 2) {
      if (!map) fail(mark, "a block must be a map, with 'switch' and 'nodes'");
      model_.blocks.emplace_back();
    }
    levels_.push_back({map, false, {}});
  }

  void end() {
    levels_.pop_back();
    if (!levels_.empty()) levels_.back().has_key = false;
  }

  void word(YAML::Mark const& mark, std::string const& text) {
    if (levels_.empty()) fail(mark, "expected 'switches:' and 'blocks:', and found a word");
    auto& level = levels_.back();
    if (level.map && !level.has_key) {
      level.key = text;
      level.has_key = true;
      if (in("switches") && levels_.size() == 2) model_.parents.push_back({named(mark, text), {}});
      return;
    }
    value(mark, text);
    level.has_key = false;
  }

  void value(YAML::Mark const& mark, std::string const& text) {
    if (in("switches")) {
      if (levels_.size() == 1 && !text.empty()) fail(mark, "'switches' must be a map of switches");
      if (list_at(3) && levels_[2].key == "switches")
        model_.parents.back().second.push_back(named(mark, text));
    } else if (in("blocks")) {
      if (levels_.size() == 1 && !text.empty()) fail(mark, "'blocks' must be a list");
      if (levels_.size() == 2) fail(mark, "a block must be a map, with 'switch' and 'nodes'");
      auto const& key = levels_.back().key;
      if (list_at(3) && levels_[2].key == "nodes") expand(mark, text);
      if (levels_.size() == 3 && key == "nodes" && !text.empty())
        fail(mark, "the nodes of a block must be a list");
      if (levels_.size() == 3 && key == "switch") model_.blocks.back().leaf = named(mark, text);
      if (levels_.back().map && key.ends_with("/domain")) model_.blocks.back().domain = named(mark, text);
    }
  }

  // Counts a name against the limits.
  std::string const& named(YAML::Mark const& mark, std::string const& name) {
    if (name.size() > kLongestName)
      fail(mark, "the name '" + shown(name) + "' has " + std::to_string(name.size()) +
                     " bytes, but it may have at most " + std::to_string(kLongestName));
    name_bytes_ += name.size();
    if (name_bytes_ > limits_.names.bytes)
      fail(mark, "the names up to here take more than " + limit_text("names", limits_.names));
    return name;
  }

  // "node[1101-1118]" names eighteen nodes.
  void expand(YAML::Mark const& mark, std::string const& text) {
    auto const open = text.find('[');
    auto const dash = text.find('-', open == text.npos ? 0 : open);
    auto const close = text.find(']', open == text.npos ? 0 : open);
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    auto const number = [&](std::size_t from, std::size_t to, std::uint64_t& result) {
      auto const [end, error] = std::from_chars(text.data() + from, text.data() + to, result);
      return error == std::errc{} && end == text.data() + to;
    };
    if (open == text.npos) {
      add_host(mark, text);
      return;
    }
    if (close == text.npos || dash > close || !number(open + 1, dash, first) ||
        !number(dash + 1, close, last) || first > last || last - first >= kMostHosts) {
      fail(mark, "'" + shown(text) + "' is not a range of at most " + std::to_string(kMostHosts) + " nodes");
    }
    auto const width = dash - open - 1;
    for (auto i = first; i <= last; ++i) {
      auto digits = std::to_string(i);
      digits.insert(0, width > digits.size() ? width - digits.size() : 0, '0');
      add_host(mark, text.substr(0, open) + digits + text.substr(close + 1));
    }
  }

  void add_host(YAML::Mark const& mark, std::string const& name) {
    if (++model_.hosts > limits_.nodes)
      fail(mark, "there are more nodes than " + limit_text("nodes", limits_.nodes));
    model_.blocks.back().hosts.push_back(named(mark, name));
  }

  std::string const& where_;
  InputLimits limits_;
  Model model_;
  std::vector<Level> levels_;
  std::uint64_t name_bytes_ = 0;
};

// The scanner keeps half a kilobyte for each bracket that is open, before any event: they are counted first,
// roughly, those of words and comments too.
void check_brackets(std::string_view text, std::string const& where) {
  std::size_t open = 0;
  for (auto const c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMostOpenBrackets)
      throw UserError(where + ": more than " + std::to_string(kMostOpenBrackets) +
                      " brackets are open at once");
  }
}

Model read(std::string_view text, std::string const& where, InputLimits const& limits) {
  if (text.size() > kLongestText)
    throw UserError(where + ": a cluster model of " + std::to_string(text.size()) +
                    " bytes, but it may have at most " + std::to_string(kLongestText));
  check_brackets(text, where);
  Reader reader(where, limits);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    parser.HandleNextDocument(reader);
  } catch (YAML::Exception const& e) {
    throw UserError(where + ":" + std::to_string(e.mark.line + 1) + ": not valid YAML: " + one_line(e.msg));
  }
  return reader.take();
}

// Makes the machine of a model.
class Cluster {
 public:
  Cluster(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), defaults_(defaults), builder_(where, "topograph-yaml", limits) {}

  MachineBuilder build(Model const& model) {
    for (auto const& [parent, children] : model.parents) {
      auto const above = network_switch(parent);
      for (auto const& child : children)
        join(above, network_switch(child), LinkKind::network, defaults_.network_bandwidth);
    }
    for (auto const& block : model.blocks) add_block(block);
    builder_.assume("the insides of the " + std::to_string(model.hosts) +
                    " nodes are not in the file: one CPU, one NIC and " +
                    std::to_string(defaults_.gpus_per_host) + " GPUs each assumed");
    if (!domains_.empty()) {
      builder_.assume("an NVLink domain is assumed to be one NVSwitch with " +
                      std::to_string(defaults_.nvlinks_per_domain_gpu) + " NVLinks of " +
                      to_text(defaults_.nvlink5_bandwidth) + " to each of its GPUs");
    }
    builder_.assume("no latency or bandwidth is in the file: all are the link defaults");
    return std::move(builder_);
  }

 private:
  std::uint32_t network_switch(std::string const& name) {
    auto const [it, added] = switches_.try_emplace(name, 0);
    if (added) it->second = builder_.add_node({name, NodeKind::network_switch, -1, 0, "", kShared});
    return it->second;
  }

  void join(std::uint32_t a, std::uint32_t b, LinkKind kind, Bandwidth bandwidth, std::uint32_t count = 1) {
    if (a == b)
      throw UserError(where_ + ": switch '" + shown(builder_.machine().nodes[a].name) + "' is below itself");
    builder_.add_link(a, b, kind, defaults_.latency(kind), bandwidth, bandwidth, count);
  }

  void add_block(Block const& block) {
    std::uint32_t fabric = 0;
    if (!block.domain.empty()) {
      auto const [it, added] = domains_.try_emplace(block.domain, 0);
      if (added) it->second = builder_.add_node({block.domain, NodeKind::nvswitch, -1, 0, "", kShared});
      fabric = it->second;
    }
    for (auto const& host : block.hosts) {
      auto const machine = machines_++;
      auto const cpu = builder_.add_node({host, NodeKind::cpu, -1, 0, "", machine});
      auto const nic = builder_.add_node({host + ".nic0", NodeKind::nic, -1, 0, "", machine});
      join(cpu, nic, LinkKind::pcie, defaults_.pcie_bandwidth);
      if (!block.leaf.empty())
        join(nic, network_switch(block.leaf), LinkKind::network, defaults_.network_bandwidth);
      for (std::uint32_t g = 0; g < defaults_.gpus_per_host; ++g) {
        auto const gpu =
            builder_.add_node({host + ".gpu" + std::to_string(g), NodeKind::gpu, -1, 0, "", machine});
        join(cpu, gpu, LinkKind::pcie, defaults_.pcie_bandwidth);
        if (!block.domain.empty())
          join(gpu, fabric, LinkKind::nvlink, defaults_.nvlink5_bandwidth, defaults_.nvlinks_per_domain_gpu);
      }
    }
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_;
  std::map<std::string, std::uint32_t> switches_;
  std::map<std::string, std::uint32_t> domains_;
  int machines_ = 0;
};

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  return Cluster(where, defaults, limits).build(read(text, where, limits));
}

}  // namespace

MachineFormat topograph_yaml_format() {
  return {"topograph_yaml", "a topograph model (switches: and blocks:)",
          [](std::string_view text) {
            return opens_line(text, {"blocks:"}) && text.find("switches:") != text.npos;
          },
          parse};
}

}  // namespace farfault::topologies
