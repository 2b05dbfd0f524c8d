// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/description.hpp"

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/routing.hpp"

namespace farfault::topologies {
namespace {

// Beyond this many (node or link, destination) pairs a summary of routes takes too long.
constexpr std::uint64_t kMaxSteps = 1ULL << 25U;
// All pairs of GPUs up to this many; beyond, only the routes from the first GPU.
constexpr std::size_t kMaxSources = 256;
constexpr std::size_t kMaxListedNodes = 512;

using Json = nlohmann::ordered_json;

// As text; invalid UTF-8 in a name from a file becomes U+FFFD.
std::string text_of(Json const& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Kinds, class Count>
Json counts(Kinds const& kinds, Count count) {
  auto object = Json::object();
  for (auto kind : kinds) object[std::string(name_of(kind))] = count(kind);
  return object;
}

// Graphviz quotes like JSON.
std::string in_quotes(std::string const& text) {
  return text_of(text);
}

std::string both_ways(MachineLink const& link) {
  auto text = to_text(link.forward);
  if (link.backward != link.forward) text += " forward, " + to_text(link.backward) + " back";
  return text;
}

std::string routes_text(Machine const& m) {
  auto const gpus = m.nodes_of(NodeKind::gpu);
  auto const ends = gpus.size() + m.count(NodeKind::cpu) + m.count(NodeKind::nic);
  if (gpus.size() < 2) return "routes between GPUs: none (one GPU)\n";
  if (ends * (m.nodes.size() + m.links.size()) > kMaxSteps)
    return "routes between GPUs: too many to summarize\n";
  Routes const routes(m);
  std::map<std::tuple<std::uint32_t, Duration, Bandwidth>, std::uint64_t> classes;
  auto const all = gpus.size() <= kMaxSources;
  for (auto from : gpus) {
    for (auto to : gpus) {
      if (from == to) continue;
      auto const sum = summarize(m, routes.path(from, to));
      ++classes[{sum.hops, sum.latency, sum.bottleneck}];
    }
    if (!all) break;
  }
  std::string out =
      all ? "routes between GPUs (ordered pairs):\n" : "routes from the first GPU to the others:\n";
  for (auto const& [key, count] : classes) {
    auto const& [hops, latency, bottleneck] = key;
    out += "  " + std::to_string(count) + " of " + std::to_string(hops) +
           (hops == 1 ? " link, " : " links, ") + to_text(latency) + ", bottleneck " + to_text(bottleneck) +
           "\n";
  }
  return out;
}

// The content of each machine in a cluster. Equal machines share a line.
std::string machines_text(Machine const& m) {
  if (m.machines() == 1) return {};
  std::vector<std::array<std::uint64_t, kNodeKinds.size()>> has(m.machines());
  for (auto const& node : m.nodes)
    if (node.machine >= 0) ++has[static_cast<std::size_t>(node.machine)][static_cast<std::size_t>(node.kind)];
  auto out = "  in " + std::to_string(m.machines()) +
             " machines, each with a host and a driver unless memory.scope joins them:\n";
  for (std::size_t first = 0, next = 0; first < has.size(); first = next) {
    while (next < has.size() && has[next] == has[first]) ++next;
    out += "    " + machine_name(static_cast<int>(first));
    if (next - first > 1) out += " to " + machine_name(static_cast<int>(next - 1));
    char const* before = ": ";
    for (auto kind : kNodeKinds) {
      auto const n = has[first][static_cast<std::size_t>(kind)];
      if (n == 0) continue;
      out += before + std::to_string(n) + " " + std::string(name_of(kind));
      before = ", ";
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string describe_text(Machine const& m) {
  std::string out = "machine " + shown(m.name) + " (" + m.format + "): " + std::to_string(m.nodes.size()) +
                    " nodes, " + std::to_string(m.links.size()) + " links\n";
  out += "nodes:\n";
  for (auto kind : kNodeKinds)
    if (auto const n = m.count(kind))
      out += "  " + std::to_string(n) + " " + std::string(name_of(kind)) + "\n";
  out += machines_text(m);
  if (m.nodes.size() <= kMaxListedNodes) {
    for (auto const& node : m.nodes) {
      out += "    " + shown(node.name) + " (" + std::string(name_of(node.kind));
      if (node.numa >= 0) out += ", NUMA node " + std::to_string(node.numa);
      if (m.machines() > 1 && node.machine >= 0) out += ", machine " + machine_name(node.machine);
      if (node.sm_count > 0) out += ", " + std::to_string(node.sm_count) + " SMs";
      if (node.bandwidth != Bandwidth{}) out += ", " + to_text(node.bandwidth);
      out += (node.model.empty() ? "" : ", " + shown(node.model)) + ")\n";
    }
  }
  // Equal links share a line: a machine has hundreds of links of a few kinds.
  std::map<std::tuple<LinkKind, std::uint32_t, Duration, std::string>, std::uint64_t> sorts;
  for (auto const& link : m.links) ++sorts[{link.kind, link.count, link.latency, both_ways(link)}];
  out += "links:\n";
  for (auto const& [key, pairs] : sorts) {
    auto const& [kind, count, latency, bandwidth] = key;
    out += "  " + std::to_string(pairs) + " " + std::string(name_of(kind));
    if (count > 1) out += " of " + std::to_string(count) + " in parallel";
    out += ": " + to_text(latency) + ", " + bandwidth + "\n";
  }
  out += routes_text(m);
  out += m.assumed.empty() ? "assumed: nothing\n" : "assumed:\n";
  for (auto const& sentence : m.assumed) out += "  " + one_line(sentence) + "\n";
  return out;
}

std::string describe_json(Machine const& m) {
  Json json = {{"kind", "topology"},
               {"format", m.format},
               {"name", m.name},
               {"nodes", counts(kNodeKinds, [&](NodeKind kind) { return m.count(kind); })},
               {"links", counts(kLinkKinds, [&](LinkKind kind) { return m.count(kind); })},
               {"pairs", counts(kLinkKinds, [&](LinkKind kind) { return m.pairs(kind); })},
               {"assumed", m.assumed}};
  if (m.machines() > 1) json["machines"] = m.machines();
  return text_of(json);
}

std::string describe_dot(Machine const& m) {
  static constexpr std::array<char const*, kNodeKinds.size()> kShapes = {
      "box", "doubleoctagon", "ellipse", "hexagon", "cds", "diamond"};
  std::string out = "graph " + in_quotes(m.name) + " {\n";
  for (auto const& node : m.nodes)
    out += "  " + in_quotes(node.name) + " [shape=" + kShapes[static_cast<std::size_t>(node.kind)] + "];\n";
  for (auto const& link : m.links) {
    auto label = std::string(name_of(link.kind)) + " " + to_text(link.latency) + " " + both_ways(link);
    if (link.count > 1) label += " (" + std::to_string(link.count) + " links)";
    out += "  " + in_quotes(m.nodes[link.a].name) + " -- " + in_quotes(m.nodes[link.b].name) +
           " [label=" + in_quotes(label) + "];\n";
  }
  return out + "}\n";
}

}  // namespace farfault::topologies
