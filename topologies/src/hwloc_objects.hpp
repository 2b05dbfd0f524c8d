// SPDX-License-Identifier: Apache-2.0
// Private: data shared by the two halves of the hwloc importer. formats/hwloc_xml.cpp reads the objects,
// hwloc_matrices.cpp the matrices of bandwidths between them.
#pragma once

#include <cstdint>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine_builder.hpp"
#include "import_rules.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {

inline constexpr std::uint32_t kNoNode = UINT32_MAX;

struct HwlocObjects {
  std::string const& where;
  LinkDefaults const& defaults;
  MachineBuilder& builder;
  Decisions decisions = {};
  LinkTally tally = {};
  // By the name in a matrix: "PCIDev:581".
  std::map<std::string, std::uint32_t> devices = {};
  std::map<std::string, std::uint32_t> cpus = {};  // for a package and the objects around it
  std::set<std::string> in_matrices = {};          // objects that matrices of links name

  MachineNode& node(std::uint32_t index) { return builder.machine().nodes[index]; }
  std::string quoted(std::uint32_t index) { return "'" + node(index).name + "'"; }
  template <class Example = std::string>  // a text, or a function that returns one
  ImportAs decide(std::string_view element, std::string_view text, std::string_view detail,
                  std::uint32_t facts, Example const& example) {
    return decisions.decide(
        {.format = FileFormat::hwloc_xml, .element = element, .text = text, .detail = detail, .facts = facts},
        example);
  }
};

std::set<std::string> objects_of_matrices(pugi::xml_node topology);

// Adds the links that the matrices of a file state.
void join_hwloc_objects(HwlocObjects& objects, pugi::xml_node topology);

}  // namespace farfault::topologies
