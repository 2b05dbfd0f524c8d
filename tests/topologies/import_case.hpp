// SPDX-License-Identifier: Apache-2.0
// An import rule and a file decided by it: tests/topologies/import_rules_test.cpp tests all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farfault::topologies::test {

struct ImportCase {
  std::string_view rule;
  std::string text;
  // The nodes and physical links of the machine, "2 gpu, 1 cpu | 2 pcie"; or the error.
  std::string becomes;
  std::string assumed = {};  // the assumption that inspect lists for the rule; empty: none
  std::string shows = {};    // the line of inspect for a device or a link decided by the rule
};

std::vector<ImportCase> nccl_cases();
std::vector<ImportCase> hwloc_cases();
std::vector<ImportCase> graph_cases();    // GraphML and TOML
std::vector<ImportCase> cluster_cases();  // ibnetdiscover, topograph

}  // namespace farfault::topologies::test
