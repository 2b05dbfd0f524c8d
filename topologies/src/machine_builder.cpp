// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/machine_builder.hpp"

#include <algorithm>
#include <limits>

#include "farfault/engine/error.hpp"
#include "link_key.hpp"

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

MachineBuilder::MachineBuilder(std::string name, std::string format, InputLimits const& limits)
    : source_(name), limits_(limits.of_this_machine()) {
  machine_.name = std::move(name);
  machine_.format = std::move(format);
}

MachineBuilder::MachineBuilder(std::string name, std::string format)
    : MachineBuilder(std::move(name), std::move(format), [] {
        InputLimits limits;
        limits.names = InputLimits::kMaxBytes;
        limits.nodes = InputLimits::kMaxNodes;
        limits.links = InputLimits::kMaxLinks;
        return limits;
      }()) {}

std::uint32_t MachineBuilder::add_node(MachineNode node) {
  if (machine_.nodes.size() >= limits_.nodes)
    throw UserError(source_ + ": there are more nodes than " + limit_text("nodes", limits_.nodes));
  name_bytes_ += node.name.size() + node.model.size();
  if (name_bytes_ > limits_.names.bytes)
    throw UserError(source_ + ": the names of the first " + std::to_string(machine_.nodes.size() + 1) +
                    " nodes take more than " + limit_text("names", limits_.names));
  machine_.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(machine_.nodes.size() - 1);
}

void MachineBuilder::add_link(std::uint32_t a, std::uint32_t b, LinkKind kind, Duration latency,
                              Bandwidth forward, Bandwidth backward, std::uint32_t count) {
  auto const [it, added] =
      merged_.try_emplace(link_key(a, b, kind), static_cast<std::uint32_t>(machine_.links.size()));
  if (added) {
    if (machine_.links.size() >= limits_.links)
      throw UserError(source_ + ": there are more links than " + limit_text("links", limits_.links));
    machine_.links.push_back({.a = a,
                              .b = b,
                              .kind = kind,
                              .latency = latency,
                              .forward = times(forward, count),
                              .backward = times(backward, count),
                              .count = count});
    return;
  }
  auto& link = machine_.links[it->second];
  if (link.a != a) std::swap(forward, backward);
  link.latency = std::min(link.latency, latency);
  link.forward = sum(link.forward, times(forward, count));
  link.backward = sum(link.backward, times(backward, count));
  link.count = count > kMaxParallelLinks ? count : link.count + count;
}

void MachineBuilder::expect_links(std::uint64_t links) {
  if (links > limits_.links - std::min<std::uint64_t>(limits_.links, machine_.links.size()))
    throw UserError(source_ + ": there are " + std::to_string(machine_.links.size() + links) +
                    " links, more than " + limit_text("links", limits_.links));
  machine_.links.reserve(machine_.links.size() + links);
  merged_.reserve(merged_.size() + links);
}

void MachineBuilder::assume(std::string sentence) {
  if (said_.insert(sentence).second) machine_.assumed.push_back(std::move(sentence));
}

Machine MachineBuilder::finish(std::string const& where) {
  if (machine_.name != source_ && machine_.name.size() > kLongestName)
    throw UserError(where + ": the machine's name, '" + shown(machine_.name) + "', has " +
                    std::to_string(machine_.name.size()) + " bytes, but it may have at most " +
                    std::to_string(kLongestName));
  validate(machine_, where);
  return std::move(machine_);
}

}  // namespace farfault::topologies
