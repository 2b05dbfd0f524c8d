// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <map>

#include "machine_graph.hpp"

namespace farfault::cli {
namespace {

constexpr double kWidth = 960;
constexpr std::size_t kMaxInARow = 32;
constexpr double kRow = 26;     // between rows of a tier
constexpr double kTier = 84;    // between tiers
constexpr double kMaxBow = 90;  // of a link within a tier
constexpr double kWidestNode = 96;
constexpr std::size_t kFar = 9;  // tiers of switches at most
constexpr int kSweeps = 6;

using Neighbours = std::vector<std::vector<std::size_t>>;

Neighbours neighbours_of(MachineGraph const& graph) {
  Neighbours all(graph.nodes.size());
  for (auto const& link : graph.links) all[link.from].push_back(link.to);
  return all;
}

// Distance of each node from the nearest node of a kind, in links; kFar at most.
std::vector<std::size_t> distance_from(MachineGraph const& graph, Neighbours const& neighbours,
                                       std::string const& kind) {
  std::vector<std::size_t> distance(graph.nodes.size(), kFar);
  std::deque<std::size_t> next;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].kind == kind) {
      distance[i] = 0;
      next.push_back(i);
    }
  for (; !next.empty(); next.pop_front())
    for (auto const n : neighbours[next.front()])
      if (distance[n] > distance[next.front()] + 1) {
        distance[n] = distance[next.front()] + 1;
        next.push_back(n);
      }
  return distance;
}

bool is_gpu_switch(std::string const& kind) {
  return kind == "nvswitch" || kind == "xgmi_switch";
}

void choose_tiers(MachineGraph& graph, Neighbours const& neighbours) {
  auto const from_cpu = distance_from(graph, neighbours, "cpu");
  auto const from_nic = distance_from(graph, neighbours, "nic");
  auto const from_machine = distance_from(graph, neighbours, "machine");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    auto& node = graph.nodes[i];
    constexpr std::size_t kNic = kFar + 1, kCpu = kFar + 2, kGpu = 2 * kFar + 3;
    if (node.kind == "gpu")
      node.tier = kGpu;
    else if (is_gpu_switch(node.kind))
      node.tier = kGpu + 1;
    else if (node.kind == "cpu" || node.kind == "machine")
      node.tier = kCpu;
    else if (node.kind == "nic")
      node.tier = kNic;
    else if (std::min(from_nic[i], from_machine[i]) < from_cpu[i])
      node.tier = kFar - std::min(from_nic[i], from_machine[i]);
    else
      node.tier = kCpu + std::min(from_cpu[i], kFar);
  }
  std::map<std::size_t, std::size_t> used;
  for (auto const& node : graph.nodes) used[node.tier] = 0;
  std::size_t number = 0;
  for (auto& entry : used) entry.second = number++;
  for (auto& node : graph.nodes) node.tier = used[node.tier];
}

using Tiers = std::vector<std::vector<std::size_t>>;

// Spreads the nodes evenly over the width, in the given order.
void spread(MachineGraph& graph, std::vector<std::size_t> const& tier) {
  auto const rows = (tier.size() + kMaxInARow - 1) / kMaxInARow;
  auto const in_a_row = (tier.size() + rows - 1) / rows;
  auto const room = kWidth / static_cast<double>(in_a_row);
  for (std::size_t place = 0; place < tier.size(); ++place) {
    auto& node = graph.nodes[tier[place]];
    // Placed one after the other, so that neighbours in the order stay close.
    node.width = std::min(kWidestNode, room - 4);
    auto const even = kWidth * (static_cast<double>(place) + 0.5) / static_cast<double>(tier.size());
    node.x = std::clamp(even, node.width / 2 + 1, kWidth - node.width / 2 - 1);
  }
}

void order(MachineGraph& graph, Neighbours const& neighbours, Tiers& tiers) {
  for (auto const& tier : tiers) spread(graph, tier);
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      auto& tier = tiers[sweep % 2 == 0 ? t : tiers.size() - 1 - t];
      std::map<std::size_t, double> middle;
      for (auto const i : tier) {
        auto sum = 0.0;
        auto count = 0.0;
        for (auto const n : neighbours[i])
          if (graph.nodes[n].tier != graph.nodes[i].tier) {
            sum += graph.nodes[n].x;
            ++count;
          }
        middle[i] = count == 0 ? graph.nodes[i].x : sum / count;
      }
      std::ranges::stable_sort(tier,
                               [&](std::size_t a, std::size_t b) { return middle[a] + 1e-6 < middle[b]; });
      spread(graph, tier);
    }
}

}  // namespace

void lay_out(MachineGraph& graph) {
  graph.width = kWidth;
  if (graph.nodes.empty()) return;
  auto const neighbours = neighbours_of(graph);
  choose_tiers(graph, neighbours);
  Tiers tiers;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    tiers.resize(std::max(tiers.size(), graph.nodes[i].tier + 1));
    tiers[graph.nodes[i].tier].push_back(i);
  }
  order(graph, neighbours, tiers);
  std::vector<bool> bows(tiers.size(), false);
  for (auto const& link : graph.links)
    if (graph.nodes[link.from].tier == graph.nodes[link.to].tier) bows[graph.nodes[link.from].tier] = true;
  auto y = 24.0;
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    auto const rows = (tiers[t].size() + kMaxInARow - 1) / kMaxInARow;
    for (std::size_t place = 0; place < tiers[t].size(); ++place)
      graph.nodes[tiers[t][place]].y = y + kRow * static_cast<double>(place % rows);
    y += kRow * static_cast<double>(rows - 1);
    bool const is_last = t + 1 == tiers.size();
    y += is_last ? (bows[t] ? kMaxBow : 24.0) : kTier + (bows[t] ? kMaxBow / 2 : 0.0);
  }
  graph.height = y;
}

}  // namespace farfault::cli
