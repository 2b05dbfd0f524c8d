// SPDX-License-Identifier: Apache-2.0
// What importers and generators build machines with: parallel links are merged, and what a file describes is
// held against the limits as it grows.
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
  // `name` is the machine's until the file gives one, and opens the sentences about limits.
  MachineBuilder(std::string name, std::string format, InputLimits const& limits);
  // For generators, whose parameters say how large a machine is.
  MachineBuilder(std::string name, std::string format);

  std::uint32_t add_node(MachineNode node);

  // `forward` (a to b) and `backward` are those of one physical link; `count` of them are added. A link of
  // the same kind between the same nodes is widened by it and keeps the smaller of the two latencies.
  void add_link(std::uint32_t a, std::uint32_t b, LinkKind kind, Duration latency, Bandwidth forward,
                Bandwidth backward, std::uint32_t count = 1);

  // Throws UserError unless `links` more may come; makes room for them.
  void expect_links(std::uint64_t links);

  void assume(std::string sentence);  // the same sentence is listed once

  // Which rule of import was used, by its id; what an importer records for tests.
  void decided(std::string_view rule) { decisions_.emplace_back(rule); }
  std::vector<std::string> const& decisions() const { return decisions_; }

  Machine& machine() { return machine_; }

  // Validates the machine and returns it; `where` opens the error messages.
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
