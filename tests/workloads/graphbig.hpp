// SPDX-License-Identifier: Apache-2.0
// Interprets the streams of GraphBIG's workloads as operations on elements of their buffers, and converts
// their graphs for Boost.Graph.
#pragma once

#include <algorithm>
#include <array>
#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../workloads/src/graph_algorithms.hpp"
#include "data.hpp"
#include "farfault/workloads/graph.hpp"
#include "temp_file.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::test {

inline constexpr std::array kGraphBig{"bc",     "bfs_dwc", "bfs_ta", "bfs_tf",      "bfs_ttc", "bfs_twc",
                                      "gc_dtc", "gc_ttc",  "kcore",  "pr_graphbig", "sssp_twc"};
inline constexpr std::array kSearches{"bfs_dwc", "bfs_ta", "bfs_tf", "bfs_ttc", "bfs_twc"};

// The part of one lane in an access.
struct Touch {
  Op op;
  std::string const& buffer;
  std::uint64_t element;
  std::uint64_t thread;  // in the grid
  std::uint64_t warp;    // in the grid
};

// Calls use(touch) for each lane of each access of a kernel, in order, warp by warp.
template <class Use>
void each_touch(Workload const& w, std::size_t kernel, std::uint32_t width, Use use) {
  auto const& k = w.kernel(kernel);
  walk(k, width, [&](std::uint64_t block, std::uint32_t warp, auto, WarpInstruction const& in) {
    if (in.op != Op::load && in.op != Op::store) return;
    each_lane(in, [&](std::uint32_t lane, VirtAddr a) {
      for (auto const& b : w.buffers())
        if (a >= b.base && a < b.base + b.bytes)
          return use(Touch{.op = in.op,
                           .buffer = b.name,
                           .element = (a - b.base) / in.bytes_per_lane,
                           .thread = block * k.shape().threads_per_block + warp * width + lane,
                           .warp = block * warps_of(k, width) + warp});
      FAIL("an address outside all buffers");
    });
  });
}

// Number of accesses of this kind by kernels `first` to `last` to a buffer.
inline std::uint64_t count(Workload const& w, std::string_view buffer, Op op, std::size_t first = 0,
                           std::size_t last = ~std::size_t{0}, std::uint32_t width = 32) {
  std::uint64_t n = 0;
  for (auto k = first; k < std::min(last, w.kernel_count()); ++k)
    each_touch(w, k, width, [&](Touch const& t) { n += t.op == op && t.buffer == buffer; });
  return n;
}

// The 64-byte lines that a kernel accesses within the given buffers.
inline std::set<VirtAddr> lines(Workload const& w, std::size_t kernel, std::set<std::string> const& within,
                                std::uint32_t width = 32) {
  std::set<VirtAddr> all;
  walk(w.kernel(kernel), width, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op != Op::load && in.op != Op::store) return;
    each_lane(in, [&](auto, VirtAddr a) {
      for (auto const& b : w.buffers())
        if (a >= b.base && a < b.base + b.bytes && within.contains(b.name)) all.insert(a / 64);
    });
  });
  return all;
}

// A warp's instructions as text: "." for computation, "r" and "w" with the buffer and its elements.
inline std::string text(Workload const& w, std::size_t kernel, std::uint64_t block = 0,
                        std::uint32_t warp = 0) {
  std::string all;
  WarpInstruction in;
  for (std::uint64_t step = 0;; ++step) {
    w.kernel(kernel).instruction(block, warp, step, in);
    if (in.op == Op::end) return all;
    if (step == 0) {
      CHECK(in.op == Op::scalar_load);
      continue;
    }
    if (!all.empty()) all += ' ';
    if (in.op == Op::compute) all += '.';
    if (in.op != Op::load && in.op != Op::store) continue;
    std::string elements;
    each_lane(in, [&](auto, VirtAddr a) {
      for (auto const& b : w.buffers()) {
        if (a < b.base || a >= b.base + b.bytes) continue;
        if (elements.empty()) all += (in.op == Op::load ? "r:" : "w:") + b.name;
        elements += (elements.empty() ? "" : ",") + std::to_string((a - b.base) / in.bytes_per_lane);
      }
    });
    all += '[' + elements + ']';
  }
}

// A triangle, a fourth vertex connected to the third, and a fifth without edges.
inline std::string const kHandGraph = "5 4\n2 3\n1 3\n1 2 4\n3\n\n";

using BoostGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

inline BoostGraph to_boost(CsrGraph const& g) {
  BoostGraph b(g.vertices);
  for (std::uint64_t v = 0; v < g.vertices; ++v)
    for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e) add_edge(v, g.targets[e], b);
  return b;
}

// A graph that a workload and the test read or generate in the same way, with edges in both directions.
struct TestGraph {
  std::string name;
  std::vector<std::pair<std::string, std::string>> settings;
  CsrGraph graph;
};

inline TestGraph rmat_graph(std::uint32_t scale, std::uint32_t edge_factor) {
  RmatOptions options;
  options.scale = scale;
  options.edge_factor = edge_factor;
  return {"R-MAT",
          {{"rmat.scale", std::to_string(scale)}, {"rmat.edge_factor", std::to_string(edge_factor)}},
          undirected(generate_rmat(options))};
}

// R-MAT graphs, and the named files that exist.
inline std::vector<TestGraph> test_graphs(std::initializer_list<char const*> files, std::uint32_t scale = 9) {
  std::vector<TestGraph> all;
  all.push_back(rmat_graph(scale, 4));
  for (auto const* file : files)
    if (auto const path = data_file(std::string("graphs/") + file))
      all.push_back({file, {{"graph", *path}}, undirected(read_graph(*path))});
  return all;
}

inline Workload build_on(std::string_view name, TestGraph const& g, Settings more = {},
                         std::uint32_t width = 32) {
  auto const builder = make(name);
  ParamTable table;
  builder->describe(table);
  auto const set = [&](std::string_view key, std::string_view value) {
    auto const* const param = table.find(key);
    REQUIRE_MESSAGE(param != nullptr, "no parameter " << std::string(key));
    param->set(value);
  };
  for (auto const& [key, value] : g.settings) set(key, value);
  for (auto const& [key, value] : more) set(key, value);
  BuildContext context;
  context.warp_width = width;
  return builder->build(context);
}

inline std::uint64_t first_with_edge(CsrGraph const& g, std::uint64_t source = 0) {
  while (g.offsets[source] == g.offsets[source + 1]) ++source;
  return source;
}

}  // namespace farfault::workloads::test
