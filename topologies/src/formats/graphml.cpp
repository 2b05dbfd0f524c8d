// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/graphml.hpp"

#include <map>
#include <optional>
#include <sstream>

#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "link_tally.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, InputLimits const& limits)
      : where_(where), defaults_(defaults), builder_(where, "graphml", limits) {}

  MachineBuilder read(pugi::xml_node graphml) {
    for (auto key : graphml.children("key"))
      keys_[key.attribute("id").value()] = key.attribute("attr.name").value();
    auto const graph = graphml.child("graph");
    if (!graph) throw UserError(where_ + ": <graphml> holds no <graph>");
    if (std::string_view const id = graph.attribute("id").value(); !id.empty()) builder_.machine().name = id;
    directed_ = std::string_view(graph.attribute("edgedefault").value()) == "directed";
    for (auto node : graph.children("node")) read_node(node);
    for (auto edge : graph.children("edge")) read_edge(edge);
    for (auto const& [key, half] : halves_) finish_half(key, half);
    tally_.note_defaults(builder_, defaults_);
    return std::move(builder_);
  }

 private:
  using Values = std::map<std::string, std::string, std::less<>>;
  using Key = std::tuple<std::uint32_t, std::uint32_t, LinkKind>;  // ascending nodes

  struct Half {  // of a directed graph: what has been read of one pair of nodes
    Duration latency = kLongestLatency;
    Bandwidth bandwidth[2];  // towards the higher node index, towards the lower
    std::uint32_t count[2] = {0, 0};
  };

  Values values(pugi::xml_node element) const {
    Values found;
    for (auto data : element.children("data")) {
      auto const key = keys_.find(std::string_view(data.attribute("key").value()));
      auto const& name = key == keys_.end() ? std::string(data.attribute("key").value()) : key->second;
      found[name == "type" ? "kind" : name] = data.text().get();
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
    auto const kind = v.find("kind");
    auto const known = kind == v.end() ? std::nullopt : node_kind_of(kind->second);
    if (!known) {
      fail(text, (kind == v.end() ? "it has no kind" : "its kind is '" + shown(kind->second) + "'") +
                     ", but it must be gpu, cpu, pcie_switch, nvswitch, nic or network_switch");
    }
    node.kind = *known;
    if (v.contains("numa") && v.find("numa")->second != "-1") {
      node.numa = static_cast<int>(number(v, "numa", 0, 1'000'000, text));
    }
    node.sm_count = static_cast<std::uint32_t>(number(v, "sm_count", 0, 100'000, text));
    if (v.contains("machine") && v.find("machine")->second == "-1")
      node.machine = kShared;
    else
      node.machine = static_cast<int>(number(v, "machine", 0, kMostNodes, text));
    if (auto const model = v.find("model"); model != v.end()) node.model = model->second;
    auto const name = node.name;
    if (!index_.try_emplace(name, builder_.add_node(std::move(node))).second)
      fail(text, "a second node has this id");
  }

  std::uint32_t end(pugi::xml_node edge, char const* which, std::string const& text) const {
    std::string const name = edge.attribute(which).value();
    auto const it = index_.find(name);
    if (it == index_.end()) fail(text, std::string("its ") + which + " is no node of the graph");
    return it->second;
  }

  void read_edge(pugi::xml_node element) {
    auto const text = "edge '" + shown(element.attribute("source").value()) + "' - '" +
                      shown(element.attribute("target").value()) + "'";
    auto const a = end(element, "source", text);
    auto const b = end(element, "target", text);
    if (a == b) fail(text, "it joins a node to itself");
    auto const v = values(element);
    auto const kind = v.find("kind");
    auto const known = kind == v.end() ? std::nullopt : link_kind_of(kind->second);
    if (!known) {
      fail(text, (kind == v.end() ? "it has no kind" : "its kind is '" + shown(kind->second) + "'") +
                     ", but it must be pcie, nvlink, xgmi, cpu_interconnect or network");
    }
    auto const count = static_cast<std::uint32_t>(number(v, "count", 1, kMostParallelLinks, text));
    auto const latency = quantity(v, "latency", parse_duration, text);
    auto const both = quantity(v, "bandwidth", parse_bandwidth, text);
    auto const fallback = both.value_or(defaults_.bandwidth(*known));
    auto const forward = quantity(v, "forward", parse_bandwidth, text).value_or(fallback);
    auto const backward = quantity(v, "backward", parse_bandwidth, text).value_or(fallback);
    if (count == 0 || forward.bytes_per_second == 0 || backward.bytes_per_second == 0)
      fail(text, "it has no bandwidth");
    if (!latency) tally_.no_latency(*known, count);
    if (!both && !v.contains("forward") && !v.contains("backward")) tally_.no_bandwidth(*known, count);
    if (!directed_) {
      builder_.add_link(a, b, *known, latency.value_or(defaults_.latency(*known)), forward, backward, count);
      return;
    }
    auto const direction = a < b ? 0U : 1U;
    auto& half = halves_[{std::min(a, b), std::max(a, b), *known}];
    half.latency = std::min(half.latency, latency.value_or(defaults_.latency(*known)));
    half.bandwidth[direction] = std::max(half.bandwidth[direction], forward);
    if (half.count[direction] > kMostParallelLinks) fail(text, "too many parallel edges");
    half.count[direction] += count;
  }

  void finish_half(Key const& key, Half half) {
    auto const& [a, b, kind] = key;
    if (half.count[0] == 0 || half.count[1] == 0) {
      auto const there = half.count[0] == 0 ? 1U : 0U;
      half.bandwidth[1 - there] = half.bandwidth[there];
      half.count[1 - there] = half.count[there];
      builder_.assume(
          "some directed edges have no partner: the same bandwidth is assumed for the other direction");
    }
    builder_.add_link(a, b, kind, half.latency, half.bandwidth[0], half.bandwidth[1],
                      std::max(half.count[0], half.count[1]));
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder builder_;
  Values keys_;
  std::map<std::string, std::uint32_t, std::less<>> index_;
  std::map<Key, Half> halves_;
  LinkTally tally_;
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
  static constexpr char const* kKeys[][3] = {{"node_kind", "node", "kind"},    {"numa", "node", "numa"},
                                             {"sm_count", "node", "sm_count"}, {"model", "node", "model"},
                                             {"machine", "node", "machine"},   {"edge_kind", "edge", "kind"},
                                             {"latency", "edge", "latency"},   {"forward", "edge", "forward"},
                                             {"backward", "edge", "backward"}, {"count", "edge", "count"}};
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
