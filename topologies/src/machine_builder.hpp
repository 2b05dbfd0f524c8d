// What importers and generators build machines with: names to indices, and parallel links merged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

class MachineBuilder {
 public:
  MachineBuilder(std::string name, std::string format) {
    machine_.name = std::move(name);
    machine_.format = std::move(format);
  }

  std::uint32_t add_node(MachineNode node);

  // `forward` (a to b) and `backward` are those of one physical link; `count` of them are added. A link of
  // the same kind between the same nodes is widened by it and keeps the smaller of the two latencies.
  void add_link(std::uint32_t a, std::uint32_t b, LinkKind kind, Duration latency, Bandwidth forward,
                Bandwidth backward, std::uint32_t count = 1);

  void assume(std::string sentence);  // says the same thing only once

  Machine& machine() { return machine_; }

  // Validates and hands out the machine; `where` opens the error messages.
  Machine finish(std::string const& where);

 private:
  Machine machine_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, LinkKind>, std::uint32_t> merged_;
};

}  // namespace farfault::topologies
