// SPDX-License-Identifier: Apache-2.0
// Builds machines for importers and generators: merges parallel links, and checks the limits as the machine
// grows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "farfault/engine/input_limits.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

class MachineBuilder {
 public:
  // `name` is the machine's name unless the file gives one; messages about limits begin with it.
  MachineBuilder(std::string name, std::string format, InputLimits const& limits);
  // For generators, whose parameters bound the size of a machine.
  MachineBuilder(std::string name, std::string format);

  std::uint32_t add_node(MachineNode node);

  // `forward` (a to b) and `backward` are bandwidths of one physical link; `count` of these links are added.
  // A link of the same kind between the same nodes is merged: bandwidths are added, and the smaller latency
  // is kept.
  void add_link(std::uint32_t a, std::uint32_t b, LinkKind kind, Duration latency, Bandwidth forward,
                Bandwidth backward, std::uint32_t count = 1);

  // Reserves room for `links` more links; throws UserError if they exceed the limit.
  void expect_links(std::uint64_t links);

  void assume(std::string sentence);  // the same sentence is listed once

  // Records the id of an import rule that was used, for tests.
  void decided(std::string_view rule) { decisions_.emplace_back(rule); }
  std::vector<std::string> const& decisions() const { return decisions_; }

  Machine& machine() { return machine_; }

  // Validates the machine and returns it; error messages begin with `where`.
  Machine finish(std::string const& where);

 private:
  Machine machine_;
  std::string source_;
  InputLimits limits_;
  std::uint64_t name_bytes_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> merged_;  // nodes and kind -> index in machine_.links
  std::unordered_set<std::string> said_;
  std::vector<std::string> decisions_;
};

}  // namespace farfault::topologies
