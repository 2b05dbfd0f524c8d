// SPDX-License-Identifier: Apache-2.0
#include "machine_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "farfault/cli/readable.hpp"
#include "process/counted.hpp"

namespace farfault::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxGpus = 64;      // maximum that is drawn individually
constexpr std::size_t kMaxMachines = 24;  // groups of machines, and of each kind of node
constexpr std::size_t kMaxOfAKind = 16;

std::string text_of(Json const& field) {
  return field.get<std::string>();
}

// The group of each node, and the first and last name of each group.
struct Groups {
  std::vector<std::size_t> of_node;
  struct Group {
    std::string kind;
    std::string first, last;
    std::map<std::string, std::size_t> kinds;  // number of nodes by kind
    std::vector<std::size_t> gpus;             // their numbers
    std::size_t links = 0;                     // links inside the group
    double busiest = 0;
  };
  std::vector<Group> groups;
};

Groups group_nodes(Json const& nodes) {
  Groups g;
  std::map<std::string, std::size_t> of_kind, seen, machines;
  std::size_t gpus = 0;
  for (auto const& node : nodes) {
    auto const machine = text_of(node[2]);
    if (!machine.empty()) machines.emplace(machine, machines.size());
    // Nodes outside all machines of a cluster are counted separately.
    ++of_kind[text_of(node[1])];
    gpus += text_of(node[1]) == "gpu";
  }
  bool const one_by_one = gpus <= kMaxGpus;
  auto const block = [](std::size_t count, std::size_t most) { return (count + most - 1) / most; };
  std::map<std::pair<std::string, std::size_t>, std::size_t> known;
  for (auto const& node : nodes) {
    auto const name = text_of(node[0]), kind = text_of(node[1]), machine = text_of(node[2]);
    bool const by_machine = !machine.empty() && machines.size() > 1;
    auto const number = seen[kind]++;
    std::pair<std::string, std::size_t> const key =
        one_by_one ? std::pair(std::string(), g.of_node.size())
        : by_machine
            ? std::pair(std::string("machine"), machines[machine] / block(machines.size(), kMaxMachines))
            : std::pair(kind, number / block(of_kind[kind], kMaxOfAKind));
    auto const [found, is_new] = known.emplace(key, g.groups.size());
    auto const& shown_name = !one_by_one && by_machine ? machine : name;
    if (is_new)
      g.groups.push_back({.kind = !one_by_one && by_machine ? "machine" : kind,
                          .first = shown_name,
                          .last = shown_name,
                          .kinds = {},
                          .gpus = {}});
    auto& group = g.groups[found->second];
    group.last = shown_name;
    ++group.kinds[kind];
    if (kind == "gpu") group.gpus.push_back(number);
    g.of_node.push_back(found->second);
  }
  return g;
}

struct Together {
  std::size_t links = 0;
  std::size_t used = 0;
  double sum = 0;
  double most = 0;
  double bytes = 0;
  std::vector<std::size_t> uses;  // rows of link_use
  std::string kind;
};

std::string percent(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

// Utilization over time of the busiest of these links; null unless it is known for all of them at the same
// times.
Json busiest_over_time(Json const& uses, std::vector<std::size_t> const& rows) {
  constexpr double kSteps = 9999;
  std::vector<double> most;
  Json clock;
  for (auto const row : rows) {
    if (!uses[row].contains("over_time")) return {};
    auto const& over_time = uses[row]["over_time"];
    if (rows.size() == 1) return over_time;
    if (clock.is_null()) clock = over_time["clock"];
    if (clock != over_time["clock"]) return {};
    auto const& values = over_time["values"];
    most.resize(std::max(most.size(), values.size()), 0.0);
    for (std::size_t k = 0; k < values.size(); ++k)
      if (values[k].is_number())
        most[k] = std::max(most[k], values[k].get<double>() * over_time["scale"].get<double>());
  }
  auto const scale = most.empty() ? 0.0 : *std::ranges::max_element(most) / kSteps;
  auto steps = Json::array();
  for (auto const v : most) steps.push_back(scale == 0 ? 0 : std::lround(v / scale));
  return {{"scale", scale}, {"values", std::move(steps)}, {"clock", clock}};
}

std::string node_text(Groups::Group const& g) {
  std::string text = g.first == g.last ? g.first : g.first + " to " + g.last;
  std::size_t all = 0;
  for (auto const& [kind, count] : g.kinds) all += count;
  if (all == 1) return text + " (" + g.kind + ")";
  text += ":";
  for (auto const& [kind, count] : g.kinds) text += fmt::format(" {} {}", count, kind);
  if (g.links != 0)
    text += fmt::format("; {} inside, the busiest {}", counted(g.links, "link"), percent(g.busiest));
  return text;
}

}  // namespace

MachineGraph machine_graph(Json const& run) {
  MachineGraph graph;
  auto const& nodes = run["nodes"];
  auto groups = group_nodes(nodes);
  auto const& links = run["links"];
  std::map<std::pair<std::size_t, std::size_t>, Together> between;
  for (auto const& link : links) {
    auto const a = groups.of_node[link[0].get<std::size_t>()], b = groups.of_node[link[1].get<std::size_t>()];
    if (a == b) {
      ++groups.groups[a].links;
      continue;
    }
    for (auto const& ends : {std::pair(a, b), std::pair(b, a)}) {
      auto& t = between[ends];
      ++t.links;
      t.kind = text_of(link[2]);
    }
  }
  auto const& uses = run.contains("link_use") ? run["link_use"] : Json::array();
  for (std::size_t row = 0; row < uses.size(); ++row) {
    auto const& use = uses[row];
    auto const number = use["link"].get<std::size_t>();
    if (number >= links.size()) continue;
    auto a = links[number][0].get<std::size_t>(), b = links[number][1].get<std::size_t>();
    if (text_of(nodes[a][0]) != text_of(use["from"])) std::swap(a, b);
    auto const busy = use["busy"].get<double>();
    a = groups.of_node[a];
    b = groups.of_node[b];
    if (a == b) {
      groups.groups[a].busiest = std::max(groups.groups[a].busiest, busy);
      continue;
    }
    auto& t = between[{a, b}];
    ++t.used;
    t.sum += busy;
    t.most = std::max(t.most, busy);
    t.bytes += use["bytes"].get<double>();
    t.uses.push_back(row);
  }
  for (auto const& g : groups.groups) {
    DrawnNode node;
    node.label = g.first == g.last ? g.first : g.first + " ... " + g.last;
    node.kind = g.kind;
    node.text = node_text(g);
    node.gpus = g.gpus;
    graph.nodes.push_back(std::move(node));
  }
  for (auto const& [ends, t] : between) {
    DrawnLink link;
    link.from = ends.first;
    link.to = ends.second;
    link.text = graph.nodes[link.from].label + " to " + graph.nodes[link.to].label + ": " + t.kind;
    if (t.links > 1) link.text += fmt::format(", {} links", t.links);
    if (t.used != 0) {
      link.busy = t.most;
      link.text +=
          fmt::format(", {}{} busy, {}B sent", t.used > 1 ? "the busiest " : "", percent(t.most),
                      for_people(t.bytes) + (for_people(t.bytes).find(' ') == std::string::npos ? " " : ""));
      if (t.used > 1) link.text += ", " + percent(t.sum / static_cast<double>(t.used)) + " on average";
      auto busiest = busiest_over_time(uses, t.uses);
      if (!busiest.is_null()) {
        link.use = graph.over_time.size();
        graph.over_time.push_back(std::move(busiest));
      }
    }
    graph.links.push_back(std::move(link));
  }
  lay_out(graph);
  return graph;
}

}  // namespace farfault::cli
