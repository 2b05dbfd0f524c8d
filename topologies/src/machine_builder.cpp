#include "machine_builder.hpp"

#include <algorithm>
#include <limits>

namespace farfault::topologies {
namespace {

// Saturates: validate() then refuses the bandwidth.
Bandwidth times(Bandwidth b, std::uint32_t n) {
  auto const most = std::numeric_limits<std::uint64_t>::max();
  if (n != 0 && b.bytes_per_second > most / n) return {most};
  return {b.bytes_per_second * n};
}

Bandwidth sum(Bandwidth a, Bandwidth b) {
  auto const most = std::numeric_limits<std::uint64_t>::max();
  return {a.bytes_per_second > most - b.bytes_per_second ? most : a.bytes_per_second + b.bytes_per_second};
}

}  // namespace

std::uint32_t MachineBuilder::add_node(MachineNode node) {
  machine_.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(machine_.nodes.size() - 1);
}

void MachineBuilder::add_link(std::uint32_t a, std::uint32_t b, LinkKind kind, Duration latency,
                              Bandwidth forward, Bandwidth backward, std::uint32_t count) {
  auto const [it, added] = merged_.try_emplace({std::min(a, b), std::max(a, b), kind},
                                               static_cast<std::uint32_t>(machine_.links.size()));
  if (added) {
    machine_.links.push_back({a, b, kind, latency, times(forward, count), times(backward, count), count});
    return;
  }
  auto& link = machine_.links[it->second];
  if (link.a != a) std::swap(forward, backward);
  link.latency = std::min(link.latency, latency);
  link.forward = sum(link.forward, times(forward, count));
  link.backward = sum(link.backward, times(backward, count));
  link.count = count > kMostParallelLinks ? count : link.count + count;
}

void MachineBuilder::assume(std::string sentence) {
  auto& said = machine_.assumed;
  if (std::ranges::find(said, sentence) == said.end()) said.push_back(std::move(sentence));
}

Machine MachineBuilder::finish(std::string const& where) {
  validate(machine_, where);
  return std::move(machine_);
}

}  // namespace farfault::topologies
