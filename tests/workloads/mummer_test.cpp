// SPDX-License-Identifier: Apache-2.0
// mummer: the suffix tree, and the accesses of threads to it.
#include <algorithm>
#include <set>

#include "../../workloads/src/suffix_tree.hpp"
#include "buffer_accesses.hpp"

namespace farfault::workloads::mummer_test {
using namespace test;
using namespace test::meshes;

TEST_CASE("mummer: the tree spells every suffix once, and suffix links drop the first base") {
  auto bases = random_bases(300, 5);
  std::copy_n(bases.begin(), 40, bases.begin() + 100);  // a long repeat
  auto const tree = build_suffix_tree(bases);
  auto text = bases;
  text.push_back(kEndMark);
  std::vector<std::vector<std::uint8_t>> path(tree.nodes.size());
  std::set<std::vector<std::uint8_t>> suffixes, expected;
  for (std::size_t i = 0; i < text.size(); ++i) expected.insert({text.begin() + long(i), text.end()});
  std::size_t leaves = 0;
  std::vector<std::uint32_t> inner;
  for (std::uint32_t v = 1; v < tree.nodes.size(); ++v) {
    std::size_t children = 0;
    for (std::uint8_t c = 0; c <= kEndMark; ++c)
      if (auto const child = tree.nodes[v].children[c]; child != 0) {
        ++children;
        REQUIRE(child > v);  // breadth-first
        auto const& edge = tree.nodes[child];
        REQUIRE(edge.start >= 1);
        REQUIRE(edge.end <= text.size());
        CHECK(text[edge.start - 1] == c);
        path[child] = path[v];
        path[child].insert(path[child].end(), text.begin() + edge.start - 1, text.begin() + edge.end);
      }
    CHECK(children != 1);
    if (children != 0) {
      inner.push_back(v);
    } else {
      ++leaves;
      suffixes.insert(path[v]);
    }
  }
  CHECK(tree.nodes[SuffixTree::kRoot].suffix == SuffixTree::kRoot);
  for (auto const v : inner)
    if (v != SuffixTree::kRoot)
      CHECK(path[tree.nodes[v].suffix] == std::vector<std::uint8_t>(path[v].begin() + 1, path[v].end()));
  CHECK(leaves == text.size());
  CHECK(suffixes == expected);
}

TEST_CASE(
    "mummer: the threads' reads find the longest match from each start, and long enough ones are written") {
  constexpr std::uint64_t length = 25, shortest = 8, queries = 150, starts = length - shortest + 1;
  auto const sequence = random_bases(2000, 1);
  auto const tree = build_suffix_tree(sequence);
  auto const asked = make_queries(sequence, queries, length, 0.5, 1);
  std::string const text(sequence.begin(), sequence.end());
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build(
        "mummer",
        {{"reference", "2000"}, {"queries", "150"}, {"shortest", "8"}, {"foreign", "0.5"}, {"block", "64"}},
        of_width(width));
    auto const& nodes = buffer(w, "nodes");
    auto const& children = buffer(w, "children");
    auto const& reference = buffer(w, "reference");
    auto const& bases = buffer(w, "queries");
    auto const& results = buffer(w, "results");
    struct Thread {
      std::uint64_t start = 0, last_base = 0, parent = 0, at = 0, position = 0;
      bool result = false;
    };
    std::vector<Thread> threads(queries);
    std::uint64_t written = 0, long_enough = 0;
    walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr a) {
        auto const q = block * 64 + warp * width + lane;
        auto& t = threads[q];
        auto const base_of = [&](std::uint64_t position) {
          return position <= length ? asked[q * length + position - 1] : kEndMark;
        };
        if (holds(bases, a)) {
          CHECK((a - bases.base) / (length + 2) == q);
          t.last_base = (a - bases.base) % (length + 2);
        } else if (holds(children, a)) {
          auto const id = (a - children.base) / 16;
          if (t.at != 0) CHECK(id == t.at);
          t.parent = id;
        } else if (holds(nodes, a)) {
          auto const id = (a - nodes.base) / 16;
          if (id != t.parent) {
            CHECK(id == tree.nodes[t.parent].children[base_of(t.last_base)]);
            t.at = id;
            return;
          }
          // Back at the suffix link: the start is finished.
          std::string const rest(asked.begin() + long(q * length + t.start),
                                 asked.begin() + long((q + 1) * length));
          std::uint64_t match = 0;
          while (match < rest.size() && text.find(rest.substr(0, match + 1)) != std::string::npos) ++match;
          CHECK(t.last_base == t.start + match + 1);
          CHECK(t.result == (match >= shortest));
          long_enough += match >= shortest;
          ++t.start;
          t.result = false;
          // An empty match starts at the root again, like a link from the root.
          t.at = id == SuffixTree::kRoot ? 0 : tree.nodes[id].suffix;
        } else if (holds(reference, a)) {
          auto const& edge = tree.nodes[t.at];
          CHECK(a - reference.base > edge.start);
          CHECK(a - reference.base <= edge.end);
        } else if (holds(results, a)) {
          ++written;
          t.result = true;
          CHECK(a == results.base + 8 * (q * starts + t.start));
        }
      });
    });
    for (auto const& t : threads) CHECK(t.start == starts);
    CHECK(written == long_enough);
    CHECK(written > queries);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("mummer: threads read the same amount in warps of 32 and of 64, one link per start") {
  for (auto const* reference : {"500", "3000"}) {
    std::vector<std::uint64_t> base, node;
    for (std::uint32_t const width : {32U, 64U}) {
      auto const w = build("mummer", {{"reference", reference}, {"queries", "200"}}, of_width(width));
      CHECK(w.kernel(0).shape().blocks == 1);
      CHECK(accesses(w, 0, "query_lengths", Op::load, width) == 200);
      CHECK(accesses(w, 0, "query_addresses", Op::load, width) == 200);
      base.push_back(accesses(w, 0, "queries", Op::load, width));
      node.push_back(accesses(w, 0, "nodes", Op::load, width) - 200 * 6);
      // Each node that is read is a child from a list read before; lists without a matching child are the
      // ends of starts.
      CHECK(accesses(w, 0, "children", Op::load, width) >= node.back());
      CHECK(accesses(w, 0, "children", Op::load, width) <= node.back() + 200 * 6);
    }
    CHECK(base[0] == base[1]);
    CHECK(node[0] == node[1]);
  }
}

TEST_CASE("mummer: incompatible parameters are rejected") {
  CHECK(error_of([] { build("mummer", {{"length", "12"}}); }) == "shortest = 20 must be at most length, 12");
}

}  // namespace farfault::workloads::mummer_test
