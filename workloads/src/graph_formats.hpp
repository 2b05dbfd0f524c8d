// SPDX-License-Identifier: Apache-2.0
// The readers of the graph file formats. Limits contain no zeros. Each reader starts at the beginning of the
// text and leaves `file` to the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/workloads/graph.hpp"
#include "text_scanner.hpp"

namespace farfault::workloads {

struct EdgeList {
  std::vector<std::uint32_t> sources;
  std::vector<std::uint32_t> targets;

  void add(std::uint32_t from, std::uint32_t to) {
    sources.push_back(from);
    targets.push_back(to);
  }
};

// With `both_ways`, every edge except self loops gets its reverse.
CsrGraph build_csr(std::uint64_t vertices, EdgeList&& edges, bool both_ways);

// Detects the format from the first bytes of a text; nullopt if it is not a graph.
std::optional<GraphFormat> detect_graph(std::string_view sample, bool sample_is_all, std::string_view path);

CsrGraph read_matrix_market(TextScanner& in, InputLimits const& limits);
CsrGraph read_edge_list(TextScanner& in, InputLimits const& limits);
CsrGraph read_metis(TextScanner& in, InputLimits const& limits);

void check_vertices(TextScanner const& in, std::uint64_t vertices, std::uint64_t edges,
                    InputLimits const& limits);

}  // namespace farfault::workloads
