// A page-walk cache: the upper-level nodes that recent walks went through, so that a walk can start below
// them. One fully associative array for all levels; a hit at the deepest level wins (as AMD's and Intel's
// paging-structure caches; Barr et al., ISCA 2010, "translation caching"). Zero entries: no cache.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/components/parts/page_table.hpp"
#include "farfault/components/parts/set_associative.hpp"

namespace farfault {

class PageWalkCache {
 public:
  PageWalkCache() = default;
  explicit PageWalkCache(std::uint32_t entries) : array_(entries == 0 ? 0 : 1, entries), nodes_(entries) {}

  struct Start {
    std::uint64_t node;
    unsigned level;
  };
  // Where to start a walk for `page` in a table of `levels` levels: the root, or a node further down.
  Start start(std::uint64_t page, unsigned levels) {
    if (!nodes_.empty())
      for (unsigned level = levels - 1; level > 0; --level)
        if (auto const slot = array_.find(0, key(page, level, levels))) return {nodes_[*slot], level};
    return {0, 0};
  }
  // A walk for `page` has found that its node at `level` (above 0) is `node`.
  void remember(std::uint64_t page, unsigned level, unsigned levels, std::uint64_t node) {
    if (nodes_.empty()) return;
    auto const k = key(page, level, levels);
    auto const slot = array_.find(0, k);
    nodes_[slot ? *slot : array_.insert(0, k).slot] = node;
  }

  auto members() { return std::tie(array_, nodes_); }

 private:
  static std::uint64_t key(std::uint64_t page, unsigned level, unsigned levels) {
    return ((page >> ((levels - level) * PageTable::kIndexBits)) << 3) | level;
  }

  SetAssociative array_;
  std::vector<std::uint64_t> nodes_;
};

}  // namespace farfault
