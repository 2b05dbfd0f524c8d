// SPDX-License-Identifier: Apache-2.0
// An import rule and a file that triggers it. tests/topologies/import_rules_test.cpp runs all cases.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farfault::topologies {

struct ImportCase {
  std::string_view rule;
  std::string text;
  // Nodes and links of the resulting machine, "2 gpu, 1 cpu | 2 pcie", counting physical links; or the
  // refusal.
  std::string import_as;
  std::string assumed = {};  // sentence that inspect lists for the rule; empty: none
  std::string shows = {};    // output of inspect for a device or link that the rule decides
};

// By file.
namespace import_rules_nccl_test {
std::vector<ImportCase> cases();
}
namespace import_rules_hwloc_test {
std::vector<ImportCase> cases();
}
namespace import_rules_graph_test {  // GraphML and TOML
std::vector<ImportCase> cases();
}
namespace import_rules_cluster_test {  // ibnetdiscover, topograph
std::vector<ImportCase> cases();
}

}  // namespace farfault::topologies
