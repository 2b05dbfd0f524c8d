// Cluster models of NVIDIA's topograph: YAML with `switches:` (a tree) and `blocks:` (a leaf switch, its
// nodes, and the NVLink domain that they share). Only the subset of YAML that such models use is read: block
// maps and lists.
//
// Nodes have no inside in the file: each becomes a CPU with a NIC and GPUs, whose number is a link default;
// an NVLink domain becomes one NVSwitch to which every GPU of its nodes is joined.
#include <algorithm>
#include <charconv>
#include <map>

#include "farfault/engine/error.hpp"
#include "importers.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {
namespace {

constexpr std::uint64_t kMostHosts = 100'000;

std::string_view trimmed(std::string_view text) {
  auto const begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

std::string_view unquoted(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults) : where_(where), defaults_(defaults) {}

  MachineBuilder read(std::string_view text) {
    for (auto rest = text; !rest.empty();) {
      auto const end = std::min(rest.find('\n'), rest.size());
      ++line_number_;
      read_line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    build();
    return std::move(builder_);
  }

 private:
  enum class Section { other, switches, blocks };
  struct Block {
    std::string leaf, domain;
    std::vector<std::string> hosts;
  };

  [[noreturn]] void fail(std::string const& what) const {
    throw UserError(where_ + ":" + std::to_string(line_number_) + ": " + what);
  }

  void read_line(std::string_view line) {
    if (auto const comment = line.find('#');
        comment == 0 || (comment != line.npos && line[comment - 1] == ' ')) {
      line = line.substr(0, comment);
    }
    auto content = trimmed(line);
    if (content.empty()) return;
    auto const indent = line.find_first_not_of(' ');
    auto const item = content.starts_with("- ");
    if (indent == 0 && !item) {
      section_ = content == "switches:" ? Section::switches
                 : content == "blocks:" ? Section::blocks
                                        : Section::other;
      list_.clear();
      return;
    }
    if (section_ == Section::other) return;
    if (item) content = trimmed(content.substr(2));
    auto const colon = content.find(':');
    if (colon == content.npos) {
      if (!item) fail("'" + std::string(content.substr(0, 80)) + "' is neither a key nor an item of a list");
      take_item(std::string(unquoted(content)));
      return;
    }
    auto const key = std::string(unquoted(content.substr(0, colon)));
    auto const value = std::string(unquoted(content.substr(colon + 1)));
    if (section_ == Section::switches) {
      if (indent == 2 && !item) parents_.push_back({key, {}});
      list_ = indent == 2 ? "" : key;
    } else {
      if (item) blocks_.emplace_back();
      if (blocks_.empty()) fail("'blocks' must be a list");
      list_ = value.empty() ? key : "";
      if (key == "switch") blocks_.back().leaf = value;
      if (key.ends_with("/domain")) blocks_.back().domain = value;
    }
  }

  void take_item(std::string const& text) {
    if (section_ == Section::switches && list_ == "switches" && !parents_.empty()) {
      parents_.back().second.push_back(text);
    } else if (section_ == Section::blocks && list_ == "nodes" && !blocks_.empty()) {
      expand(text);
    }
  }

  // "node[1101-1118]" names eighteen nodes.
  void expand(std::string const& text) {
    auto const open = text.find('[');
    auto const dash = text.find('-', open == text.npos ? 0 : open);
    auto const close = text.find(']', open == text.npos ? 0 : open);
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    auto const number = [&](std::size_t from, std::size_t to, std::uint64_t& value) {
      auto const [end, error] = std::from_chars(text.data() + from, text.data() + to, value);
      return error == std::errc{} && end == text.data() + to;
    };
    if (open == text.npos) {
      add_host(text);
      return;
    }
    if (close == text.npos || dash > close || !number(open + 1, dash, first) ||
        !number(dash + 1, close, last) || first > last || last - first >= kMostHosts) {
      fail("'" + text.substr(0, 80) + "' is no range of at most " + std::to_string(kMostHosts) + " nodes");
    }
    auto const width = dash - open - 1;
    for (auto i = first; i <= last; ++i) {
      auto digits = std::to_string(i);
      digits.insert(0, width > digits.size() ? width - digits.size() : 0, '0');
      add_host(text.substr(0, open) + digits + text.substr(close + 1));
    }
  }

  void add_host(std::string name) {
    if (++hosts_ > kMostHosts) fail("more than " + std::to_string(kMostHosts) + " nodes");
    blocks_.back().hosts.push_back(std::move(name));
  }

  std::uint32_t network_switch(std::string const& name) {
    auto const [it, added] = switches_.try_emplace(name, 0);
    if (added) it->second = builder_.add_node({name, NodeKind::network_switch, -1, 0, ""});
    return it->second;
  }

  void join(std::uint32_t a, std::uint32_t b, LinkKind kind, Bandwidth bandwidth, std::uint32_t count = 1) {
    if (a == b)
      throw UserError(where_ + ": switch '" + builder_.machine().nodes[a].name + "' is below itself");
    builder_.add_link(a, b, kind, defaults_.latency(kind), bandwidth, bandwidth, count);
  }

  void build() {
    for (auto const& [parent, children] : parents_) {
      auto const above = network_switch(parent);
      for (auto const& child : children)
        join(above, network_switch(child), LinkKind::network, defaults_.network_bandwidth);
    }
    std::map<std::string, std::uint32_t> domains;
    for (auto const& block : blocks_) {
      std::uint32_t fabric = 0;
      if (!block.domain.empty()) {
        auto const [it, added] = domains.try_emplace(block.domain, 0);
        if (added) it->second = builder_.add_node({block.domain, NodeKind::nvswitch, -1, 0, ""});
        fabric = it->second;
      }
      for (auto const& host : block.hosts) {
        auto const cpu = builder_.add_node({host, NodeKind::cpu, -1, 0, ""});
        auto const nic = builder_.add_node({host + ".nic0", NodeKind::nic, -1, 0, ""});
        join(cpu, nic, LinkKind::pcie, defaults_.pcie_bandwidth);
        if (!block.leaf.empty()) {
          join(nic, network_switch(block.leaf), LinkKind::network, defaults_.network_bandwidth);
        }
        for (std::uint32_t g = 0; g < defaults_.gpus_per_host; ++g) {
          auto const gpu = builder_.add_node({host + ".gpu" + std::to_string(g), NodeKind::gpu, -1, 0, ""});
          join(cpu, gpu, LinkKind::pcie, defaults_.pcie_bandwidth);
          if (!block.domain.empty()) {
            join(gpu, fabric, LinkKind::nvlink, defaults_.nvlink5_bandwidth,
                 defaults_.nvlinks_per_domain_gpu);
          }
        }
      }
    }
    builder_.assume("the insides of the " + std::to_string(hosts_) +
                    " nodes are not in the file: one CPU, one NIC and " +
                    std::to_string(defaults_.gpus_per_host) + " GPUs each assumed");
    if (!domains.empty()) {
      builder_.assume("an NVLink domain is assumed to be one NVSwitch with " +
                      std::to_string(defaults_.nvlinks_per_domain_gpu) + " NVLinks of " +
                      to_text(defaults_.nvlink5_bandwidth) + " to each of its GPUs");
    }
    builder_.assume("no latency or bandwidth is in the file: all are the link defaults");
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_{where_, "topograph-yaml"};
  std::vector<std::pair<std::string, std::vector<std::string>>> parents_;
  std::vector<Block> blocks_;
  std::map<std::string, std::uint32_t> switches_;
  Section section_ = Section::other;
  std::string list_;  // the key whose list is being read
  std::uint64_t hosts_ = 0;
  std::size_t line_number_ = 0;
};

}  // namespace

MachineBuilder parse_topograph_yaml(std::string_view text, std::string const& where,
                                    LinkDefaults const& defaults) {
  return Reader(where, defaults).read(text);
}

}  // namespace farfault::topologies
