// SPDX-License-Identifier: Apache-2.0
// A rule of import and a file that it decides: tests/topologies/import_rules_test.cpp walks them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farfault::topologies::test {

struct ImportCase {
  std::string_view rule;
  std::string text;
  // The nodes and links of the machine, "2 gpu, 1 cpu | 2 pcie", physical links counted; or the refusal.
  std::string becomes;
  std::string assumed = {};  // the sentence that inspect lists for the rule; empty: none
  std::string shows = {};    // what inspect shows of a device or a link that the rule decides
};

std::vector<ImportCase> nccl_cases();
std::vector<ImportCase> hwloc_cases();
std::vector<ImportCase> graph_cases();    // GraphML and TOML
std::vector<ImportCase> cluster_cases();  // ibnetdiscover, topograph

}  // namespace farfault::topologies::test
