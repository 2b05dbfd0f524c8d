// SPDX-License-Identifier: Apache-2.0
// GraphML, read and written. The words for kinds of nodes and edges are in import_rules.cpp, by their names
// "graphml:...". A key's default holds for all elements without a value of their own. A hyperedge, a graph
// inside a node and a second graph are refused: their meaning for a machine is open.
#include "farfault/topologies/graphml.hpp"

#include <map>
#include <optional>
#include <sstream>

#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "import_rules.hpp"
#include "link_tally.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), defaults_(defaults), builder_(where, "graphml", limits) {}

  MachineBuilder read(pugi::xml_node graphml) {
    for (auto key : graphml.children("key")) read_key(key);
    auto const graph = graphml.child("graph");
    if (!graph) throw UserError(where_ + ": <graphml> contains no <graph>");
    bool first = true;
    for ([[maybe_unused]] auto each : graphml.children("graph")) {
      refuse_if("graph", first ? 0U : kRepeated, "a second <graph> is not supported: a machine is one graph");
      first = false;
    }
    if (graph.child("hyperedge"))
      refuse_if("hyperedge", 0, "<hyperedge> is not supported: a link joins two nodes");
    if (std::string_view const id = graph.attribute("id").value(); !id.empty()) builder_.machine().name = id;
    std::string_view const direction = graph.attribute("edgedefault").value();
    decide("edgedefault", direction, 0, {});
    directed_ = direction == "directed";
    for (auto node : graph.children("node")) read_node(node);
    for (auto edge : graph.children("edge")) read_edge(edge);
    for (auto const& [key, half] : halves_) finish_half(key, half);
    for (auto const& n : builder_.machine().nodes)
      if (is_device(n.kind))
        decisions_.decide({.format = FileFormat::any, .element = "numa", .facts = n.numa >= 0 ? kNumber : 0U},
                          "'" + shown(n.name) + "'");
    tally_.note_defaults(decisions_, defaults_, builder_.machine());
    decisions_.write(builder_);
    return std::move(builder_);
  }

 private:
  using Values = std::map<std::string, std::string, std::less<>>;
  using Key = std::tuple<std::uint32_t, std::uint32_t, LinkKind>;  // nodes in ascending order

  struct Half {  // in a directed graph: the edges read so far for a pair of nodes
    Duration latency = kLongestLatency;
    Bandwidth bandwidth[2];  // to the higher node index, to the lower one
    std::uint32_t count[2] = {0, 0};
  };

  ImportAs decide(std::string_view element, std::string_view text, std::uint32_t facts,
                  std::string const& example) {
    return decisions_.decide(
        {.format = FileFormat::graphml, .element = element, .text = text, .facts = facts}, example);
  }

  void refuse_if(std::string_view element, std::uint32_t facts, std::string const& why) {
    if (decide(element, {}, facts, {}) == ImportAs::refused) throw UserError(where_ + ": " + why);
  }

  // The canonical name of an attribute.
  static std::string known_as(std::string name) { return name == "type" ? "kind" : name; }

  void read_key(pugi::xml_node key) {
    std::string const name = known_as(key.attribute("attr.name").value());
    keys_[key.attribute("id").value()] = name;
    auto const fallback = key.child("default");
    if (!fallback) return;
    std::string_view const domain = key.attribute("for").value();
    for (std::string_view const element : {"node", "edge"})
      if (domain == element || domain == "all" || domain.empty())
        defaults_of_[std::string(element)][name] = fallback.text().get();
  }

  Values values(pugi::xml_node element) const {
    Values found;
    if (auto const fallback = defaults_of_.find(std::string_view(element.name()));
        fallback != defaults_of_.end())
      found = fallback->second;
    for (auto data : element.children("data")) {
      auto const key = keys_.find(std::string_view(data.attribute("key").value()));
      auto const name = key == keys_.end() ? std::string(data.attribute("key").value()) : key->second;
      found[known_as(name)] = data.text().get();
    }
    return found;
  }

  [[noreturn]] void fail(std::string const& element, std::string const& what) const {
    throw UserError(where_ + ": " + element + ": " + what);
  }

  std::uint64_t number(Values const& v, std::string_view key, std::uint64_t fallback, std::uint64_t most,
                       std::string const& element) const {
    auto const it = v.find(key);
    if (it == v.end() || it->second.empty()) return fallback;
    std::uint64_t result = 0;
    bool good = it->second.size() <= 19;
    for (char c : it->second) {
      good = good && c >= '0' && c <= '9';
      if (good) result = result * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (!good || result > most) {
      fail(element, std::string(key) + " is '" + shown(it->second) +
                        "', but it must be a whole number of at most " + std::to_string(most));
    }
    return result;
  }

  template <class Parse>
  auto quantity(Values const& v, std::string_view key, Parse parse, std::string const& element) const
      -> std::optional<decltype(parse(std::string_view{}))> {
    auto const it = v.find(key);
    if (it == v.end() || it->second.empty()) return std::nullopt;
    try {
      return parse(it->second);
    } catch (std::exception const& error) {
      fail(element, std::string(key) + " is '" + shown(it->second) + "': " + error.what());
    }
  }

  void read_node(pugi::xml_node element) {
    MachineNode node;
    node.name = element.attribute("id").value();
    auto const text = "node '" + shown(node.name) + "'";
    auto const v = values(element);
    if (element.child("graph") && decide("nested graph", {}, 0, {}) == ImportAs::refused)
      fail(text, "a nested <graph> is not supported");
    auto const kind = v.find("kind");
    auto const import_as =
        decide("node", kind == v.end() ? "" : lower(kind->second), 0, "'" + shown(node.name) + "'");
    if (import_as == ImportAs::refused) {
      fail(text, (kind == v.end() ? "it has no kind" : "its kind is '" + shown(kind->second) + "'") +
                     "; expected gpu, cpu, pcie_switch, nvswitch, nic or network_switch");
    }
    node.kind = node_kind(import_as);
    if (v.contains("numa") && v.find("numa")->second != "-1") {
      node.numa = static_cast<int>(number(v, "numa", 0, 1'000'000, text));
    }
    node.sm_count = static_cast<std::uint32_t>(number(v, "sm_count", 0, 100'000, text));
    if (v.contains("machine") && v.find("machine")->second == "-1")
      node.machine = kShared;
    else
      node.machine = static_cast<int>(number(v, "machine", 0, kMaxNodes, text));
    if (auto const model = v.find("model"); model != v.end()) node.model = model->second;
    if (node.kind == NodeKind::nic)
      node.bandwidth = quantity(v, "bandwidth", parse_bandwidth, text).value_or(Bandwidth{});
    auto const name = node.name;
    if (!index_.try_emplace(name, builder_.add_node(std::move(node))).second)
      fail(text, "a second node has this id");
  }

  static std::string lower(std::string text) {
    for (auto& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
  }

  std::uint32_t end(pugi::xml_node edge, char const* which, std::string const& text, std::uint32_t other) {
    std::string const name = edge.attribute(which).value();
    auto const it = index_.find(name);
    auto const there = it != index_.end();
    auto const facts = (there ? kThere : 0U) | (there && it->second == other ? kSelf : 0U);
    if (decide("edge end", {}, facts, {}) != ImportAs::refused) return it->second;
    fail(text, there ? "its source and target are the same node"
                     : std::string("its ") + which + " is not a node of the graph");
  }

  void read_edge(pugi::xml_node element) {
    auto const text = "edge '" + shown(element.attribute("source").value()) + "' - '" +
                      shown(element.attribute("target").value()) + "'";
    auto const a = end(element, "source", text, UINT32_MAX);
    auto const b = end(element, "target", text, a);
    auto const v = values(element);
    auto const kind = v.find("kind");
    auto const import_as = decide("edge", kind == v.end() ? "" : lower(kind->second), 0, text);
    if (import_as == ImportAs::refused) {
      fail(text, (kind == v.end() ? "it has no kind" : "its kind is '" + shown(kind->second) + "'") +
                     "; expected pcie, nvlink, xgmi, cpu_interconnect or network");
    }
    std::optional<LinkKind> const known = link_kind(import_as);
    auto const count = static_cast<std::uint32_t>(number(v, "count", 1, kMaxParallelLinks, text));
    auto const latency = quantity(v, "latency", parse_duration, text);
    auto const both = quantity(v, "bandwidth", parse_bandwidth, text);
    auto const of_nic =
        *known == LinkKind::network ? builder_.machine().nic_bandwidth(a, b) : std::optional<Bandwidth>{};
    auto const of_both = both ? both : of_nic;
    auto const bandwidth = [&](char const* direction) {
      auto const own = quantity(v, direction, parse_bandwidth, text);
      return own ? *own : of_both.value_or(defaults_.bandwidth(*known));
    };
    auto const forward = bandwidth("forward"), backward = bandwidth("backward");
    if (count == 0 || forward.bytes_per_second == 0 || backward.bytes_per_second == 0)
      fail(text, "its bandwidth or count is 0");
    if (!latency) tally_.no_latency(*known, count);
    if (!both && !of_nic && !v.contains("forward") && !v.contains("backward"))
      tally_.no_bandwidth(*known, count);
    std::string_view const own_direction = element.attribute("directed").value();
    bool const directed = own_direction.empty() ? directed_ : own_direction == "true";
    if (!directed) {
      builder_.add_link(a, b, *known, latency.value_or(defaults_.latency(*known)), forward, backward, count);
      return;
    }
    auto const direction = a < b ? 0U : 1U;
    auto& half = halves_[{std::min(a, b), std::max(a, b), *known}];
    half.latency = std::min(half.latency, latency.value_or(defaults_.latency(*known)));
    half.bandwidth[direction] = std::max(half.bandwidth[direction], forward);
    if (half.count[direction] > kMaxParallelLinks) fail(text, "too many parallel edges");
    half.count[direction] += count;
  }

  void finish_half(Key const& key, Half half) {
    auto const& [a, b, kind] = key;
    auto const& nodes = builder_.machine().nodes;
    bool const both = half.count[0] != 0 && half.count[1] != 0;
    if (decide("directed edge", {}, both ? kRepeated : 0U,
               "'" + shown(nodes[a].name) + "' - '" + shown(nodes[b].name) + "'") == ImportAs::assumed) {
      auto const there = half.count[0] == 0 ? 1U : 0U;
      half.bandwidth[1 - there] = half.bandwidth[there];
      half.count[1 - there] = half.count[there];
    }
    builder_.add_link(a, b, kind, half.latency, half.bandwidth[0], half.bandwidth[1],
                      std::max(half.count[0], half.count[1]));
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_;
  Values keys_;
  std::map<std::string, Values, std::less<>> defaults_of_;  // of nodes and of edges
  std::map<std::string, std::uint32_t, std::less<>> index_;
  std::map<Key, Half> halves_;
  LinkTally tally_;
  Decisions decisions_;
  bool directed_ = false;
};

void add_data(pugi::xml_node element, char const* key, std::string const& value) {
  auto data = element.append_child("data");
  data.append_attribute("key") = key;
  data.text() = value.c_str();
}

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  pugi::xml_document document;
  parse_xml(document, text, where);
  return Reader(where, defaults, limits).read(document.child("graphml"));
}

}  // namespace

MachineFormat graphml_format() {
  return {"graphml", "GraphML (<graphml>)",
          [](std::string_view text) { return xml_root_name(text) == "graphml"; }, parse};
}

std::string write_graphml(Machine const& machine) {
  static constexpr char const* kKeys[][3] = {
      {"node_kind", "node", "kind"},    {"numa", "node", "numa"},
      {"sm_count", "node", "sm_count"}, {"model", "node", "model"},
      {"machine", "node", "machine"},   {"nic_bandwidth", "node", "bandwidth"},
      {"edge_kind", "edge", "kind"},    {"latency", "edge", "latency"},
      {"forward", "edge", "forward"},   {"backward", "edge", "backward"},
      {"count", "edge", "count"}};
  pugi::xml_document document;
  auto root = document.append_child("graphml");
  root.append_attribute("xmlns") = "http://graphml.graphdrawing.org/xmlns";
  for (auto const& [id, element, name] : kKeys) {
    auto key = root.append_child("key");
    key.append_attribute("id") = id;
    key.append_attribute("for") = element;
    key.append_attribute("attr.name") = name;
    key.append_attribute("attr.type") = "string";
  }
  auto graph = root.append_child("graph");
  graph.append_attribute("id") = machine.name.c_str();
  graph.append_attribute("edgedefault") = "undirected";
  for (auto const& node : machine.nodes) {
    auto element = graph.append_child("node");
    element.append_attribute("id") = node.name.c_str();
    add_data(element, "node_kind", std::string(name_of(node.kind)));
    if (node.numa >= 0) add_data(element, "numa", std::to_string(node.numa));
    if (node.sm_count > 0) add_data(element, "sm_count", std::to_string(node.sm_count));
    if (!node.model.empty()) add_data(element, "model", node.model);
    if (node.machine != 0) add_data(element, "machine", std::to_string(node.machine));
    if (node.bandwidth != Bandwidth{}) add_data(element, "nic_bandwidth", to_text(node.bandwidth));
  }
  for (auto const& link : machine.links) {
    auto element = graph.append_child("edge");
    element.append_attribute("source") = machine.nodes[link.a].name.c_str();
    element.append_attribute("target") = machine.nodes[link.b].name.c_str();
    add_data(element, "edge_kind", std::string(name_of(link.kind)));
    add_data(element, "latency", to_text(link.latency));
    add_data(element, "forward", to_text(Bandwidth{link.forward.bytes_per_second / link.count}));
    add_data(element, "backward", to_text(Bandwidth{link.backward.bytes_per_second / link.count}));
    if (link.count != 1) add_data(element, "count", std::to_string(link.count));
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace farfault::topologies
